"""``manage.py doctor [--json] [--offline]``: look over the installation."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agents.doctor import look_over
from agents.findings import Finding, Health


class Command(BaseCommand):
    """One line for each thing looked at; exit code 1 if anything is an error."""

    help = "Look over database, key, providers, servers and assistants, with hints what to do."
    # What this command is for may be what a check would stop at.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The form of the output, and whether anything is asked."""
        parser.add_argument("--json", action="store_true", help="write a JSON list to stdout")
        parser.add_argument(
            "--offline", action="store_true", help="ask no provider and start no server"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Look, tell as it is found, and count."""
        findings: list[Finding] = []
        for finding in look_over(is_offline=options["offline"]):
            findings.append(finding)
            if not options["json"]:
                self.stdout.write(finding.as_line())
        if options["json"]:
            entries = [finding.as_json() for finding in findings]
            self.stdout.write(json.dumps(entries, ensure_ascii=False))
        else:
            self.stdout.write(_summary(findings))
        if any(finding.health is Health.ERROR for finding in findings):
            sys.exit(1)


def _summary(findings: list[Finding]) -> str:
    counts = [
        f"{sum(finding.health is health for finding in findings)} {health.value}"
        for health in Health
    ]
    return ", ".join(counts)
