"""Files of a workspace that a tool call made, by its result.

Place in the house: ``agents.chat``, pure.
"""

from __future__ import annotations

import json

WORKSPACE_SERVER = "workspace"
"""The id of the built-in server of files."""

MOST_CHARS = 60_000


def made_files(server: str, tool: str, text: str) -> tuple[str, ...]:
    """The paths that a call wrote or changed, as its result tells."""
    if server != WORKSPACE_SERVER or tool not in ("bash", "write_file") or len(text) > MOST_CHARS:
        return ()
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(told, dict):
        return ()
    changed = told.get("changed_files") if tool == "bash" else [told.get("path")]
    return tuple(path for path in changed or () if isinstance(path, str))
