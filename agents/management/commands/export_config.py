"""``manage.py export_config``: write the configuration as a bundle, without secrets."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from agents.bundle.exporting import bundle_text, export_bundle


class Command(BaseCommand):
    """Writes the bundle to stdout or a file; notes on left out secrets go to stderr."""

    help = "Write the whole configuration as a bundle, without secrets."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The format and the file."""
        parser.add_argument("--format", choices=["json", "yaml"], default="json")
        parser.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")

    def handle(self, *args: object, **options: object) -> None:
        """Export."""
        bundle, notes = export_bundle()
        text = bundle_text(bundle, as_yaml=options["format"] == "yaml")
        for note in notes:
            self.stderr.write(f"note: {note}")
        if not options["output"]:
            self.stdout.write(text, ending="")
            return
        path = Path(str(options["output"]))
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
