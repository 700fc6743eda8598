"""A hundred runs at once, beside a hundred of the plainest loop in the same measurement.

    python -m bench.many_runs [--runs 100] [--turns 5] [--rounds 3]
                              [--database sqlite|postgres|both] [--check]

SQLite: one process has all runs. PostgreSQL: two workers share them, as ``manage.py run_worker``
takes them from the table. Fake model and MCP server are processes of their own; the loops take
turns. Prints medians of tool turns per second and the ratio of the times (bound: 1.0). Every run
must be answered, and nothing may say "database is locked". ``--check`` ends with 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.overhead import started
from tests.several.services import end_process, private_postgres, wait_for

ROOT = Path(__file__).resolve().parent.parent
BOUND = 1.0
LOCKED = "database is locked"
WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is measured: so many runs at once of so many tool turns, so many times in turns."""

    model_url: str
    server_url: str
    runs: int
    turns: int
    rounds: int


Times = dict[str, list[float]]
"""Seconds of each round, by loop: ``plain`` and ``product``."""


async def seconds_of(work: Callable[[int], Awaitable[str]], scene: Scene) -> float:
    """How long so many runs at once take."""
    began = time.perf_counter()
    await asyncio.gather(*(work(scene.turns) for _ in range(scene.runs)))
    return time.perf_counter() - began


async def measure_here(scene: Scene) -> Times:
    """All runs of the product in this process, in turns with the plain loop."""
    from asgiref.sync import sync_to_async  # Django must be set up first

    from bench.plain_loop import PlainLoop
    from bench.product_loop import ProductLoop, prepare_database

    prepare = sync_to_async(prepare_database)
    product = ProductLoop(await prepare(scene.model_url, scene.server_url, (scene.turns,)))
    times: Times = {"plain": [], "product": []}
    async with PlainLoop(scene.model_url, scene.server_url) as plain:
        try:
            await plain.run(scene.turns)
            await product.run(scene.turns)
            for _ in range(scene.rounds):
                times["plain"].append(await seconds_of(plain.run, scene))
                times["product"].append(await seconds_of(product.run, scene))
        finally:
            await product.close()
    return times


async def measure_plain(scene: Scene) -> float:
    """Seconds of one round of the plain loop, after one run that warms up."""
    from bench.plain_loop import PlainLoop  # it imports both SDKs

    async with PlainLoop(scene.model_url, scene.server_url) as plain:
        await plain.run(scene.turns)
        return await seconds_of(plain.run, scene)


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


def measure_workers(scene: Scene, folder: Path) -> tuple[Times, str]:
    """All runs of the product in two workers, from the first one's beginning to the last one's end,
    in turns with the plain loop; and what the workers wrote on standard error."""
    from django.db.models import Max, Min  # Django must be set up first

    from agents.models import Assistant, Run
    from agents.runs import lifecycle
    from agents.runs.workers import living_workers
    from bench.product_loop import prepare_database

    user = prepare_database(scene.model_url, scene.server_url, (scene.turns,))
    assistant = Assistant.objects.get(assistant_id=f"turns-{scene.turns}")

    def answer_all(count: int) -> float:
        before = list(Run.objects.values_list("pk", flat=True))
        for _ in range(count):
            conversation = lifecycle.start_conversation(user, assistant)
            lifecycle.submit_message(conversation, "Call echo until you are done.")
        runs = Run.objects.exclude(pk__in=before)
        wait_for(lambda: not runs.filter(finished_at=None).exists(), "the end of all runs", 300)
        times = runs.aggregate(began=Min("started_at"), ended=Max("finished_at"))
        return float((times["ended"] - times["began"]).total_seconds())

    times: Times = {"plain": [], "product": []}
    with working(folder / "log", scene.runs):
        wait_for(lambda: living_workers().count() == WORKERS, "the start of the workers", 60)
        answer_all(4 * WORKERS)
        for _ in range(scene.rounds):
            times["plain"].append(asyncio.run(measure_plain(scene)))
            times["product"].append(answer_all(scene.runs))
    if Run.objects.exclude(status="completed", turns=scene.turns, level=1).exists():
        raise SystemExit("some runs were not answered")
    return times, (folder / "log").read_text()


def report(label: str, times: Times, scene: Scene) -> bool:
    """Print a line for each loop; whether the product is within the bound."""
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    ratio = medians["product"] / medians["plain"]
    count = scene.runs * scene.turns
    print("loop                         turns/s  ratio  bound")
    print(f"{'plain':28} {count / medians['plain']:8.0f}")
    print(f"{label:28} {count / medians['product']:8.0f} {ratio:6.2f} {BOUND:6.2f}", flush=True)
    return ratio <= BOUND


def measure_all(options: argparse.Namespace) -> bool:
    """Measure on both databases, each in a process of its own; whether all is well."""
    codes = []
    for database in ("sqlite", "postgres"):
        command = [sys.executable, "-m", "bench.many_runs", "--database", database, "--check"]
        for name in ("runs", "turns", "rounds"):
            command += [f"--{name}", str(getattr(options, name))]
        codes.append(subprocess.run(command, cwd=ROOT, timeout=900).returncode)
    return not any(codes)


def measure_one(options: argparse.Namespace) -> bool:
    """Measure on one database in this process; whether all is well."""
    is_postgres = options.database == "postgres"
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scene = Scene(
            model_url=stack.enter_context(started("-m", "bench.fake_model")),
            server_url=stack.enter_context(started("-m", "tests.servers.sdk_server", "http")),
            runs=options.runs,
            turns=options.turns,
            rounds=options.rounds,
        )
        url = f"sqlite:///{name}/bench.sqlite3"
        if is_postgres:
            url = stack.enter_context(private_postgres()).url
        os.environ |= {"DATABASE_URL": url, "TOOLLOOP_RUNS_PER_USER": str(options.runs)}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        import django  # after the environment is set

        django.setup()
        if is_postgres:
            times, said = measure_workers(scene, Path(name))
        else:
            times, said = asyncio.run(measure_here(scene)), ""
        close_connections()
    if LOCKED in said:
        print(LOCKED)
    label = f"PostgreSQL, {WORKERS} workers" if is_postgres else "SQLite, one process"
    return report(label, times, scene) and LOCKED not in said


def close_connections() -> None:
    """Let go of the database before it ends."""
    from django.db import connections  # Django must be set up first

    connections.close_all()


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    is_well = measure_all(options) if options.database == "both" else measure_one(options)
    if options.check and not is_well:
        sys.exit(1)


if __name__ == "__main__":
    main()
