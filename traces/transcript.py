"""A trace as a transcript: who said what, in reading order, with the calls and their results.

Place in the house: ``traces``, pure. Texts are whole, as the model saw them; words are the record's
own, in no language.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from traces.inspection.reading import (
    Reading,
    hashes_of,
    integer,
    outcome_of,
    read_trace,
    text,
    tool_title,
)
from traces.inspection.texts import content_text
from traces.records import SpanRecord, TraceRecord


def trace_as_transcript(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Mapping[str, object],
    *,
    now_ns: int,
) -> str:
    """``role: text`` lines. The conversation before comes first, as the first request had it."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return "\n".join(_lines(reading)) + "\n"


def _lines(reading: Reading) -> Iterator[str]:
    agent = reading.root
    requests = [span for span in reading.spans if span.kind == "model"]
    own = [span for span in requests if agent is not None and span.run == agent.run]
    if own and own[0].attributes.get("gen_ai.input.messages"):
        for digest in hashes_of(own[0], "gen_ai.input.messages"):
            yield from _message(reading.payloads.get(digest))
    elif agent is not None:
        yield from _said("user", reading.payload(agent, "toolloop.message"))
    for span in reading.spans:
        yield from _step(reading, span)


def _step(reading: Reading, span: SpanRecord) -> Iterator[str]:
    """What a span adds to what can be read."""
    match span.kind:
        case "agent" if span is not reading.root:
            yield from _said("delegated", f"to {span.name}")
        case "retry":
            yield from _said("user (correction)", reading.payload(span, "toolloop.notice"))
        case "fallback":
            level, reason = integer(span, "toolloop.fallback.level"), "toolloop.stop_reason"
            yield from _said("fallback", f"level {level}, {text(span, reason)}")
        case "model" if span.status == "error":
            yield from _said("error", text(span, "toolloop.error"))
        case "model":
            for digest in hashes_of(span, "gen_ai.output.messages"):
                found = reading.payloads.get(digest)
                content = found.get("content") if isinstance(found, dict) else None
                yield from _said("assistant", content_text(content))
        case "tool_call":
            yield from _call(reading, span)
        case "agent":
            return
    if span.kind == "fallback" and integer(span, "toolloop.fallback.level") == 3:
        agent = reading.agents.get(span.run)
        answer = reading.payload(agent, "toolloop.answer") if agent is not None else None
        yield from _said("assistant", answer)


def _call(reading: Reading, span: SpanRecord) -> Iterator[str]:
    arguments = reading.payload(span, "gen_ai.tool.call.arguments")
    yield from _said(f"call {tool_title(span)}", _compact(arguments))
    seen = reading.payload(span, "toolloop.result.text")
    result = reading.payload(span, "gen_ai.tool.call.result") if seen is None else seen
    cut = ""
    if span.attributes.get("toolloop.truncated"):
        cut = f", cut from {integer(span, 'toolloop.chars')} characters"
    if span.end_ns is None or result is not None:
        yield from _said(f"result {tool_title(span)} ({outcome_of(span)}{cut})", result or "")


def _message(message: object) -> Iterator[str]:
    """A message of the conversation before."""
    if not isinstance(message, dict):
        yield "[a message that is no longer stored]"
        return
    role = str(message.get("role", ""))
    yield from _said(role, content_text(message.get("content")))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield from _said(f"call {function.get('name')}", _compact(function.get("arguments")))


def _said(role: str, value: object) -> Iterator[str]:
    """The line of a role; further lines of its text are indented."""
    said = value if isinstance(value, str) else "" if value is None else _compact(value)
    if said or role.startswith(("call", "result")):
        yield f"{role}: {said}".rstrip().replace("\n", "\n    ")


def _compact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
