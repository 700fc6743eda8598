"""Limits of single tools in an assistant of a bundle, judged.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

from agents.bundle.reading import ObjectReader
from agents.loop.messages import JsonObject

FIELDS = (
    "tool_timeout_seconds", "tool_max_seconds", "tool_result_max_chars", "max_calls", "polling",
)  # fmt: skip


def read_tool_limits(reader: ObjectReader) -> JsonObject:
    """``{"server.tool": {"max_calls": 3, ...}}`` as it is; what is no limit becomes a fault."""
    nested = reader.reader("tool_limits")
    found: JsonObject = {}
    for key in list(nested.value):
        if "." not in key:
            nested.fault(key, "the name of a server and a tool such as weather.get")
            continue
        entry = nested.reader(key)
        limits: JsonObject = {}
        for name in ("tool_timeout_seconds", "tool_max_seconds"):
            if name in entry.value:
                limits[name] = entry.seconds(name, default=1)
        for name in ("tool_result_max_chars", "max_calls"):
            if name in entry.value:
                limits[name] = entry.whole(name, default=1, minimum=1)
        if "polling" in entry.value:
            limits["polling"] = entry.boolean("polling", default=False)
        entry.finish()
        found[key] = limits
    nested.ignore(*nested.value)
    return found
