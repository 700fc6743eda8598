"""What the product costs per tool turn, beside the plainest loop on the same two SDKs.

    python -m bench.overhead [--rounds 7] [--check]

A tool turn is one model call and one call of an MCP tool over HTTP. The fake model and the server
are processes of their own. Both loops run in turns (A B A B) in one process; the product stores
messages and the trace in SQLite. Prints medians in ms per tool turn and the ratio; ``--check``
exits with 1 if the ratio is above its bound in ``BOUNDS``.
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
from contextlib import contextmanager
from pathlib import Path

BOUNDS = {5: 0.9, 50: 0.5}
"""Tool turns of a run, and the highest ratio of the product's time to the plain loop's."""

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


async def measure(model_url: str, server_url: str, rounds: int) -> dict[int, tuple[float, float]]:
    """The medians of plain loop and product, in ms per tool turn, by tool turns of a run."""
    from asgiref.sync import sync_to_async  # Django must be set up first

    from bench.plain_loop import PlainLoop
    from bench.product_loop import ProductLoop, prepare_database

    user = await sync_to_async(prepare_database)(model_url, server_url, tuple(BOUNDS))
    product = ProductLoop(user)
    medians = {}
    async with PlainLoop(model_url, server_url) as plain:
        try:
            for turns in BOUNDS:
                samples: tuple[list[float], list[float]] = ([], [])
                for _ in range(rounds + 1):
                    for loop, times in zip((plain, product), samples, strict=True):
                        times.append(await milliseconds_per_turn(loop.run, turns))
                # The first round warms up: connections, caches, prepared statements.
                medians[turns] = tuple(statistics.median(times[1:]) for times in samples)
        finally:
            await product.close()
    return medians


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
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
            medians = asyncio.run(measure(model_url, server_url, options.rounds))
    print("turns  plain ms  product ms  ratio  bound")
    is_exceeded = False
    for turns, (plain, product) in medians.items():
        ratio = product / plain
        is_exceeded = is_exceeded or ratio > BOUNDS[turns]
        print(f"{turns:5}  {plain:8.1f}  {product:10.1f}  {ratio:5.2f}  {BOUNDS[turns]:5.2f}")
    if options.check and is_exceeded:
        sys.exit(1)


if __name__ == "__main__":
    main()
