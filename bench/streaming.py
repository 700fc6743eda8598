"""A provider on a socket that streams what a bench wants to see arrive.

Place in the house: ``bench``. Whatever is asked, each answer is the same list of pieces.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def stream_pieces(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    pieces: Callable[[], Iterable[str]],
    *,
    pause: float,
) -> None:
    """One connection: each answer has a chunk per piece, ``pause`` seconds apart, and an end."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            await reader.readexactly(int(length.group(1)) if length else 0)
            writer.write(_HEAD)
            for piece in pieces():
                await _send(writer, {"content": piece}, None)
                await asyncio.sleep(pause)
            await _send(writer, {}, "stop")
            writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        writer.close()


async def _send(writer: asyncio.StreamWriter, delta: dict[str, str], finish: str | None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    event = f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(event), event))
    await writer.drain()
