"""Demo MCP server: weather, clothing, and a survey that takes its time.

Place in the house: a program of its own, started as ``python -m agents.demo.servers.weather``. The
numbers are made up and always the same.
"""

from __future__ import annotations

import asyncio

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

WEATHER = {
    "beijing": {"temp": 5, "wind": "strong", "sky": "clear"},
    "北京": {"temp": 5, "wind": "大", "sky": "晴"},
    "oslo": {"temp": -4, "wind": "light", "sky": "snow"},
    "lima": {"temp": 22, "wind": "light", "sky": "haze"},
    "london": {"temp": 9, "wind": "moderate", "sky": "rain"},
}

READ_ONLY = ToolAnnotations(read_only_hint=True)

server = MCPServer("weather")


@server.tool(annotations=READ_ONLY)
def get(city: str) -> dict[str, object]:
    """The weather of today in a city: temperature in degrees Celsius, wind and sky."""
    found = WEATHER.get(city.strip().lower())
    if found is None:
        raise ToolError(f"connection to the station of {city} refused")
    return {"city": city, **found}


@server.tool(annotations=READ_ONLY)
def clothing_advise(temp: float, wind: str = "") -> dict[str, str]:
    """What to wear at a temperature in degrees Celsius, with an optional word on the wind."""
    is_chinese = any("\u4e00" <= letter <= "\u9fff" for letter in wind)
    if temp < 10:
        advice = "厚外套、帽子" if is_chinese else "heavy coat and a hat"
    elif temp < 18:
        advice = "薄外套" if is_chinese else "light jacket"
    else:
        advice = "衬衫" if is_chinese else "shirt"
    return {"advice": advice}


@server.tool(annotations=READ_ONLY)
async def survey(context: Context, seconds: int = 60) -> str:
    """Ask all stations one after the other, one a second. Takes as many seconds as are given."""
    for second in range(seconds):
        await context.report_progress(second, seconds, f"station {second + 1} of {seconds}")
        await asyncio.sleep(1)
    return f"{seconds} stations asked, all is well"


if __name__ == "__main__":
    server.run()
