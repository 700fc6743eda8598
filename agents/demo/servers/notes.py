"""Demo MCP server: notes in memory, with a tool that destroys them.

Place in the house: a program of its own, started as ``python -m agents.demo.servers.notes``. The
notes are gone when it ends.
"""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

NOTES = {"shopping": "Oat milk, rice, two lemons.", "ideas": "Ask the library about Sunday hours."}

server = MCPServer("notes")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_notes() -> list[str]:
    """The names of all notes."""
    return sorted(NOTES)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read(name: str) -> str:
    """The text of one note."""
    if name not in NOTES:
        raise ToolError(
            f"there is no note {name!r}; there are: {', '.join(sorted(NOTES)) or 'none'}"
        )
    return NOTES[name]


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def write(name: str, text: str) -> str:
    """Write a note, over an older one of that name."""
    NOTES[name] = text
    return f"written: {name}"


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_all() -> str:
    """Delete every note. This cannot be undone."""
    count = len(NOTES)
    NOTES.clear()
    return f"{count} notes deleted"


if __name__ == "__main__":
    server.run()
