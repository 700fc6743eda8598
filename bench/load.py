"""Twenty minutes of load: does the process grow?

    python -m bench.load [--minutes 20] [--at-once 10] [--check]

Serves the application on SQLite with a fake model and a real MCP server, keeps so many runs of five
tool turns going, each in a conversation of its own, and reads the resident memory of the process.
Prints runs, tool turns per second, the memory after a quarter of the time and at the end in MB, and
the growth between them (bound: 5 %). ``--check`` ends with 1 over the bound, or where a run was not
answered.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.first_chunk import memory_mb, serve
from bench.many_runs import close_connections
from bench.overhead import started
from tests.several.services import end_process

TURNS = 5
BOUND_PERCENT = 5.0
WARM_SHARE = 0.25
LAST_SHARE = 0.1
LOOK_SECONDS = 0.2


@dataclass(slots=True, kw_only=True)
class Measured:
    """``memory``: seconds since the start and MB, in order."""

    seconds: float
    runs: int = 0
    unanswered: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)

    def between(self, begin: float, end: float) -> float:
        """The median memory in MB between two shares of the time."""
        times = [mb for at, mb in self.memory if begin <= at / self.seconds <= end]
        return statistics.median(times)

    @property
    def warm(self) -> float:
        """MB after the first quarter."""
        return self.between(WARM_SHARE, WARM_SHARE + LAST_SHARE)

    @property
    def last(self) -> float:
        """MB at the end."""
        return self.between(1 - LAST_SHARE, 1)

    @property
    def growth(self) -> float:
        """Percent between them."""
        return (self.last / self.warm - 1) * 100


def measure(minutes: float, at_once: int) -> Measured:
    """Serve, keep the runs going, read the memory."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(started("-m", "bench.fake_model"))
        server = stack.enter_context(started("-m", "tests.servers.sdk_server", "http"))
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        os.environ["TOOLLOOP_RUNS_PER_USER"] = str(at_once)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        import django  # after the environment is set

        django.setup()
        stack.callback(close_connections)
        process, _, _ = serve(folder, model)
        stack.callback(end_process, process)
        from bench.product_loop import prepare_database  # Django must be set up first

        user = prepare_database(model, server, (TURNS,))
        return keep_going(process.pid, user, minutes * 60, at_once)


def keep_going(pid: int, user: object, seconds: float, at_once: int) -> Measured:
    """Submit as many runs as have ended, until the time is over."""
    from agents.models import Assistant, Run  # Django must be set up first
    from agents.runs import lifecycle

    assistant = Assistant.objects.get(assistant_id=f"turns-{TURNS}")
    measured = Measured(seconds=seconds)
    began = time.monotonic()
    while (at := time.monotonic() - began) < seconds:
        going = Run.objects.filter(finished_at=None).count()
        for _ in range(at_once - going):
            conversation = lifecycle.start_conversation(user, assistant)  # type: ignore[arg-type]  # any user
            lifecycle.submit_message(conversation, "Call echo until you are done.")
            measured.runs += 1
        measured.memory.append((at, memory_mb(pid)))
        time.sleep(LOOK_SECONDS)
    ended = Run.objects.exclude(finished_at=None)
    measured.unanswered = ended.exclude(status="completed", level=1).count()
    return measured


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = measure(options.minutes, options.at_once)
    print(
        f"{found.runs} runs in {found.seconds / 60:g} min, "
        f"{found.runs * TURNS / found.seconds:.0f} tool turns a second, "
        f"{found.unanswered} not answered (bound 0)\n"
        f"resident after a quarter {found.warm:.1f} MB, at the end {found.last:.1f} MB, "
        f"growth {found.growth:+.1f} % (bound {BOUND_PERCENT:g})",
        flush=True,
    )
    if options.check and (found.growth > BOUND_PERCENT or found.unanswered):
        sys.exit(1)


if __name__ == "__main__":
    main()
