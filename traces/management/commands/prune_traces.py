"""``manage.py prune_traces``: delete old traces."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from traces.pruning import old_traces, prune


class Command(BaseCommand):
    """Delete the traces that are older than their assistants keep them, or than ``--days``."""

    help = "Delete old traces in batches, with the texts and payloads that only they needed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The age, and whether to count only."""
        parser.add_argument(
            "--days", type=int, help="for assistants without a number of their own (default: keep)"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prune and tell what went."""
        days = options["days"]
        if days is not None and days < 1:
            raise CommandError(f"--days must be 1 or more, got {days}.")
        by_assistant = import_string(settings.TOOLLOOP_TRACE_RETENTION)()
        traces = old_traces(days, by_assistant, now_ns=time.time_ns())
        if options["dry_run"]:
            self.stdout.write(f"{traces.count()} traces would be deleted")
            return
        done = prune(traces)
        self.stdout.write(
            f"deleted: {done.traces} traces, {done.texts} texts, {done.payloads} payloads; "
            f"{done.payloads_later} payloads follow at a later pruning"
        )
