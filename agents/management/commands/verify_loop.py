"""``manage.py verify_loop ASSISTANT [--tool SERVER.TOOL]``: is the tool loop closed?"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from contextlib import redirect_stdout
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.encryption import DecryptionFailed
from agents.loop.arguments import ArgumentsProblem, parse_arguments
from agents.loop.messages import JsonObject
from agents.models import Assistant
from agents.runs.loop_checks.outcomes import LoopCheck, LoopReport, Verdict
from agents.runs.loop_checks.printing import check_lines, summary_line
from agents.runs.loop_checks.verifying import ALL_SECONDS, ToolUnusable, Wish, verify_loop
from agents.runs.plans import load_assistant

BAD_INPUT = 2
"""Exit code for an unknown assistant or tool, and for arguments that are none."""


class Command(BaseCommand):
    """Three checks with the assistant's own model; exit code 1 where the loop is not closed."""

    help = (
        "Check an assistant's tool loop: does its model return a well-formed call, does it go on "
        "with a result, does a loop of several turns end by itself. Exit code 0 if the loop is "
        "closed, 1 if not, 2 for bad input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of ``docs/commands.md``."""
        parser.add_argument("assistant", help="the assistant's id")
        parser.add_argument(
            "--tool",
            default="",
            metavar="SERVER.TOOL",
            help="ask for this tool, and execute it even where it is not read-only",
        )
        parser.add_argument("--arguments", metavar="JSON", help="the arguments to ask for")
        parser.add_argument("--raw", action="store_true", help="show what went over the wire")
        parser.add_argument("--json", action="store_true", help="write one JSON object to stdout")
        parser.add_argument(
            "--seconds", type=float, default=ALL_SECONDS, help=f"in all, at most ({ALL_SECONDS:g})"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, tell each check as it ends, and end with the right exit code."""
        assistant = _find_assistant(options["assistant"])
        wish = Wish(tool=options["tool"], arguments=_read_arguments(options))
        is_json = options["json"]

        def tell(check: LoopCheck) -> None:
            is_raw = options["raw"] or check.verdict is Verdict.FAILED
            if not is_json:
                self._write("\n".join(check_lines(check, is_raw=is_raw)))

        report = _verify(assistant, wish, options["seconds"], tell)
        if is_json:
            self._write(
                json.dumps(report.as_json(with_exchanges=options["raw"]), ensure_ascii=False)
            )
        else:
            self._write(summary_line(report))
        if not report.is_closed:
            sys.exit(1)

    def _write(self, text: str) -> None:
        # Half a character, from a model or a tool, must not cost the whole line.
        self.stdout.write(text.encode("utf-8", "replace").decode())
        self.stdout.flush()


def _verify(assistant: Assistant, wish: Wish, seconds: float, tell: Any) -> LoopReport:
    if not 1 <= seconds <= 3600:
        raise CommandError(f"--seconds must be 1 to 3600, got {seconds:g}", returncode=BAD_INPUT)
    try:
        # What tools print must not get into the report; it is told on the stream it was given.
        with redirect_stdout(sys.stderr):
            return asyncio.run(verify_loop(assistant, wish, seconds=seconds, tell=tell))
    except (ToolUnusable, DecryptionFailed) as error:
        raise CommandError(str(error), returncode=BAD_INPUT) from error


def _read_arguments(options: dict[str, Any]) -> JsonObject | None:
    if options["arguments"] is None:
        return None
    if not options["tool"]:
        raise CommandError(
            "--arguments are those of a tool: name it with --tool SERVER.TOOL",
            returncode=BAD_INPUT,
        )
    try:
        return parse_arguments(options["arguments"])
    except ArgumentsProblem as problem:
        raise CommandError(f"--arguments: {problem}", returncode=BAD_INPUT) from problem


def _find_assistant(assistant_id: str) -> Assistant:
    assistant = load_assistant(assistant_id)
    if assistant is None:
        known = ", ".join(
            Assistant.objects.filter(is_system=False).values_list("assistant_id", flat=True)
        )
        raise CommandError(
            f"There is no assistant {assistant_id!r}. Known: {known or 'none'}. "
            "Import one with manage.py import_config FILE.",
            returncode=BAD_INPUT,
        )
    return assistant
