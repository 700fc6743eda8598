"""One call of a tool by an operator, outside of any run: what it gives and how long it takes.

Place in the house: ``agents.runs``, for the admin. Arguments are judged as those of a model are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from asgiref.sync import async_to_sync

from agents.loop.arguments import ArgumentsProblem, build_validator, validate_arguments
from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits, ToolSpec
from agents.loop.messages import JsonObject
from agents.loop.results import Outcome, ToolReply
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.pool import PooledServers, ServerPool
from agents.models import Tool
from agents.runs.server_configs import server_config
from agents.runs.web_process import web_process

IDLE_SECONDS, HARD_SECONDS = 30.0, 60.0
CONNECT_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of it. ``seconds`` is the time of the call, the connecting apart."""

    reply: ToolReply
    seconds: float = 0.0


def try_tool(tool: Tool, arguments: JsonObject) -> Trial:
    """Call a tool once. Call it outside of asyncio; bounded in time, raises nothing of a server."""
    try:
        validate_arguments(arguments, build_validator(tool.input_schema))
    except ArgumentsProblem as problem:
        reply = ToolReply(outcome=Outcome.INVALID_ARGUMENTS, error=str(problem))
        return Trial(reply=reply)
    config = server_config(tool.server)
    return async_to_sync(_call)({config.server_id: config}, tool, arguments)


async def _call(configs: Mapping[str, ServerConfig], tool: Tool, arguments: JsonObject) -> Trial:
    process = web_process()
    if process is not None:
        return await _call_in(process.pool.servers(configs), tool, arguments)
    pool = ServerPool(connect_seconds=CONNECT_SECONDS)
    try:
        return await _call_in(pool.servers(configs), tool, arguments)
    finally:
        await pool.close()


async def _call_in(servers: PooledServers, tool: Tool, arguments: JsonObject) -> Trial:
    spec = ToolSpec(server=tool.server.server_id, name=tool.name, input_schema=tool.input_schema)
    limits = CallLimits(
        idle_seconds=tool.server.tool_timeout_seconds or IDLE_SECONDS,
        hard_seconds=tool.server.tool_max_seconds or HARD_SECONDS,
    )
    try:
        await servers.list_tools(spec.server)
    except ServerUnavailable as error:
        return Trial(reply=ToolReply(outcome=Outcome.SERVER_UNAVAILABLE, error=error.reason))
    began = time.monotonic()
    reply = await servers.call_tool(spec, arguments, limits=limits)
    return Trial(reply=reply, seconds=time.monotonic() - began)
