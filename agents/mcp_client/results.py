"""What a server answered to ``tools/call``, as a ``ToolReply``.

Place in the house: pure, from the raw JSON of the wire to values of ``agents.loop``. It is lenient
on purpose: content that the protocol's own validation would refuse still reaches the model.
"""

from __future__ import annotations

import json
import math

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.results import ContentPart, Outcome, PartKind, ToolReply

NO_CONTENT = "the server's result has neither content nor structuredContent"
NEEDS_INPUT = (
    "the tool asks for something from a person before it goes on, which is not supported here; "
    "call it with everything it needs, or use another tool"
)
TOO_DEEP = "the server's result is nested too deeply to be read"


def reply_from_result(result: JsonObject) -> ToolReply:
    """The reply that a raw ``tools/call`` result stands for; 64-bit numbers keep their digits."""
    if result.get("resultType") == "input_required":
        return ToolReply(outcome=Outcome.PROTOCOL_ERROR, error=NEEDS_INPUT)
    try:
        cleaned = clean_json(result)
    except RecursionError:
        return ToolReply(outcome=Outcome.PROTOCOL_ERROR, error=TOO_DEEP)
    if not isinstance(cleaned, dict):
        return ToolReply(outcome=Outcome.PROTOCOL_ERROR, error=NO_CONTENT)
    is_error = cleaned.get("isError") in (True, "true")
    structured = cleaned.get("structuredContent", cleaned.get("toolResult"))
    if "content" not in cleaned and structured is None and not is_error:
        return ToolReply(outcome=Outcome.PROTOCOL_ERROR, error=NO_CONTENT)
    parts = _parts_from(cleaned.get("content"))
    if not is_error:
        return ToolReply(outcome=Outcome.OK, parts=parts, structured=structured)
    is_silent = structured is None and not any(_says_something(part) for part in parts)
    return ToolReply(
        outcome=Outcome.TOOL_ERROR,
        parts=parts,
        structured=structured,
        error="the tool reported an error without saying which" if is_silent else "",
    )


def clean_json(value: JsonValue) -> JsonValue:
    """The value without what no JSON text can hold: NaN, Infinity and half surrogate pairs.

    Such numbers become the strings ``NaN``, ``Infinity`` and ``-Infinity``. Raises
    ``RecursionError`` where the value is nested deeper than Python follows.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    return value


def clean_text(text: str) -> str:
    """The text with half surrogate pairs replaced, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _says_something(part: ContentPart) -> bool:
    return bool(part.text or part.data or part.uri)


def _parts_from(content: JsonValue) -> tuple[ContentPart, ...]:
    if content is None:
        return ()
    items = content if isinstance(content, list) else [content]
    return tuple(_part_from(item) for item in items)


def _part_from(item: JsonValue) -> ContentPart:
    if isinstance(item, str):
        return ContentPart(kind=PartKind.TEXT, text=item)
    if not isinstance(item, dict):
        return ContentPart(kind=PartKind.TEXT, text=_compact(item))
    kind = item.get("type")
    if kind == "text":
        text = item.get("text")
        return ContentPart(
            kind=PartKind.TEXT, text=text if isinstance(text, str) else _compact(text)
        )
    if kind in ("image", "audio"):
        return ContentPart(
            kind=PartKind(kind), data=_text(item, "data"), mime_type=_text(item, "mimeType")
        )
    if kind == "resource_link":
        return _link_from(item)
    resource = item.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        return _resource_from(resource)
    return ContentPart(kind=PartKind.TEXT, text=_compact(item))


def _link_from(item: JsonObject) -> ContentPart:
    return ContentPart(
        kind=PartKind.LINK,
        text=_text(item, "description"),
        uri=_text(item, "uri"),
        name=_text(item, "title") or _text(item, "name"),
        mime_type=_text(item, "mimeType"),
    )


def _resource_from(resource: JsonObject) -> ContentPart:
    return ContentPart(
        kind=PartKind.RESOURCE,
        text=_text(resource, "text"),
        data=_text(resource, "blob"),
        uri=_text(resource, "uri"),
        mime_type=_text(resource, "mimeType"),
    )


def _text(item: JsonObject, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
