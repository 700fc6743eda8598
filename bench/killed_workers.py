"""Runs whose worker is killed at a random moment: none is lost, none does anything twice.

    python -m bench.killed_workers [--runs 200] [--at-once 10] [--seed 1]
                                   [--database sqlite|postgres|both] [--check]

Two workers (``manage.py run_worker``) take runs from the table; of each handful of runs the workers
are killed with SIGKILL once, at a random moment, one of them or both, and started anew. Each run
asks for three calls of a tool that writes down what reaches it, then answers. The provider refuses
a history that is badly paired. Prints messages without an answer, refused histories, calls that
reached the server twice, runs that were taken over, and the longest time from the kill to a final
status (bound: 60 s). ``--check`` ends with 1 where a bound is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.many_runs import close_connections
from bench.overhead import started
from tests.fake_provider import FakeProvider, Step, call, calls, text
from tests.several.services import end_process, private_postgres, wait_for

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

ROOT = Path(__file__).resolve().parent.parent
CALLS = 3
WORKERS = 2
BOUND_SECONDS = 60.0
LATEST_KILL_SECONDS = 1.5


@dataclass(slots=True, kw_only=True)
class Findings:
    """What was counted. ``slowest`` is in seconds."""

    runs: int = 0
    kills: int = 0
    lost: int = 0
    unpaired: int = 0
    twice: int = 0
    taken_over: int = 0
    slowest: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def is_well(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.unpaired or self.twice) and self.slowest <= BOUND_SECONDS


def answer(body: dict[str, Any], number: int) -> Step:
    """Ask for the next call of this message, or answer when all were made."""
    messages = body["messages"]
    place = max(at for at, message in enumerate(messages) if message["role"] == "user")
    used = sum(message["role"] == "tool" for message in messages[place:])
    if used >= CALLS:
        return text("All is noted.")
    key = f"{messages[place]['content']}: {used}"
    return calls(call(f"call_{number}", "counting__note", {"key": key}))


class Workers:
    """The processes that take runs; they are killed and started anew."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("w")
        self._processes: list[subprocess.Popen[str]] = []

    def fill_up(self) -> None:
        """Start as many as are missing."""
        while len(self._processes) < WORKERS:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "manage.py", "run_worker", "--runs", "20"],
                    cwd=ROOT,
                    stdout=subprocess.DEVNULL,
                    stderr=self._log,
                    text=True,
                )
            )

    def __len__(self) -> int:
        return len(self._processes)

    def dead(self) -> int:
        """How many ended by themselves."""
        return sum(process.poll() is not None for process in self._processes)

    def kill(self, count: int) -> None:
        """Kill so many, at once."""
        for _ in range(count):
            process = self._processes.pop(0)
            process.send_signal(signal.SIGKILL)
            process.wait(10)

    def end(self) -> None:
        """End all in order."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            end_process(process)
        self._log.close()


@contextmanager
def served(database: str, folder: Path) -> Iterator[str]:
    """The address of a database of this kind."""
    if database == "sqlite":
        yield f"sqlite:///{folder}/bench.sqlite3"
        return
    with private_postgres() as server:
        yield server.url


@contextmanager
def prepared(
    url: str,
    folder: Path,
    script: Callable[[dict[str, Any], int], Step],
    *,
    stdio: bool = False,
) -> Iterator[tuple[FakeProvider, AbstractBaseUser]]:
    """A database with an assistant, its provider that follows the script, and the server that
    counts; and who asks."""
    with ExitStack() as stack:
        os.environ |= {"DATABASE_URL": url, "TOOLLOOP_RUNS_PER_USER": "1000"}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        import django  # after the environment is set

        django.setup()
        from django.contrib.auth import get_user_model  # Django must be set up first
        from django.core.management import call_command

        from agents.bundle.importing import import_bundle

        counting = ["-m", "bench.counting_server", f"{folder}/calls"]
        server: dict[str, Any] = {"server_id": "counting", "transport": "stdio"}
        if stdio:
            server |= {"command": sys.executable, "args": [*counting, "stdio"], "cwd": str(ROOT)}
        else:
            server |= {"transport": "http", "url": stack.enter_context(started(*counting))}
        provider = stack.enter_context(FakeProvider(script, expect_faults=True))
        call_command("migrate", verbosity=0)
        bundle = {
            "version": 1,
            "providers": [{"id": "bench", "base_url": provider.base_url, "default_model": "m"}],
            "servers": [server],
            "assistants": [
                {"id": "noting", "name": "Noting", "provider": "bench",
                 "mcp": {"servers": ["counting"]}},
            ],
        }  # fmt: skip
        outcome = import_bundle(json.dumps(bundle), name="bench")
        if outcome.faults:
            raise SystemExit(f"the bundle of the bench is refused: {outcome.faults}")
        try:
            yield provider, get_user_model().objects.create_user("bench")
        finally:
            close_connections()


def strike(
    findings: Findings, workers: Workers, user: AbstractBaseUser, count: int, chance: random.Random
) -> None:
    """Submit so many runs, kill at a random moment, wait for their ends, count."""
    from agents.models import Assistant, Run  # Django must be set up first
    from agents.runs import lifecycle

    assistant = Assistant.objects.get(assistant_id="noting")
    asked = [f"message {findings.runs + place}" for place in range(count)]
    runs = []
    for message in asked:
        conversation = lifecycle.start_conversation(user, assistant)
        runs.append(lifecycle.submit_message(conversation, message).pk)
    time.sleep(chance.uniform(0, LATEST_KILL_SECONDS))
    workers.kill(chance.choice((1, WORKERS)))
    began = time.monotonic()
    workers.fill_up()
    own = Run.objects.filter(pk__in=runs)
    try:
        wait_for(lambda: not own.filter(finished_at=None).exists(), "all ends", BOUND_SECONDS * 2)
    except TimeoutError:
        print(f"not ended: {own.filter(finished_at=None).count()}", flush=True)
    findings.slowest = max(findings.slowest, time.monotonic() - began)
    findings.runs += count
    findings.kills += 1
    findings.taken_over += own.filter(takeovers__gt=0).count()
    findings.lost += own.filter(answer=None).count()
    findings.statuses.update(own.values_list("status", flat=True))


def measure(options: argparse.Namespace, database: str) -> Findings:
    """All runs on one database."""
    chance = random.Random(options.seed)
    findings = Findings()
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(served(database, Path(name)))
        provider, user = stack.enter_context(prepared(url, Path(name), answer))
        from agents.runs.workers import living_workers  # Django must be set up first

        workers = Workers(Path(name) / "log")
        try:
            workers.fill_up()
            wait_for(lambda: living_workers().count() == WORKERS, "the start of the workers", 60)
            while findings.runs < options.runs:
                count = min(options.at_once, options.runs - findings.runs)
                strike(findings, workers, user, count, chance)
        finally:
            workers.end()
        findings.unpaired = len(provider.faults)
        reached = Counter((Path(name) / "calls").read_text().splitlines())
        findings.twice = sum(times > 1 for times in reached.values())
    return findings


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.database == "both":
        shared = ["--runs", str(options.runs), "--at-once", str(options.at_once)]
        shared += ["--seed", str(options.seed), "--check"]
        commands = [
            [sys.executable, "-m", "bench.killed_workers", "--database", database, *shared]
            for database in ("sqlite", "postgres")
        ]
        codes = [subprocess.run(command, cwd=ROOT, timeout=3600).returncode for command in commands]
        sys.exit(int(options.check and any(codes)))
    found = measure(options, options.database)
    ends = ", ".join(f"{count} {status}" for status, count in found.statuses.most_common())
    print(
        f"{options.database}: {found.runs} runs, {found.kills} times killed, "
        f"{found.taken_over} runs taken over\n"
        f"  ends: {ends}\n"
        f"  messages without an answer {found.lost}, badly paired histories {found.unpaired}, "
        f"calls sent twice {found.twice} (bounds 0)\n"
        f"  longest from the kill to a final status {found.slowest:.1f} s "
        f"(bound {BOUND_SECONDS:.0f})",
        flush=True,
    )
    if options.check and not found.is_well:
        sys.exit(1)


if __name__ == "__main__":
    main()
