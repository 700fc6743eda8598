"""What the product costs per tool turn, beside the plainest loop on the same two SDKs.

    python -m bench.overhead [--rounds 7] [--sink trace|none|both] [--check]

A tool turn is one model call and one call of an MCP tool over HTTP. The fake model and the server
are processes of their own. The loops run in turns (A B A B) in one process; the product stores
messages and the trace in SQLite, and waits until the trace is stored. Prints medians in ms per tool
turn and the ratio. ``--sink none`` measures the product without its trace, ``--sink both`` prints
what the trace adds. ``--check`` exits with 1 if a number is above its bound.
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
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BOUNDS = {5: 0.9, 50: 0.5}
"""Tool turns of a run, and the highest ratio of the product's time to the plain loop's."""

TRACE_BOUND = 0.15
"""What the trace may add to the product's time per tool turn."""

SINKS = {"trace": ("product",), "none": ("no trace",), "both": ("product", "no trace")}
"""The loops beside the plain one, by ``--sink``."""

Medians = dict[int, dict[str, float]]
"""ms per tool turn, by tool turns of a run and by loop: plain, product, no trace."""

_ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def started(*command: str) -> Iterator[str]:
    """A program that prints its URL first; the URL. It is ended on leaving."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url.startswith("http"):
            raise SystemExit(f"{' '.join(command)} did not start")
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=10)


async def milliseconds_per_turn(run: Callable[[int], Awaitable[str]], turns: int) -> float:
    """How long one run takes, divided by its tool turns."""
    start = time.perf_counter()
    await run(turns)
    return (time.perf_counter() - start) * 1000 / turns


async def measure(model_url: str, server_url: str, rounds: int, loops: Sequence[str]) -> Medians:
    """The medians of the plain loop and of these."""
    from asgiref.sync import sync_to_async  # Django must be set up first

    from bench.plain_loop import PlainLoop
    from bench.product_loop import ProductLoop, prepare_database

    user = await sync_to_async(prepare_database)(model_url, server_url, tuple(BOUNDS))
    products = {name: ProductLoop(user, has_trace=name == "product") for name in loops}
    async with PlainLoop(model_url, server_url) as plain:
        try:
            runs = {"plain": plain.run, **{name: loop.run for name, loop in products.items()}}
            return {turns: await _medians(runs, turns, rounds) for turns in BOUNDS}
        finally:
            for product in products.values():
                await product.close()


async def _medians(
    runs: dict[str, Callable[[int], Awaitable[str]]], turns: int, rounds: int
) -> dict[str, float]:
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            samples[name].append(await milliseconds_per_turn(run, turns))
    # The first round warms up: connections, caches, prepared statements.
    return {name: statistics.median(times[1:]) for name, times in samples.items()}


def report(medians: Medians) -> bool:
    """Print the table; whether everything is within its bound."""
    is_within = True
    print("turns  loop      ms per turn  ratio  bound")
    for turns, times in medians.items():
        print(f"{turns:5}  {'plain':8}  {times['plain']:11.1f}")
        for name in [name for name in times if name != "plain"]:
            ratio = times[name] / times["plain"]
            is_within = is_within and ratio <= BOUNDS[turns]
            print(f"{turns:5}  {name:8}  {times[name]:11.1f}  {ratio:5.2f}  {BOUNDS[turns]:5.2f}")
        if "product" in times and "no trace" in times:
            share = times["product"] / times["no trace"] - 1
            is_within = is_within and share <= TRACE_BOUND
            print(f"{turns:5}  trace adds {share:9.0%}         {TRACE_BOUND:5.0%}")
    return is_within


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sink", choices=SINKS, default="trace", help="what is measured")
    parser.add_argument("--check", action="store_true", help="exit 1 if a bound is exceeded")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        import django  # after the environment is set

        django.setup()
        with (
            started("-m", "bench.fake_model") as model_url,
            started("-m", "tests.servers.sdk_server", "http") as server_url,
        ):
            loops = SINKS[options.sink]
            medians = asyncio.run(measure(model_url, server_url, options.rounds, loops))
    if not report(medians) and options.check:
        sys.exit(1)


if __name__ == "__main__":
    main()
