"""The standard tools on the official SDK: ``sdk_server.py stdio | http | sse``.

``http`` (streamable) and ``sse`` listen on a free port of 127.0.0.1 and print the URL as the first
line. With the environment variable ``TOKEN`` set, HTTP requests need ``Authorization: Bearer
TOKEN``.
"""

from __future__ import annotations

import asyncio
import base64
import os
import random
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("standard")


@server.tool()
def echo(message: str) -> str:
    """Say it again."""
    return message


@server.tool()
def ping() -> str:
    """Answer pong."""
    return "pong"


@server.tool()
def fail() -> str:
    """Report an error."""
    raise ToolError("it failed")


@server.tool()
async def slow(seconds: float, context: Context[Any, Any], steps: int = 1) -> str:
    """Wait, with progress where there are steps."""
    for step in range(steps):
        await asyncio.sleep(seconds / steps)
        if steps > 1:
            await context.report_progress(step + 1, steps, f"step {step + 1}")
    return "slept"


@server.tool()
def big(chars: int) -> str:
    """Return many characters."""
    return "x" * chars


@server.tool()
def img() -> Image:
    """Return an image of 300 KB."""
    return Image(data=base64.b64decode(base64.b64encode(random.Random(1).randbytes(225_000))))


@server.tool()
def count() -> int:
    """Count this call in the file COUNT_FILE."""
    with open(os.environ["COUNT_FILE"], "a+", encoding="utf-8") as file:
        file.write("count\n")
        file.seek(0)
        return len(file.readlines())


@server.tool()
def crash() -> str:
    """End the process."""
    os._exit(1)


@server.tool()
async def change(context: Context[Any, Any]) -> str:
    """Add the tool ``added`` and tell of it, in both eras."""

    def added() -> str:
        return "added"

    server.add_tool(added)
    await context.notify_tools_changed()
    return "changed"


class _Guard:
    """Lets only requests with the right token through."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and headers.get(b"authorization") != self._token.encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await self._app(scope, receive, send)


def main() -> None:
    """Serve over the transport named on the command line."""
    kind = sys.argv[1]
    if kind == "stdio":
        server.run("stdio")
        return
    app: Any = server.streamable_http_app() if kind == "http" else server.sse_app()
    if os.environ.get("TOKEN"):
        app = _Guard(app, f"Bearer {os.environ['TOKEN']}")
    # IPPROTO_TCP by name: without it asyncio leaves Nagle's delay of 40 ms on.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen()
    port = listener.getsockname()[1]
    print(f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}", flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, ws="none")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
