"""``manage.py export_trace ID --format json``: one trace with its payloads."""

from __future__ import annotations

import json
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from traces.exporting import find_trace, trace_as_json


class Command(BaseCommand):
    """Writes a trace to stdout; the id is a trace's or a run's."""

    help = "Write one trace, with all payloads, to stdout."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The id and the format."""
        parser.add_argument("id", help="a trace's id, or the id of one of its runs")
        parser.add_argument("--format", default="json", help="json")

    def handle(self, *args: object, **options: object) -> None:
        """Export."""
        if options["format"] != "json":
            came = options["format"]
            raise CommandError(f"expected --format json, which is all there is, got {came}")
        trace = find_trace(str(options["id"]))
        if trace is None:
            raise CommandError(f"there is no trace and no traced run with the id {options['id']}")
        self.stdout.write(json.dumps(trace_as_json(trace), ensure_ascii=False))
