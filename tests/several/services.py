"""A private PostgreSQL and a private Redis for tests and measurements, on 127.0.0.1 alone.

Each lives in a folder of its own and ends with its context. PostgreSQL refuses to run as root: then
it runs as the user ``postgres``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 30.0
LOOK_SECONDS = 0.02
"""How often a condition is looked at."""


def postgres_folder() -> Path | None:
    """Where ``initdb`` and ``postgres`` are, the newest version first; ``None`` without them."""
    found = sorted(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        key=lambda folder: float(folder.parent.name),
    )
    return found[-1] if found else None


def missing_programs() -> list[str]:
    """What has to be installed before these services can be started, by Debian package."""
    needed = {
        "postgresql": postgres_folder() is not None,
        "redis-server": shutil.which("redis-server") is not None,
        "nginx-light": nginx_path() is not None,
    }
    return [package for package, is_there in needed.items() if not is_there]


def nginx_path() -> str | None:
    """The nginx program; it is often outside of a person's ``PATH``."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    """Wait until the condition holds. Raises ``TimeoutError`` that says what did not happen."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        time.sleep(LOOK_SECONDS)


def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
    except OSError:
        return False
    return True


def end_process(process: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> None:
    """Ask a process to end, and end it where it does not."""
    if process.poll() is None:
        process.send_signal(how)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A running server. ``url`` leads to a database that is empty and may be used at once;
    ``restart`` ends it as if its machine had failed, and starts it again."""

    port: int
    restart: Callable[[], None]

    @property
    def url(self) -> str:
        """The ``DATABASE_URL`` of the first database."""
        return self.database_url("toolloop")

    def database_url(self, name: str) -> str:
        """The ``DATABASE_URL`` of a database of this server."""
        return f"postgres://toolloop@127.0.0.1:{self.port}/{name}"

    def create_database(self, name: str) -> str:
        """Make an empty database; its URL."""
        folder = postgres_folder()
        assert folder is not None
        place = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "toolloop"]
        subprocess.run([str(folder / "createdb"), *place, name], check=True, timeout=30)
        return self.database_url(name)


@contextmanager
def private_postgres() -> Iterator[Postgres]:
    """A server with a cluster of its own in a temporary folder, which goes with it."""
    programs = postgres_folder()
    assert programs is not None, "install postgresql"
    folder = Path(tempfile.mkdtemp(prefix="toolloop-postgres-"))
    user = _unprivileged()
    if user is not None:
        owner = pwd.getpwnam(user)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    cluster, port = folder / "cluster", free_port()
    arguments = ["-D", str(cluster), "-U", "toolloop", "-A", "trust", "-E", "UTF8"]
    command = [str(programs / "initdb"), *arguments, "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(command, check=True, cwd=folder, user=user, timeout=60, capture_output=True)
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": folder,
        "fsync": "off",
        "max_connections": 200,
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    log = (folder / "log").open("w")
    ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    processes: list[subprocess.Popen[str]] = []

    def start() -> None:
        processes.append(
            subprocess.Popen(
                [str(programs / "postgres"), "-D", str(cluster), *options],
                cwd=folder, user=user, stdout=log, stderr=log, text=True,
            )
        )  # fmt: skip
        wait_for(lambda: subprocess.run(ready, timeout=10).returncode == 0, "PostgreSQL's start")

    def restart() -> None:
        # Immediate shutdown: no connection is let finish.
        end_process(processes.pop(), signal.SIGQUIT)
        start()

    try:
        start()
        server = Postgres(port=port, restart=restart)
        server.create_database("toolloop")
        yield server
    finally:
        for process in processes:
            end_process(process, signal.SIGINT)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str | None:
    return "postgres" if os.geteuid() == 0 else None


@dataclass(slots=True, kw_only=True)
class Redis:
    """A Redis that can be stopped and started again on the same port."""

    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The ``REDIS_URL``."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it; returns when it takes connections."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen(
            ["redis-server", *options, "--appendonly", "no"],
            cwd=tempfile.gettempdir(), stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        wait_for(lambda: listens(self.port), "Redis' start")

    def stop(self) -> None:
        """End it at once, as if its machine had failed."""
        process, self._process = self._process, None
        if process is not None:
            end_process(process, signal.SIGKILL)


@contextmanager
def private_redis() -> Iterator[Redis]:
    """A Redis without files."""
    redis = Redis()
    redis.start()
    try:
        yield redis
    finally:
        with suppress(ProcessLookupError):
            redis.stop()
