"""Messages and tools of chat completions in the shape of OpenTelemetry's conventions.

Place in the house: ``traces``, pure. What the conventions have no word for is kept as it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

Json = dict[str, object]

_OWN_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "reasoning_content"})


def message_in_parts(message: object) -> Json:
    """``{"role": ..., "parts": [...]}`` of a message; fields that are left over stand beside."""
    if not isinstance(message, dict):
        return {"role": "", "parts": []}
    rest = {name: value for name, value in message.items() if name not in _OWN_FIELDS}
    return {"role": message.get("role", ""), "parts": list(_parts(message)), **rest}


def plain_tool(definition: object) -> object:
    """A tool without the wrapping of chat completions: type, name, description, parameters."""
    function = definition.get("function") if isinstance(definition, dict) else None
    if not isinstance(definition, dict) or not isinstance(function, dict):
        return definition
    rest = {name: value for name, value in definition.items() if name != "function"}
    return {**rest, **function}


def _parts(message: Json) -> Iterator[Json]:
    content = message.get("content")
    if message.get("reasoning_content"):
        yield {"type": "reasoning", "content": message["reasoning_content"]}
    if message.get("role") == "tool":
        yield {
            "type": "tool_call_response",
            "id": message.get("tool_call_id", ""),
            "response": content,
        }
    elif isinstance(content, list):
        yield from map(_content_part, content)
    elif content:
        yield {"type": "text", "content": content}
    calls = message.get("tool_calls")
    yield from map(_call_part, calls if isinstance(calls, list) else [])


def _content_part(part: object) -> Json:
    if isinstance(part, dict) and part.get("type") == "text":
        return {"type": "text", "content": part.get("text", "")}
    return part if isinstance(part, dict) else {"type": "text", "content": part}


def _call_part(call: object) -> Json:
    given = call if isinstance(call, dict) else {}
    function = given.get("function")
    named = function if isinstance(function, dict) else {}
    return {
        "type": "tool_call",
        "id": given.get("id", ""),
        "name": named.get("name", ""),
        "arguments": _read(named.get("arguments")),
    }


def _read(arguments: object) -> object:
    """Arguments as a value; a text that is no JSON stays a text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
