"""``manage.py run_worker [--runs N]``: takes runs from the queue until it is stopped."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agents.runs.worker_process import work_until_stopped

MOST_RUNS = 10_000


class Command(BaseCommand):
    """Serve the queue beside the web processes."""

    help = "Take runs until SIGTERM, then let the turns that run end and give the runs back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How many runs at the same time."""
        most = str(settings.TOOLLOOP_RUNS_PER_PROCESS)
        text = "runs at the same time; TOOLLOOP_RUNS_PER_PROCESS by default"
        parser.add_argument("--runs", default=most, help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        """Work; returns when everything has ended in order."""
        text = str(options["runs"])
        runs = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        if not 1 <= runs <= MOST_RUNS:
            raise CommandError(f"--runs must be a number from 1 to {MOST_RUNS}, got {text!r:.40}.")
        self.stdout.write(f"Taking up to {runs} runs at the same time.")
        self.stdout.flush()
        asyncio.run(work_until_stopped(runs))
