"""A small web socket client on plain streams, so that what is measured is the application.

Place in the house: ``bench``. Text frames only; the server's frames are not masked.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import struct
from contextlib import suppress
from typing import Any


class Socket:
    """One open web socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, host: str, port: int, path: str, cookie: str) -> Socket:
        """Connect and shake hands. Raises ``ConnectionError`` when it is refused."""
        reader, writer = await asyncio.open_connection(host, port)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            (
                f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                f"Sec-WebSocket-Version: 13\r\nOrigin: http://{host}:{port}\r\n"
                f"Cookie: {cookie}\r\n\r\n"
            ).encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(head.decode(errors="replace"))
        return cls(reader, writer)

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message as JSON."""
        body = json.dumps(message).encode()
        mask = os.urandom(4)
        size = (
            bytes([0x80 | len(body)]) if len(body) < 126 else b"\xfe" + struct.pack(">H", len(body))
        )
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(body))
        self._writer.write(b"\x81" + size + mask + masked)
        await self._writer.drain()

    async def receive(self) -> dict[str, Any]:
        """The next message."""
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", await self._reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", await self._reader.readexactly(8))
            body = await self._reader.readexactly(size)
            if first & 0x0F == 1:
                message: dict[str, Any] = json.loads(body)
                return message
            if first & 0x0F == 8:
                raise ConnectionError("the server closed the socket")

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def wait_closed(self) -> None:
        """Return when the connection is closed."""
        with suppress(ConnectionError):
            await self._writer.wait_closed()
