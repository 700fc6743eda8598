"""A trace as OTLP/JSON, which collectors and viewers of OpenTelemetry read.

Place in the house: ``traces``, pure: records and payloads in, JSON values out. Ids are hex of the
right length, times are texts of nanoseconds, whole numbers are texts, as the protocol has it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from traces.attributes import PAYLOADS
from traces.message_lists import SharedList
from traces.otlp_messages import message_in_parts, plain_tool
from traces.records import SpanRecord, TraceRecord

Json = dict[str, object]

INTERNAL, CLIENT = 1, 3
UNSET, OK, ERROR = 0, 1, 2

CONTENT = PAYLOADS | {
    "toolloop.approval.reason",
    "toolloop.error",
    "toolloop.error.detail",
    "toolloop.error.partial",
    "toolloop.errors",
    "toolloop.hook.traceback",
    "toolloop.limits_reached",
    "toolloop.notes",
    "toolloop.repeated_alone",
    "toolloop.retry.error",
}
"""Attributes that hold what people, models and tools wrote."""

_MESSAGES = frozenset({"gen_ai.input.messages", "gen_ai.output.messages"})
_STRUCTURED = _MESSAGES | {"gen_ai.tool.definitions", "gen_ai.tool.call.arguments"}
"""Attributes that the conventions have as JSON in a text."""

_HEX = re.compile(r"[0-9a-f]+")


def trace_as_otlp(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Mapping[str, object],
    *,
    now_ns: int,
    has_content: bool = True,
) -> Json:
    """``{"resourceSpans": [...]}`` with all spans of a trace.

    A span that is open ends at ``now_ns``. Without content the attributes of ``CONTENT`` and the
    user's message are left out. A payload that is no longer stored is left out.
    """
    written = [
        _span(span, payloads, trace_id=hex_id(trace.id, 32), now_ns=now_ns, has_content=has_content)
        for span in spans
    ]
    scope = {"scope": {"name": "toolloop"}, "spans": written}
    resource = {"attributes": [_attribute("service.name", "toolloop")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def hex_id(identifier: str, length: int) -> str:
    """An id as so many hex digits: itself where it is that, else the beginning of its hash."""
    is_fit = len(identifier) == length and _HEX.fullmatch(identifier) and identifier.strip("0")
    return identifier if is_fit else hashlib.sha256(identifier.encode()).hexdigest()[:length]


def any_value(value: object) -> Json:
    """A value with its type, as the protocol wants it."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
        case dict():
            pairs = [_attribute(str(key), item) for key, item in value.items()]
            return {"kvlistValue": {"values": pairs}}
        case None:
            return {}
    return {"stringValue": str(value)}


def _span(
    span: SpanRecord,
    payloads: Mapping[str, object],
    *,
    trace_id: str,
    now_ns: int,
    has_content: bool,
) -> Json:
    end = max(now_ns, span.start_ns) if span.end_ns is None else span.end_ns
    values = {
        "toolloop.span.kind": span.kind,
        "toolloop.span.status": span.status,
        "toolloop.turn": span.turn or None,
        "toolloop.run": span.run,
        **dict(_values(span, payloads, has_content=has_content)),
    }
    written: Json = {
        "traceId": trace_id,
        "spanId": hex_id(span.id, 16),
        "name": span.name,
        "kind": CLIENT if span.kind == "model" else INTERNAL,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(end),
        "attributes": [_attribute(k, v) for k, v in values.items() if v is not None],
        "status": _status(span, has_content=has_content),
    }
    return {**written, "parentSpanId": hex_id(span.parent, 16)} if span.parent else written


def _values(
    span: SpanRecord, payloads: Mapping[str, object], *, has_content: bool
) -> Iterator[tuple[str, object]]:
    for name, value in span.attributes.items():
        if not has_content and name in CONTENT:
            continue
        if name not in PAYLOADS:
            yield name, value
        elif (found := _resolve(value, payloads)) is not None:
            yield name, _shaped(name, found)


def _resolve(value: object, payloads: Mapping[str, object]) -> object:
    if isinstance(value, list | SharedList):
        return [payloads[digest] for digest in value if digest in payloads]
    return payloads.get(str(value))


def _shaped(name: str, value: object) -> object:
    """A payload in the shape that the conventions have for its attribute."""
    if name in _MESSAGES:
        messages = value if isinstance(value, list) else [value]
        value = [message_in_parts(message) for message in messages]
    elif name == "gen_ai.tool.definitions" and isinstance(value, list):
        value = [plain_tool(definition) for definition in value]
    if name in _STRUCTURED and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value


def _status(span: SpanRecord, *, has_content: bool) -> Json:
    if span.status == "error":
        message = span.attributes.get("toolloop.error") if has_content else None
        return {"code": ERROR, "message": str(message)} if message else {"code": ERROR}
    return {"code": OK if span.status == "ok" else UNSET}


def _attribute(name: str, value: object) -> Json:
    return {"key": name, "value": any_value(value)}
