"""Servers that others wrote: ``mcp-server-time`` and ``@modelcontextprotocol/server-everything``.

``TOOLLOOP_TEST_TIME_SERVER`` is the path of the first one's executable,
``TOOLLOOP_TEST_EVERYTHING`` that of the second one's ``dist/index.js``; without them
this module is left out.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.results import Outcome, PartKind
from agents.mcp_client.pool import ServerPool
from tests.mcp_client.calling import Server, text_of
from tests.servers import http_entry

TIME_SERVER = os.environ.get("TOOLLOOP_TEST_TIME_SERVER", "")
EVERYTHING = os.environ.get("TOOLLOOP_TEST_EVERYTHING", "")
TIME = {"server_id": "time", "transport": "stdio", "command": TIME_SERVER}
EVERYTHING_STDIO = {
    "server_id": "every",
    "transport": "stdio",
    "command": "node",
    "args": [EVERYTHING],
}


@contextmanager
def everything_over_http() -> Iterator[dict[str, Any]]:
    """The item of server-everything over streamable HTTP, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["node", EVERYTHING, "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield http_entry("every", f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        process.wait(10)


async def check_everything(server: Server) -> None:
    """Text, an image, structured content, progress and an error of server-everything."""
    seen: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str) -> None:
        seen.append((progress, total))

    listing = await server.caller.list_tools("every")
    assert listing.protocol == "2025-11-25"
    assert {"echo", "get-sum", "get-tiny-image"} <= {tool.name for tool in listing.tools}
    assert text_of(await server.call("echo", {"message": "hi"})) == "Echo: hi"
    image = await server.call("get-tiny-image")
    assert [part.mime_type for part in image.parts if part.kind is PartKind.IMAGE] == ["image/png"]
    weather = await server.call("get-structured-content", {"location": "New York"})
    assert isinstance(weather.structured, dict)
    assert set(weather.structured) == {"temperature", "conditions", "humidity"}
    steps = {"duration": 0.3, "steps": 3}
    slow = await server.call("trigger-long-running-operation", steps, on_progress=note)
    assert (slow.outcome, seen) == (Outcome.OK, [(1, 3), (2, 3), (3, 3)])
    assert (await server.call("echo", {})).outcome in (Outcome.TOOL_ERROR, Outcome.PROTOCOL_ERROR)
    assert text_of(await server.call("echo", {"message": "on"})) == "Echo: on"


async def test_the_time_server_is_served_in_the_modern_era(pool: ServerPool) -> None:
    server = Server(pool, TIME)
    listing = await server.caller.list_tools("time")
    assert listing.protocol == "2026-07-28"
    assert [tool.name for tool in listing.tools] == ["get_current_time", "convert_time"]
    reply = await server.call("get_current_time", {"timezone": "Europe/Berlin"})
    assert (reply.outcome, "Europe/Berlin" in text_of(reply)) == (Outcome.OK, True)
    wrong = await server.call("get_current_time", {"timezone": "Mars/Base"})
    assert wrong.outcome is Outcome.TOOL_ERROR


async def test_server_everything_is_served_over_stdio(pool: ServerPool) -> None:
    await check_everything(Server(pool, EVERYTHING_STDIO))


async def test_server_everything_is_served_over_http_and_after_a_restart(
    pool: ServerPool,
) -> None:
    with everything_over_http() as entry:
        server = Server(pool, entry)
        await _wait_for(server)
        await check_everything(server)
    assert (await server.call("echo", {"message": "x"})).outcome is Outcome.SERVER_UNAVAILABLE


async def _wait_for(server: Server) -> None:
    for _ in range(100):
        try:
            await server.names()
        except ServerUnavailable:
            await asyncio.sleep(0.05)
        else:
            return
    pytest.fail("server-everything did not start")
