"""Short ways to use a server in a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agents.loop.interfaces import CallLimits, OnProgress, ToolSpec
from agents.loop.messages import JsonObject
from agents.loop.results import ToolReply
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.pool import PooledServers, ServerPool

PATIENT = CallLimits(idle_seconds=5, hard_seconds=10)


class Server:
    """One server of a pool, with its calls in one line each."""

    def __init__(self, pool: ServerPool, entry: Mapping[str, Any], **changes: Any) -> None:
        self.config = replace(config_from(entry), **changes)
        self.id = self.config.server_id
        self.caller: PooledServers = pool.servers({self.id: self.config})

    async def names(self) -> list[str]:
        """The names that it lists."""
        return [tool.name for tool in await self.tools()]

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that it lists."""
        return (await self.caller.list_tools(self.id)).tools

    async def call(
        self,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        limits: CallLimits = PATIENT,
        on_progress: OnProgress | None = None,
    ) -> ToolReply:
        """One call of one tool."""
        spec = ToolSpec(server=self.id, name=tool)
        return await self.caller.call_tool(
            spec, arguments or {}, limits=limits, on_progress=on_progress
        )


def config_from(entry: Mapping[str, Any]) -> ServerConfig:
    """The configuration of a bundle's item."""
    return ServerConfig(**{**entry, "args": tuple(entry.get("args", ()))})


def text_of(reply: ToolReply) -> str:
    """The text parts of a reply, joined."""
    return "\n".join(part.text for part in reply.parts)


async def until(holds: Callable[[], bool], *, seconds: float = 5) -> None:
    """Wait until something holds; fail when it does not within the limit."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        await asyncio.sleep(0.01)
