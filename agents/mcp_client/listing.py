"""All pages of one server's tools.

Place in the house: under ``connection``; imported at the first connect, for it imports ``mcp``.
"""

from __future__ import annotations

import logging
from typing import Any

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError

from agents.loop.interfaces import ToolSpec
from agents.loop.messages import JsonObject
from agents.mcp_client.discovery import specs_from_tools
from agents.mcp_client.wire import has_header_arguments, raw_result

MOST_PAGES = 100

_log = logging.getLogger(__name__)


async def fetch_tools(session: ClientSession, server: str) -> tuple[ToolSpec, ...]:
    """Every tool in the server's order; a name listed twice is kept twice.

    It stops at a repeated cursor and after 100 pages and keeps what it has, and so it does when a
    later page is refused. Raises the SDK's errors for the first page.
    """
    specs: list[ToolSpec] = []
    seen: set[str] = set()
    cursor: str | None = None
    for page_number in range(MOST_PAGES):
        try:
            page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        except MCPError as error:
            if page_number == 0 and error.code == types.METHOD_NOT_FOUND:
                return ()
            if page_number == 0 or error.code == types.CONNECTION_CLOSED:
                raise
            _log.warning("server %s: page %d of its tools failed", server, page_number)
            break
        raw = raw_result(page)
        found, notes = specs_from_tools(
            server,
            raw.get("tools"),
            refused=_refused_names(raw.get("tools"), page),
        )
        specs += found
        for note in notes:
            _log.warning("server %s: left out %s", server, note)
        cursor = _next_cursor(raw)
        if cursor is None or cursor in seen:
            break
        seen.add(cursor)
    return tuple(specs)


def _next_cursor(raw: JsonObject) -> str | None:
    cursor = raw.get("nextCursor")
    return cursor if isinstance(cursor, str) else None


def _refused_names(tools: Any, page: types.ListToolsResult) -> set[str]:
    """Tools that the SDK dropped because their header annotations are not allowed."""
    kept = {tool.name for tool in page.tools}
    return {
        str(tool["name"])
        for tool in (tools if isinstance(tools, list) else [])
        if has_header_arguments(tool) and tool["name"] not in kept
    }
