"""The servers of an assistant and their whitelists, in the four forms of a bundle.

Place in the house: ``agents.bundle``. Pure. An item of ``mcp.servers`` is ``"id"``,
``{"server_id": "id", "tools": [...]}``, ``{"id": [...]}`` or ``{"id": {"tools": [...]}}``.
"""

from __future__ import annotations

from agents.bundle.entries import ServerChoice
from agents.bundle.reading import ObjectReader, read_texts
from agents.bundle.report import Report, child_pointer, describe
from agents.loop.messages import JsonValue

_FORMS = 'an id, {"server_id", "tools"}, {"id": [...]} or {"id": {"tools": [...]}}'


def read_server_choices(mcp: ObjectReader) -> tuple[ServerChoice, ...]:
    """The servers in the file's order; the same one twice is a fault."""
    choices: list[ServerChoice] = []
    for number, item in enumerate(mcp.json_list("servers")):
        choice = read_choice(item, child_pointer(mcp.at("servers"), number), mcp.report)
        if choice is None:
            continue
        if choice.server_id.lower() in {other.server_id.lower() for other in choices}:
            mcp.report.fault(choice.pointer, f"the server {choice.server_id} stands here twice")
            continue
        choices.append(choice)
    return tuple(choices)


def read_choice(item: JsonValue, pointer: str, report: Report) -> ServerChoice | None:
    """One item in any of the four forms; ``None`` after a fault."""
    if isinstance(item, str):
        if not item:
            report.fault(pointer, "expected a server's id, got an empty text")
        return _choice(item, None, pointer) if item else None
    if not isinstance(item, dict):
        report.fault(pointer, f"expected {_FORMS}, got {describe(item)}")
        return None
    if "server_id" in item:
        reader = ObjectReader(item, pointer, report)
        server_id = reader.text("server_id", required=True)
        reader.ignore("tools")
        reader.finish()
        tools = _read_whitelist(item.get("tools"), reader.at("tools"), report)
        return _choice(server_id, tools, pointer) if server_id.strip() else None
    if len(item) != 1:
        keys = ", ".join(item) or "no key"
        report.fault(pointer, f"expected {_FORMS}, got an object with {keys}")
        return None
    server_id, value = next(iter(item.items()))
    where = child_pointer(pointer, server_id)
    if isinstance(value, dict):
        reader = ObjectReader(value, where, report)
        reader.ignore("tools")
        reader.finish()
        tools = _read_whitelist(value.get("tools"), reader.at("tools"), report)
    elif isinstance(value, list):
        tools = _read_whitelist(value, where, report)
    else:
        message = f'expected a list of tools or {{"tools": [...]}}, got {describe(value)}'
        report.fault(where, message)
        return None
    if not server_id:
        report.fault(where, "expected a server's id, got an empty text")
        return None
    return _choice(server_id, tools, pointer)


def _choice(server_id: str, tools: tuple[str, ...] | None, pointer: str) -> ServerChoice:
    return ServerChoice(server_id=server_id, tools=tools, pointer=pointer)


def _read_whitelist(value: JsonValue, pointer: str, report: Report) -> tuple[str, ...] | None:
    """Tool names, each once; ``None`` (all tools) for null."""
    if value is None:
        return None
    if not isinstance(value, list):
        report.fault(pointer, f"expected a list of tool names or null, got {describe(value)}")
        return ()
    names = read_texts(value, pointer, report)
    for number, name in enumerate(value):
        if name == "":
            report.fault(child_pointer(pointer, number), "expected a tool's name, got empty text")
    return tuple(dict.fromkeys(names))
