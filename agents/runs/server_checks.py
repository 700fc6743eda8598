"""Asks servers for their tools and stores what they say.

Place in the house: ``agents.runs``; the commands, the admin and the doctor call it. Where this
process executes runs, its own connections can be asked, so that the next run has the new list.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import ServerListing
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.pool import ServerPool
from agents.models import Server
from agents.runs.server_configs import server_config
from agents.runs.tool_store import store_failure, store_listing
from agents.runs.web_process import web_process

CONNECT_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """What came of asking one server; ``error`` is ``""`` when it answered."""

    server: Server
    listing: ServerListing | None = None
    error: str = ""
    seconds: float = 0.0

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


def check_servers(
    servers: Sequence[Server], *, connect_seconds: float = CONNECT_SECONDS
) -> list[ServerCheck]:
    """Connect to all servers anew, at the same time; nothing is stored. Call it outside of asyncio.

    Every answer is there when the slowest has come.
    """
    configs = {row.server_id: server_config(row) for row in servers}

    async def ask() -> list[ServerCheck]:
        pool = ServerPool(connect_seconds=connect_seconds)
        try:
            return await _ask_all(servers, configs, pool)
        finally:
            await pool.close()

    return async_to_sync(ask)()


def refresh_servers(servers: Sequence[Server]) -> list[ServerCheck]:
    """Ask the servers anew, through the connections of this process where it executes runs; what
    they say is stored.
    """
    configs = {row.server_id: server_config(row) for row in servers}

    async def ask() -> list[ServerCheck] | None:
        process = web_process()
        if process is None:
            return None
        for config in configs.values():
            process.pool.ask_anew(config)
        return await _ask_all(servers, configs, process.pool)

    checks = async_to_sync(ask)() if web_process() is not None else None
    checks = checks if checks is not None else check_servers(servers)
    store_checks(checks)
    return checks


def store_checks(checks: Sequence[ServerCheck]) -> None:
    """Store the tools of servers that answered, and why the others did not."""
    for check in checks:
        if check.listing is not None:
            store_listing(check.server, check.listing)
        else:
            store_failure(check.server, check.error)


async def _ask_all(
    servers: Sequence[Server], configs: Mapping[str, ServerConfig], pool: ServerPool
) -> list[ServerCheck]:
    pooled = pool.servers(configs)

    async def ask(server: Server) -> ServerCheck:
        begun = time.monotonic()
        try:
            listing = await pooled.list_tools(server.server_id)
        except ServerUnavailable as error:
            return ServerCheck(server=server, error=error.reason, seconds=time.monotonic() - begun)
        return ServerCheck(server=server, listing=listing, seconds=time.monotonic() - begun)

    return list(await asyncio.gather(*(ask(server) for server in servers)))
