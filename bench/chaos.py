"""Everything around the runs fails, in turns: every run still comes to an end, by itself.

    python -m bench.chaos [--seconds 60] [--at-once 8] [--check]

A web process and two workers on PostgreSQL with Redis; the server of the tools is a child process
of each worker. While runs are asked for without a pause, every third request to the provider is
answered with 500, the tools' server is killed every second, Redis is killed and started again a
third of the way in, PostgreSQL two thirds. Nothing else is started anew by hand. Prints how the
runs ended, how long the last one took after the last failure (bound: 60 s), processes that ended,
histories that the provider refused, and whether the web process calls itself ready afterwards.
``--check`` ends with 1 where a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.killed_workers import BOUND_SECONDS, Workers, answer, prepared
from tests.fake_provider import Step, error
from tests.several.processes import Installation, ask
from tests.several.services import private_postgres, private_redis, wait_for

TOP_UP_SECONDS = 0.2
"""How often ended runs are replaced by new ones."""

AWAY_SECONDS = 1.0
"""How long Redis is gone."""

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def failing(body: dict[str, Any], number: int) -> Step:
    """The answer, but for every third request."""
    if number % 3 == 2:
        return error(500, {"error": {"message": "the provider is out of order"}})
    return answer(body, number)


def children_with(word: str) -> list[int]:
    """The ids of the processes whose command line holds this word, but for our own."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in line.read_bytes() and int(line.parent.name) != os.getpid():
                found.append(int(line.parent.name))
    return found


@contextmanager
def repeating(work: Callable[[], None], pause: float) -> Iterator[None]:
    """Do it again and again meanwhile."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(pause):
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class Asking:
    """Keeps so many runs going."""

    def __init__(self, user: AbstractBaseUser, at_once: int) -> None:
        self._user, self._at_once = user, at_once
        self.runs: list[str] = []

    def top_up(self) -> None:
        """Ask for as many as have ended; while the database is away for none."""
        from django.db import DatabaseError  # Django must be set up first

        from agents.models import Assistant, Run
        from agents.runs import lifecycle
        from bench.many_runs import close_connections

        try:
            going = Run.objects.filter(pk__in=self.runs, finished_at=None).count()
            assistant = Assistant.objects.get(assistant_id="noting")
            for _ in range(self._at_once - going):
                conversation = lifecycle.start_conversation(self._user, assistant)
                message = f"message {len(self.runs)}"
                self.runs.append(lifecycle.submit_message(conversation, message).pk)
        except DatabaseError:
            close_connections()


def measure(seconds: float, at_once: int) -> bool:
    """One time of failures; prints, and says whether all is well."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(private_postgres())
        redis = stack.enter_context(private_redis())
        os.environ["REDIS_URL"] = redis.url
        provider, user = stack.enter_context(prepared(postgres.url, folder, failing, stdio=True))
        from agents.models import Run  # Django must be set up first

        place = Installation(folder=folder, database=postgres.url)
        web = stack.enter_context(place).web(REDIS_URL=redis.url)
        workers = Workers(folder / "workers.log")
        stack.callback(workers.end)
        workers.fill_up()
        wait_for(lambda: len(place.workers()) == len(workers), "the start of the workers", 60)
        asking = Asking(user, at_once)
        with repeating(lambda: kill_all(f"{folder}/calls"), 1.0):
            for failure in (redis_restart(redis), postgres.restart, lambda: None):
                until = time.monotonic() + seconds / 3
                while time.monotonic() < until:
                    asking.top_up()
                    time.sleep(TOP_UP_SECONDS)
                failure()
        began = time.monotonic()
        own = Run.objects.filter(pk__in=asking.runs)
        with suppress(TimeoutError):
            wait_for(lambda: not own.filter(finished_at=None).exists(), "ends", BOUND_SECONDS)
        took = time.monotonic() - began
        open_runs = own.filter(finished_at=None).count()
        ends = Counter(own.values_list("status", "stop_reason", "level"))
        dead = workers.dead() + (web.process.poll() is not None)
        ready, _ = ask(f"{web.url}/readyz")
        unpaired = len(provider.faults)
    for (status, reason, level), count in ends.most_common():
        print(f"{count:5} runs {status or 'open'}, {reason or '-'}, answer of level {level}")
    print(
        f"runs without an end {open_runs}, badly paired histories {unpaired}, "
        f"processes that ended {dead} (bounds 0)\n"
        f"the last run ended {took:.1f} s after the failures (bound {BOUND_SECONDS:.0f}); "
        f"/readyz answers {ready} (expected 200)",
        flush=True,
    )
    return not (open_runs or unpaired or dead) and ready == 200


def kill_all(word: str) -> None:
    """Kill every process whose command line holds this word."""
    for pid in children_with(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def redis_restart(redis: Any) -> Callable[[], None]:
    """Redis gone for a second."""

    def restart() -> None:
        redis.stop()
        time.sleep(AWAY_SECONDS)
        redis.start()

    return restart


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    is_well = measure(options.seconds, options.at_once)
    if options.check and not is_well:
        sys.exit(1)


if __name__ == "__main__":
    main()
