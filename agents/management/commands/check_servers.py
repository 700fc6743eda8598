"""``manage.py check_servers [SERVER ...] [--json]``: connect to servers and list their tools."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from agents.models import Server
from agents.runs.server_checks import check_servers, store_checks


class Command(BaseCommand):
    """Checks all servers, or those that are named; exit code 1 if one is unavailable."""

    help = "Connect to servers and list their tools."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The servers and the form of the output."""
        parser.add_argument("servers", nargs="*", metavar="SERVER", help="server ids; all if none")
        parser.add_argument("--json", action="store_true", help="write a JSON list to stdout")

    def handle(self, *args: object, **options: object) -> None:
        """Check, store what was found, tell."""
        named = list(dict.fromkeys(options["servers"]))  # type: ignore[call-overload]
        rows = Server.objects.prefetch_related("samples")
        by_id = {row.server_id: row for row in rows}
        unknown = [name for name in named if name not in by_id]
        for name in unknown:
            known = ", ".join(by_id) or "none"
            self.stderr.write(f"There is no server {name!r}. Known servers: {known}")
        wanted = [by_id[name] for name in (named or by_id) if name in by_id]
        checks = check_servers(wanted)
        store_checks(checks)
        if options["json"]:
            self.stdout.write(json.dumps([check.as_json() for check in checks], ensure_ascii=False))
        else:
            for check in checks:
                self.stdout.write(check.as_line())
        if unknown or any(check.listing is None for check in checks):
            sys.exit(1)
