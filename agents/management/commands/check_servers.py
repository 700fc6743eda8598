"""``manage.py check_servers [SERVER ...] [--json]``: connect to servers and list their tools."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.management.base import BaseCommand

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import ServerListing
from agents.mcp_client.pool import ServerPool
from agents.models import Server
from agents.runs.server_configs import server_config
from agents.runs.tool_store import store_failure, store_listing


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """What came of asking one server; ``error`` is ``""`` when it answered."""

    server: Server
    listing: ServerListing | None = None
    error: str = ""

    def as_json(self) -> dict[str, object]:
        """The entry of this server in the command's JSON."""
        listing = self.listing
        return {
            "server_id": self.server.server_id,
            "status": "ok" if listing else "unavailable",
            "protocol": listing.protocol if listing else None,
            "tools": [tool.name for tool in listing.tools] if listing else [],
            "error": self.error or None,
        }

    def as_line(self) -> str:
        """The entry of this server for a person."""
        if self.listing is None:
            return f"{self.server.server_id}: unavailable: {self.error}"
        names = ", ".join(tool.name for tool in self.listing.tools) or "none"
        return f"{self.server.server_id}: ok ({self.listing.protocol}), tools: {names}"


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
        checks = asyncio.run(check_servers(wanted))
        for check in checks:
            if check.listing is not None:
                store_listing(check.server, check.listing)
            else:
                store_failure(check.server, check.error)
        if options["json"]:
            self.stdout.write(json.dumps([check.as_json() for check in checks], ensure_ascii=False))
        else:
            for check in checks:
                self.stdout.write(check.as_line())
        if unknown or any(check.listing is None for check in checks):
            sys.exit(1)


async def check_servers(servers: Sequence[Server]) -> list[ServerCheck]:
    """Ask all servers at the same time; every answer is there when the slowest has come."""
    pool = ServerPool()
    pooled = pool.servers({row.server_id: server_config(row) for row in servers})

    async def check(server: Server) -> ServerCheck:
        try:
            return ServerCheck(server=server, listing=await pooled.list_tools(server.server_id))
        except ServerUnavailable as error:
            return ServerCheck(server=server, error=error.reason)

    try:
        return list(await asyncio.gather(*(check(server) for server in servers)))
    finally:
        await pool.close()
