"""``manage.py import_config FILE``: read a configuration, all or nothing, or show what would
change.
"""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from agents.bundle.agent_settings import TOOLS_SERVER
from agents.bundle.changes import UNCHANGED, FieldChange, ImportPlan
from agents.bundle.files import read_paths
from agents.bundle.importing import ImportOutcome, import_value, preview_value
from agents.bundle.parsing import BundleUnreadable
from agents.bundle.report import Finding, Report, named_item
from agents.bundle.shapes import ALL_TOOLS, NO_TOOL
from agents.bundle.sources import BUNDLE, Source, read_source
from agents.encryption import DecryptionFailed

_SHOWN_CHARS = 200
_WHITELIST_WORDS = {ALL_TOOLS: "all tools", NO_TOOL: "no tool"}


class Command(BaseCommand):
    """Imports a configuration; with a fault, all of them go to stderr and nothing is written."""

    help = (
        "Import providers, servers and assistants, all or nothing: from a bundle (JSON or YAML), "
        "Yao's files (a directory, a zip or package.yao), or settings.json and config.toml."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The files' names."""
        parser.add_argument(
            "file", nargs="+", help="a bundle (- reads standard input), a directory, a zip, files"
        )
        parser.add_argument(
            "--preview", action="store_true", help="show what would change; write nothing"
        )
        parser.add_argument(
            "--tools-server",
            metavar="SERVER",
            default=TOOLS_SERVER,
            help=f"the server that has the tools of config.toml ({TOOLS_SERVER})",
        )

    def handle(self, *args: object, **options: object) -> None:
        """Import or preview, then tell what changed in one line."""
        given = options["file"]
        paths = [str(path) for path in (given if isinstance(given, list) else [given])]
        name = " ".join(paths)
        report = Report()
        try:
            tools_server = str(options["tools_server"])
            source = read_source(read_paths(paths), report, tools_server=tools_server)
        except BundleUnreadable as error:
            text = str(error)
            raise CommandError(text if name in text else f"{name}: {text}") from error
        act = preview_value if options["preview"] else import_value
        try:
            outcome = act(source.value, report)
        except DecryptionFailed as error:
            raise CommandError(f"{name}: {error}") from error
        self._tell(outcome, name, source)
        if options["preview"]:
            self._show(outcome.plan)
            self.stdout.write(f"Preview of {name}: nothing was imported")
        else:
            self.stdout.write(f"Imported {name}: {outcome.summary()}")

    def _tell(self, outcome: ImportOutcome, name: str, source: Source) -> None:
        """Warnings and faults. Raises ``CommandError`` if there is a fault."""
        for warning in outcome.warnings:
            self.stderr.write(f"warning: {_line(warning, source)}")
        for fault in outcome.faults:
            self.stderr.write(_line(fault, source))
        if outcome.faults:
            count = len(outcome.faults)
            faults = "1 fault" if count == 1 else f"{count} faults"
            raise CommandError(f"{name}: {faults}, nothing was imported")

    def _show(self, plan: ImportPlan) -> None:
        for item in plan.items:
            self.stdout.write(f"{item.change:<9}  {item.kind} {item.item_id}".rstrip())
            if item.change != UNCHANGED:
                for field in item.fields:
                    self.stdout.write(f"    {field_line(field)}")
        for server_id, line in plan.commands:
            self.stdout.write(f"runs on this machine, for {server_id}: {line}")
        for kind, value in plan.trusted:
            self.stdout.write(f"trusts the {kind} {value}")


def _line(finding: Finding, source: Source) -> str:
    """A finding; with the item's name where the bundle was made of other files."""
    named = named_item(source.value, finding.pointer) if source.kind != BUNDLE else ""
    return f"{finding} ({named})" if named else str(finding)


def field_line(field: FieldChange) -> str:
    """One line: ``limits/max_tools: 20 -> 5``."""
    before, after = _short(field, field.before), _short(field, field.after)
    text = (
        f"{field.path}: {after}" if field.before is None else f"{field.path}: {before} -> {after}"
    )
    return f"{text} (changed, not shown)" if field.is_secret and before == after else text


def _short(field: FieldChange, text: str | None) -> str:
    if text is None:
        return "(nothing)"
    if field.path.startswith("mcp/servers/") and text in _WHITELIST_WORDS:
        return _WHITELIST_WORDS[text]
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}..."
