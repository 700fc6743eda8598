"""From a configuration to the stream pair that the SDK's session speaks over.

Place in the house: imported at the first connect, for it imports ``mcp``. One transport serves one
connection, once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import ReadStream, WriteStream
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from agents.mcp_client.config import ResolvedConfig
from agents.mcp_client.http import MAX_EVENT_BYTES, HttpWatch, open_http_client
from agents.mcp_client.stdio import ChildServer, child_streams
from agents.mcp_client.wire import Item, WireWatch

Streams = tuple[ReadStream[Item], WriteStream[SessionMessage]]

_log = logging.getLogger(__name__)
_warned_of_sse: set[str] = set()

# httpx2 logs every URL at INFO, and a URL may hold a secret.
logging.getLogger("httpx2").setLevel(logging.WARNING)
# These print a traceback for each broken answer; results and statuses tell of it in one line.
for _noisy in ("mcp.client.sse", "mcp.client.streamable_http", "client"):
    logging.getLogger(_noisy).setLevel(logging.CRITICAL)


class CannotStart(Exception):
    """Raised when a server cannot even be tried; the text says what to change."""


class ServerTransport:
    """The way to one server: its streams, and what is known when it fails.

    ``on_fault`` is called with one line when the connection should not be used again,
    ``on_channel_change`` when a stream for an older server's notices opens or closes.
    """

    def __init__(
        self,
        resolved: ResolvedConfig,
        watch: WireWatch,
        *,
        on_fault: Callable[[str], None],
        on_channel_change: Callable[[], None],
    ) -> None:
        self._resolved = resolved
        self._kind = resolved.config.transport
        self._child = ChildServer(watch) if self._kind == "stdio" else None
        self._http = HttpWatch(
            on_fault=on_fault,
            on_channel_change=on_channel_change,
            ends_on_refusal=self._kind == "sse",
        )

    @property
    def carries_notices(self) -> bool:
        """Whether an older server can tell of changes right now."""
        return self._kind != "http" or self._http.channel_count > 0

    @property
    def is_alive(self) -> bool:
        """Whether a child process still runs; always true for other transports."""
        return self._child is None or self._child.is_alive

    @property
    def stderr_tail(self) -> str:
        """The last lines of a child's stderr; empty for other transports."""
        return self._child.stderr_tail if self._child else ""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """The stream pair; leaving ends the process or the sockets.

        Raises ``CannotStart``, and httpx2's errors from the old SSE transport.
        """
        if self._child is not None:
            await self._start_child(self._child)
            async with child_streams(self._child) as pair:
                yield pair
        elif self._kind == "http":
            async with self._open_client() as client:
                opened = streamable_http_client(
                    self._resolved.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES
                )
                async with opened as pair:
                    yield pair
        else:
            self._warn_of_sse()
            opened = sse_client(
                self._resolved.url,
                httpx_client_factory=lambda headers=None, timeout=None, auth=None: (
                    self._open_client()
                ),
            )
            async with opened as pair:
                yield pair

    def describe_words(self) -> str:
        """One line with what a child printed that was no message; empty for other transports."""
        child = self._child
        said = []
        if child is not None and child.last_garbage:
            said.append(f"it printed a line that is no MCP message: {child.last_garbage!r}")
        if child is not None and child.stderr_tail:
            lines = child.stderr_tail.splitlines()[-6:]
            said.append("its last words: " + " | ".join(lines)[-600:])
        return "; ".join(said)

    async def describe_end(self) -> str:
        """One line on how a child ended and its last words; empty for other transports."""
        child = self._child
        if child is None:
            return ""
        await child.wait_for_last_words(0.5)
        code = child.exit_code
        ending = "" if code is None else f"the process ended {_ending(code)}"
        return "; ".join(part for part in (ending, self.describe_words()) if part)

    async def _start_child(self, child: ChildServer) -> None:
        config, resolved = self._resolved.config, self._resolved
        _check_directory(config.cwd)
        try:
            await child.start(config.command, resolved.args, env=resolved.env, cwd=config.cwd)
        except FileNotFoundError:
            raise CannotStart(
                f"the command {config.command!r} was not found: install it or check command"
            ) from None
        except (OSError, ValueError) as error:
            raise CannotStart(
                f"the command {config.command!r} cannot be started: {error}"
            ) from None

    def _open_client(self) -> httpx2.AsyncClient:
        try:
            url = httpx2.URL(self._resolved.url)
            if url.scheme not in ("http", "https") or not url.host:
                raise ValueError("expected http:// or https:// and a host")
            return open_http_client(self._resolved.url, dict(self._resolved.headers), self._http)
        except (httpx2.InvalidURL, ValueError, UnicodeError) as error:
            raise CannotStart(f"the URL or a header cannot be used ({error}): check url") from None

    def _warn_of_sse(self) -> None:
        server = self._resolved.config.server_id
        if server not in _warned_of_sse:
            _warned_of_sse.add(server)
            _log.warning("server %s uses the old SSE transport: change it to http", server)


def _check_directory(cwd: str | None) -> None:
    if cwd is not None and not os.path.isdir(cwd):
        raise CannotStart(f"the working directory {cwd!r} does not exist: check cwd")


def _ending(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"
