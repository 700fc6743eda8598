"""Large traces as rows: many turns with a request and calls each, some of which failed."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Collection

from tests.traces.events import MS, START_NS
from traces.records import Payload, SpanRecord, TraceRecord
from traces.storage import TraceStorage

CALLS = 3
SPANS_PER_TURN = CALLS + 2


def span_id(turn: int, place: int = 0, *, trace: str = "large") -> str:
    """The id of a turn, or of what stands below it: 1 is the request, then its calls."""
    own = "0000" if trace == "large" else hashlib.sha256(trace.encode()).hexdigest()[:4]
    return f"{own}{turn:08x}{place:04x}"


def large_trace(
    turns: int, *, name: str = "large", failed: Collection[int] = (), is_running: bool = False
) -> tuple[TraceRecord, list[SpanRecord]]:
    """A run of so many turns of 100 ms: one request of 40 ms, then three calls of 20 ms. In the
    turns ``failed`` the last call failed. Of a running trace the last turn is open."""
    end = None if is_running else START_NS + turns * 100 * MS
    trace = TraceRecord(
        id=name, run=f"run-{name}", conversation="", assistant="a", assistant_name="Assistant",
        user="1", message=f"{turns} turns", start_ns=START_NS, end_ns=end, turns=turns,
        status="running" if is_running else "completed", tool_calls=turns * CALLS,
        stop_reason="" if is_running else "answered", level=None if is_running else 1,
    )  # fmt: skip
    spans = [_span(trace, "root" + name[:12], "", "agent", "Assistant", "", 0, turns * 100, 0)]
    for turn in range(turns):
        spans += _turn(trace, spans[0], turn, turn == turns - 1, turn in failed)
    if is_running:
        for span in (spans[0], spans[-SPANS_PER_TURN]):
            span.status, span.end_ns = "running", None
            span.attributes.pop("toolloop.turn.decision", None)
    return trace, spans


def stored(spans: list[SpanRecord]) -> list[SpanRecord]:
    """The spans as rows have them: payloads as hashes."""
    known: dict[int, str] = {}
    for span in spans:
        for key, value in span.attributes.items():
            if isinstance(value, Payload):
                span.attributes[key] = _hash(value)
            elif isinstance(value, tuple):
                # The next requests send the same objects again.
                span.attributes[key] = [
                    known.get(id(item)) or known.setdefault(id(item), _hash(item)) for item in value
                ]
    return spans


def _hash(payload: Payload) -> str:
    return hashlib.sha256(json.dumps(payload.value).encode()).hexdigest()


def store_large(turns: int, **options: object) -> None:
    """Store such a trace."""
    trace, spans = large_trace(turns, **options)  # type: ignore[arg-type]
    TraceStorage().write(spans, [trace], [])


def _turn(
    trace: TraceRecord, root: SpanRecord, turn: int, is_last: bool, is_failed: bool
) -> list[SpanRecord]:
    at, place, number = turn * 100, 1 + turn * SPANS_PER_TURN, str(turn)
    decision = {"toolloop.turn.decision": "answered" if is_last else "continued"}
    own = span_id(turn, trace=trace.id)
    spans = [
        _span(trace, own, root.id, "turn", f"turn {turn}", number, at, 100, place, **decision),
        _span(
            trace, span_id(turn, 1, trace=trace.id), own, "model", "chat m1", number, at, 40,
            place + 1,
            **{"gen_ai.usage.input_tokens": 100 + turn, "gen_ai.input.messages": _messages(turn)},
        ),
    ]  # fmt: skip
    for call in range(CALLS):
        bad = is_failed and call == CALLS - 1
        attributes = {
            "gen_ai.tool.name": "get", "toolloop.server": "weather",
            "toolloop.outcome": "tool_error" if bad else "ok", "toolloop.chars": 400,
            "gen_ai.tool.call.arguments": Payload(value={"city": f"Town {turn}-{call}"}),
        }  # fmt: skip
        spans.append(
            _span(
                trace, span_id(turn, 2 + call, trace=trace.id), own, "tool_call", "weather.get",
                number, at + 40 + call * 20, 20, place + 2 + call, **attributes,
            )
        )  # fmt: skip
    return spans


@functools.cache
def _message(turn: int, role: str) -> Payload:
    """A message of a turn, the same one in each request that sends it."""
    return Payload(value={"role": role, "content": f"{role} of turn {turn}"})


def _messages(turn: int) -> tuple[Payload, ...]:
    """What the request of a turn sends: the question, and an answer and results of each turn
    before."""
    before = [_message(n, role) for n in range(turn) for role in ("assistant", "tool")]
    return (_message(0, "user"), *before)


def _span(
    trace: TraceRecord, own: str, parent: str, kind: str, name: str, turn: str, at: int, ms: int,
    position: int, **attributes: object,
) -> SpanRecord:  # fmt: skip
    start = START_NS + at * MS
    return SpanRecord(
        id=own, trace=trace.id, parent=parent, run=trace.run, position=position, kind=kind,
        name=name, turn=turn, status="ok", start_ns=start, end_ns=start + ms * MS,
        attributes=attributes,
    )  # fmt: skip


def grow_large(before: int, turns: int, *, seconds: float, **options: object) -> None:
    """Store a trace that runs: ``before`` turns at once, then one after the other up to ``turns``,
    each in so many seconds."""
    for now in range(before, turns + 1):
        trace, spans = large_trace(now, is_running=True, **options)  # type: ignore[arg-type]
        fresh = spans if now == before else [spans[0], *spans[-2 * SPANS_PER_TURN :]]
        TraceStorage().write(fresh, [trace], [])
        time.sleep(seconds)
