"""``manage.py import_config FILE``: read a bundle, all or nothing."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from agents.bundle.importing import import_bundle
from agents.bundle.parsing import BundleUnreadable, read_bundle_text


class Command(BaseCommand):
    """Imports a bundle; with a fault, all of them go to stderr and nothing is written."""

    help = "Import providers, servers and assistants from a bundle (JSON or YAML), all or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file's name."""
        parser.add_argument("file", help="the bundle; - reads standard input")

    def handle(self, *args: object, **options: object) -> None:
        """Import, then tell what changed in one line."""
        path = str(options["file"])
        try:
            outcome = import_bundle(read_bundle_text(path), name=path)
        except BundleUnreadable as error:
            raise CommandError(
                f"{path}: {error}" if path not in str(error) else f"{error}"
            ) from error
        for warning in outcome.warnings:
            self.stderr.write(f"warning: {warning}")
        for fault in outcome.faults:
            self.stderr.write(str(fault))
        if outcome.faults:
            count = len(outcome.faults)
            faults = "1 fault" if count == 1 else f"{count} faults"
            raise CommandError(f"{path}: {faults}, nothing was imported")
        self.stdout.write(f"Imported {path}: {outcome.summary()}")
