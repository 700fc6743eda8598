"""What a server listed, as tools of ``agents.loop``.

Place in the house: pure, from the raw JSON of ``tools/list`` to ``ToolSpec``. One bad tool never
spoils the others; the schema is kept as the server sent it, repairs for providers are made in the
loop.
"""

from __future__ import annotations

from collections.abc import Collection

from agents.loop.interfaces import ToolSpec
from agents.loop.messages import JsonObject, JsonValue
from agents.mcp_client.results import clean_json, clean_text

PROPER_NAME = "a tool without a proper name"


def specs_from_tools(
    server: str,
    tools: JsonValue,
    *,
    refused: Collection[str] = (),
) -> tuple[list[ToolSpec], list[str]]:
    """The tools of one raw page in the server's order, and a note per entry that had to be dropped.

    ``refused`` are names of tools whose header annotations the protocol forbids.
    """
    if not isinstance(tools, list):
        return [], [] if tools is None else [f"tools must be a list, got {type(tools).__name__}"]
    specs: list[ToolSpec] = []
    notes: list[str] = []
    for position, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str) or not name.strip():
            notes.append(f"{PROPER_NAME} at position {position}: {tool!r:.80}")
            continue
        specs.append(_spec_from(server, tool, name=name, refused=name in refused))
    return specs, notes


def _spec_from(server: str, tool: JsonObject, *, name: str, refused: bool) -> ToolSpec:
    annotations = _cleaned(tool.get("annotations"))
    hints = annotations if isinstance(annotations, dict) else {}
    schema = tool.get("inputSchema")
    output = _cleaned(tool.get("outputSchema"))
    reason = invalid_reason(schema)
    if refused and not reason:
        reason = "its x-mcp-header annotations are not valid"
    return ToolSpec(
        server=server,
        name=clean_text(name),
        description=_text(tool.get("description")),
        input_schema=_cleaned(schema),
        title=_text(tool.get("title")) or _text(hints.get("title")),
        output_schema=output if isinstance(output, dict) else None,
        annotations=hints,
        invalid_reason=reason,
    )


def invalid_reason(schema: JsonValue) -> str:
    """Why a tool with this schema cannot be offered; empty where it can."""
    if schema is None or schema is True or isinstance(schema, dict):
        return ""
    return f"inputSchema must be an object, got {type(schema).__name__} {schema!r:.60}"


def _cleaned(value: JsonValue) -> JsonValue:
    try:
        return clean_json(value)
    except RecursionError:
        return "nested too deeply"


def _text(value: JsonValue) -> str:
    return clean_text(value) if isinstance(value, str) else ""
