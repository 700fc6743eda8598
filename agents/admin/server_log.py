"""The page about one server's past: how it was, what it wrote on stderr, what passed on the wire.

Place in the house: ``agents.admin``. Messages and stderr are those of this process's connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from agents.admin.marks import StateMark
from agents.mcp_client.pool import ServerStatus
from agents.mcp_client.wire_log import WireMessage
from agents.models import Server, ServerHealth
from agents.runs.server_configs import server_config
from agents.runs.web_process import web_process
from agents.texts import show_hidden

SHOWN_HEALTH = 50
MODERN_FROM = "2026-07-28"
"""The first protocol version without a handshake (MCP)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLine:
    """How a server was from ``since`` until the next line."""

    since: datetime
    state: StateMark
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLine:
    """One message: ``arrow`` tells the way, ``took`` the milliseconds since its request."""

    at: datetime
    arrow: str
    way: str
    method: str
    request_id: str
    took: str
    error: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLogView:
    """The page. ``is_here``: this process has used the server; ``recording`` are seconds left."""

    health: tuple[HealthLine, ...]
    is_here: bool
    state: str
    protocol: str
    stderr: str
    messages: tuple[MessageLine, ...]
    recording: int


def server_log(server: Server) -> ServerLogView:
    """The page of one server. Call it outside of asyncio."""
    status = _status(server)
    rows = ServerHealth.objects.filter(server=server).order_by("-at", "-pk")[:SHOWN_HEALTH]
    return ServerLogView(
        health=tuple(_health(row) for row in rows),
        is_here=status is not None,
        state=status.state if status else "",
        protocol=protocol_words(status.protocol if status else server.protocol),
        stderr=show_hidden(status.stderr_tail) if status else "",
        messages=tuple(_lines(status.messages)) if status else (),
        recording=round(status.record_seconds) if status else 0,
    )


def record_messages(server: Server) -> bool:
    """Keep the whole messages of a server for ten minutes; whether this process can."""
    process = web_process()
    if process is None:
        return False

    config = server_config(server)

    async def begin() -> None:
        process.pool.record(config)

    async_to_sync(begin)()
    return True


def protocol_words(version: str) -> str:
    """The negotiated version and its era."""
    if not version or not version[0].isdigit():
        return version
    if version >= MODERN_FROM:
        return _("MCP %(version)s, without handshake") % {"version": version}
    return _("MCP %(version)s, with handshake") % {"version": version}


def _status(server: Server) -> ServerStatus | None:
    process = web_process()
    if process is None:
        return None

    async def look() -> list[ServerStatus]:
        return process.pool.statuses()

    found = [s for s in async_to_sync(look)() if s.server_id == server.server_id]
    return found[-1] if found else None


def _health(row: ServerHealth) -> HealthLine:
    if row.error:
        state = StateMark(family="bad", icon="unplugged", word=_("did not answer"))
        return HealthLine(since=row.at, state=state, detail=row.error)
    state = StateMark(family="ok", icon="done", word=_("connected"))
    tools = _("%(n)d tools") % {"n": row.tools}
    return HealthLine(
        since=row.at, state=state, detail=f"{protocol_words(row.protocol)} · {tools}".strip(" ·")
    )


def _lines(messages: Sequence[WireMessage]) -> list[MessageLine]:
    """The messages, newest first, with how long each answer took."""
    asked: dict[tuple[bool, str], int] = {}
    lines = []
    for message in messages:
        took = ""
        begun = asked.pop((not message.is_sent, message.request_id), None)
        if begun is not None:
            took = f"{(message.at_ns - begun) / 1e6:,.0f} ms"
        elif message.request_id:
            asked[message.is_sent, message.request_id] = message.at_ns
        lines.append(
            MessageLine(
                at=datetime.fromtimestamp(message.at_ns / 1e9, UTC),
                arrow="→" if message.is_sent else "←",
                way=_("sent") if message.is_sent else _("received"),
                method=show_hidden(message.method),
                request_id=message.request_id,
                took=took,
                error=show_hidden(message.error),
                text=show_hidden(message.text),
            )
        )
    return lines[::-1]
