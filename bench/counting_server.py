"""An MCP server that writes down each call that reaches it: ``counting_server.py FILE [stdio]``.

Place in the house: ``bench``; a program of its own, so that it outlives the processes that are
killed. Listens on a free port of 127.0.0.1 and prints its URL first, or speaks on standard input
and output. The tool ``note`` takes a key,
adds it to the file as a line, works for a while and answers; it promises nothing about being called
twice.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer

WORK_SECONDS = 0.1

server = MCPServer("counting")


def write_down(key: str) -> None:
    """Add a line to the file."""
    with Path(sys.argv[1]).open("a") as file:
        file.write(f"{key}\n")


@server.tool()
async def note(key: str) -> str:
    """Write the key down."""
    write_down(key)
    await asyncio.sleep(WORK_SECONDS)
    return f"noted {key}"


def main() -> None:
    """Serve until the process is ended."""
    if sys.argv[2:] == ["stdio"]:
        server.run("stdio")
        return
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app(json_response=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
