"""A fast streaming model for measurements: asks for ``echo`` until the wanted turns are used up.

Place in the house: ``bench``; a program of its own, so that its work does not count. The model's
name says how many turns: ``turns-5``. Every answer has 7 chunks. It prints its base URL first.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

_TOOL_MESSAGE = re.compile(rb'"role"\s*:\s*"tool"')
_TURNS = re.compile(rb'"model"\s*:\s*"turns-(\d+)"')
_TOOL = re.compile(rb'"name"\s*:\s*"([A-Za-z0-9_-]*echo)"')
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake",
            "choices": [choice], **fields}  # fmt: skip


def answer_chunks(body: bytes) -> list[dict[str, Any]]:
    """The 7 chunks for a request body: a call of the echo tool, or text when the turns are over."""
    used = len(_TOOL_MESSAGE.findall(body))
    turns, tool = _TURNS.search(body), _TOOL.search(body)
    if turns and tool and used < int(turns.group(1)):
        function = {"name": tool.group(1).decode(), "arguments": ""}
        head = {"index": 0, "id": f"call_{used}", "type": "function", "function": function}
        pieces = ['{"mess', 'age":"', f'{used}"', "}"]
        middle = [{"tool_calls": [head]}] + [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces
        ]
        end = chunk({}, "tool_calls")
    else:
        middle = [{"content": word} for word in ("That ", "is ", "all ", "I ", "know.")]
        end = chunk({}, "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return [*map(chunk, middle), end, chunk({}, choices=[], usage=usage)]


async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it closes."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            body = await reader.readexactly(int(length.group(1)) if length else 0)
            writer.write(_HEAD)
            for item in [*map(json.dumps, answer_chunks(body)), "[DONE]"]:
                event = f"data: {item}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(serve_connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
