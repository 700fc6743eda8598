"""Demo MCP server: a calculator with one tool that is easy to call wrongly.

Place in the house: a program of its own, started as ``python -m agents.demo.servers.calculator``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

READ_ONLY = ToolAnnotations(read_only_hint=True)

IsoDate = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="like 2026-03-14")]

server = MCPServer("calculator")


@server.tool(annotations=READ_ONLY)
def add(a: float, b: float) -> str:
    """The sum of two numbers."""
    return f"{a + b:g}"


@server.tool(annotations=READ_ONLY)
def days_between(start_date: IsoDate, end_date: IsoDate) -> str:
    """The number of days from one date to another. Both dates are needed, in ISO form."""
    days = date.fromisoformat(end_date) - date.fromisoformat(start_date)
    return f"{days.days} days"


if __name__ == "__main__":
    server.run()
