#!/usr/bin/env bash
# The whole application on one machine, in the foreground: nginx, two web processes, two workers.
# Expects a PostgreSQL and a Redis that run: DATABASE_URL and REDIS_URL. Ends everything in order at
# SIGTERM or SIGINT. For a trial and for the tests; systemd/ is for machines that stay.
#
#   PORT=8080 DATABASE_URL=postgres://... REDIS_URL=redis://... deploy/run-all.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${DATABASE_URL:?set it, for example to postgres://toolloop@127.0.0.1/toolloop}"
: "${REDIS_URL:?set it, for example to redis://127.0.0.1:6379/0}"
export DATABASE_URL REDIS_URL TOOLLOOP_WEB_TAKES_RUNS=false
python=${PYTHON:-.venv/bin/python}
port=${PORT:-8080}
runs=${RUNS_PER_WORKER:-20}
nginx=$(command -v nginx || command -v /usr/sbin/nginx)
here=$(mktemp -d "${TMPDIR:-/tmp}/toolloop-run.XXXXXX")
chmod 755 "$here"
pids=()

end_all() {
    trap - TERM INT EXIT
    # Web processes and workers together: both drain, nginx answers until they have.
    ((${#pids[@]})) && kill -TERM "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    if [[ -n ${proxy:-} ]]; then
        kill -QUIT "$proxy" 2>/dev/null || true
        wait "$proxy" 2>/dev/null || true
    fi
    rm -rf "$here"
}
trap end_all TERM INT EXIT

"$python" manage.py migrate --verbosity 0 --no-input
[[ ${SEED_DEMO:-} != 1 ]] || "$python" manage.py seed_demo

for number in 1 2; do
    "$python" -m daphne -u "$here/web-$number.sock" -v 0 --no-server-name --proxy-headers \
        toolloop_site.asgi:application &
    pids+=($!)
    "$python" manage.py run_worker --runs "$runs" &
    pids+=($!)
done

{
    echo "daemon off; pid $here/nginx.pid; error_log stderr warn;"
    ((EUID)) || echo "user root;"
    echo "events { worker_connections 4096; }"
    echo "http { access_log off;"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $here/$kind;"; done
    sed -e "s|@RUN@|$here|g" -e "s|@LISTEN@|127.0.0.1:$port|" -e "s|@NAME@|_|" deploy/nginx-site.conf
    echo "}"
} >"$here/nginx.conf"
"$nginx" -e stderr -c "$here/nginx.conf" &
proxy=$!

echo "processes: ${pids[*]} nginx: $proxy"
echo "Toolloop: http://127.0.0.1:$port/"
# As systemd would not: here the end of one is the end of all.
wait -n "${pids[@]}" "$proxy"
