"""``manage.py export_trace ID --format markdown``: one trace as a file on standard output."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from traces.exporting import find_trace
from traces.exports import FORMATS, export_format


class Command(BaseCommand):
    """Writes a trace to stdout; the id is a trace's or a run's."""

    help = "Write one trace to stdout, as JSON, OTLP/JSON, Markdown or a transcript."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The id, the format, and whether texts are left out."""
        parser.add_argument("id", help="a trace's id, or the id of one of its runs")
        parser.add_argument("--format", default="json", help=_names())
        parser.add_argument(
            "--without-content",
            action="store_true",
            help="leave out all texts that people, models and tools wrote (otlp, markdown)",
        )

    def handle(self, *args: object, **options: object) -> None:
        """Export."""
        chosen = export_format(str(options["format"]))
        if chosen is None:
            raise CommandError(f"expected --format {_names()}, got {options['format']}")
        without = bool(options.get("without_content"))
        if without and not chosen.can_leave_out:
            fitting = ", ".join(known.name for known in FORMATS if known.can_leave_out)
            raise CommandError(
                f"--without-content goes with --format {fitting}, got {chosen.name}: "
                f"{chosen.name} is made of texts"
            )
        trace = find_trace(str(options["id"]))
        if trace is None:
            raise CommandError(f"there is no trace and no traced run with the id {options['id']}")
        self.stdout.write(chosen.make(trace, not without))


def _names() -> str:
    return ", ".join(known.name for known in FORMATS)
