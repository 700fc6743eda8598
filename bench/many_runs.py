"""A hundred runs at once, beside a hundred of the plainest loop in the same measurement.

    python -m bench.many_runs [--runs 100] [--turns 5] [--database sqlite|postgres|both] [--check]

SQLite: one process has all runs. PostgreSQL: two workers share them, as ``manage.py run_worker``
takes them from the table. Fake model and MCP server are processes of their own. Prints tool turns
per second and the ratio of the times (bound: 1.0). Every run must be answered, and nothing may say
"database is locked". ``--check`` ends with 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.overhead import started
from tests.several.services import end_process, private_postgres, wait_for

ROOT = Path(__file__).resolve().parent.parent
BOUND = 1.0
LOCKED = "database is locked"
WORKERS = 2


def measure_plain(model_url: str, server_url: str, runs: int, turns: int) -> float:
    """Seconds for so many plain loops at once, after one that warms up."""
    from bench.plain_loop import PlainLoop  # it imports both SDKs

    async def measure() -> float:
        async with PlainLoop(model_url, server_url) as plain:
            await plain.run(turns)
            began = time.perf_counter()
            await asyncio.gather(*(plain.run(turns) for _ in range(runs)))
            return time.perf_counter() - began

    return asyncio.run(measure())


def measure_here(model_url: str, server_url: str, runs: int, turns: int) -> float:
    """Seconds for so many runs at once in this process, after one that warms up."""
    import django

    django.setup()
    from asgiref.sync import sync_to_async  # Django must be set up first

    from bench.product_loop import ProductLoop, prepare_database

    async def measure() -> float:
        user = await sync_to_async(prepare_database)(model_url, server_url, (turns,))
        product = ProductLoop(user)
        try:
            await product.run(turns)
            began = time.perf_counter()
            await asyncio.gather(*(product.run(turns) for _ in range(runs)))
            return time.perf_counter() - began
        finally:
            await product.close()

    return asyncio.run(measure())


@contextmanager
def working(log: Path, runs: int) -> Iterator[None]:
    """Two workers that take runs."""
    processes = []
    with log.open("w") as file:
        try:
            for _ in range(WORKERS):
                command = [sys.executable, "manage.py", "run_worker", "--runs", str(runs)]
                processes.append(
                    subprocess.Popen(
                        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=file, text=True
                    )
                )
            yield
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                end_process(process)


def measure_workers(
    model_url: str, server_url: str, runs: int, turns: int, folder: Path
) -> tuple[float, str]:
    """Seconds until two workers have done so many runs, from the moment they are queued; and what
    the workers wrote on standard error."""
    import django

    django.setup()
    from agents.models import Assistant, Run  # Django must be set up first
    from agents.runs import lifecycle
    from agents.runs.workers import living_workers
    from bench.product_loop import prepare_database

    user = prepare_database(model_url, server_url, (turns,))
    assistant = Assistant.objects.get(assistant_id=f"turns-{turns}")

    def submit(count: int) -> None:
        for _ in range(count):
            conversation = lifecycle.start_conversation(user, assistant)
            lifecycle.submit_message(conversation, "Call echo until you are done.")

    def are_done(count: int) -> bool:
        return Run.objects.exclude(finished_at=None).count() >= count

    with working(folder / "log", runs):
        wait_for(lambda: living_workers().count() == WORKERS, "the start of the workers", 60)
        submit(2 * WORKERS)
        wait_for(lambda: are_done(2 * WORKERS), "the first runs", 60)
        began = time.perf_counter()
        submit(runs)
        wait_for(lambda: are_done(2 * WORKERS + runs), "the end of all runs", 300)
        seconds = time.perf_counter() - began
    endings = Run.objects.exclude(status="completed", turns=turns, level=1).count()
    if endings:
        raise SystemExit(f"{endings} runs were not answered")
    return seconds, (folder / "log").read_text()


def report(name: str, seconds: float, plain: float, turns: int) -> bool:
    """Print one line; whether it is within the bound."""
    ratio = seconds / plain
    print(f"{name:28} {turns / seconds:8.0f} {ratio:6.2f} {BOUND:6.2f}", flush=True)
    return ratio <= BOUND


def measure_all(databases: list[str], runs: int, turns: int) -> bool:
    """Measure on these databases, each in a process of its own; whether all is well."""
    is_well = True
    for database in databases:
        command = [sys.executable, "-m", "bench.many_runs", "--runs", str(runs)]
        command += ["--turns", str(turns), "--database", database, "--check"]
        is_well = subprocess.run(command, cwd=ROOT, timeout=900).returncode == 0 and is_well
    return is_well


def measure_one(database: str, runs: int, turns: int) -> bool:
    """Measure on one database in this process; whether all is well."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        model_url = stack.enter_context(started("-m", "bench.fake_model"))
        server_url = stack.enter_context(started("-m", "tests.servers.sdk_server", "http"))
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        if database == "postgres":
            os.environ["DATABASE_URL"] = stack.enter_context(private_postgres()).url
        else:
            os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        os.environ["TOOLLOOP_RUNS_PER_USER"] = str(runs)
        print("loop                         turns/s  ratio  bound")
        plain = measure_plain(model_url, server_url, runs, turns)
        report("plain", plain, plain, runs * turns)
        said = ""
        if database == "postgres":
            seconds, said = measure_workers(model_url, server_url, runs, turns, folder)
            label = f"PostgreSQL, {WORKERS} workers"
        else:
            seconds = measure_here(model_url, server_url, runs, turns)
            label = "SQLite, one process"
        from django.db import connections  # set up by now

        connections.close_all()
        if LOCKED in said:
            print(LOCKED)
        return report(label, seconds, plain, runs * turns) and LOCKED not in said


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.database == "both":
        is_well = measure_all(["sqlite", "postgres"], options.runs, options.turns)
    else:
        is_well = measure_one(options.database, options.runs, options.turns)
    if options.check and not is_well:
        sys.exit(1)


if __name__ == "__main__":
    main()
