"""What the list of traces shows of a run, counted once: errors, retries, where the time went, a
small turn rail.

Place in the house: ``traces``, pure. ``span_builder`` tallies a run while it goes on and stores the
sum at its end, so that the list reads no spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from traces.costs import cost_of
from traces.inspection.intervals import (
    APPROVAL,
    BACK_OFF,
    CATALOG,
    HOOKS,
    MODEL,
    TOOLS,
    Piece,
    share_out,
)
from traces.inspection.marks import NOT_FAILURES
from traces.records import SpanRecord

SHARE = 10_000
"""The whole width of a rail in the units of its segments."""

HEIGHT = 100
"""The whole height of a rail in the units of its segments."""

LEAST_HEIGHT = 22
MAX_SEGMENTS = 150
"""Segments kept of one run; of more the widest are."""

NS_PER_MS = 1_000_000

_TALLIED = frozenset({"model", "tool_call", "retry", "fallback", "hook", "turn", "policy"})
_SORTS = {"model": MODEL, "tool_call": TOOLS, "hook": HOOKS, "policy": CATALOG}

Segment = list[int | str]
"""``[kind, start, width, height, lane, lanes, is_bad]`` of one bar: kind is M, C, F, W (waiting), R
(the line of a parameter retry) or, while it is open, O; start and width are parts of ``SHARE``,
height of ``HEIGHT``; calls at once lie in ``lanes``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The numbers of one trace. ``rail`` is JSON ready: ``{"segments": [...], "model_ms",
    "tools_ms", "waiting_ms"}``; ``is_waiting`` while a person is asked; ``cost`` is ``None`` where
    no model has a price."""

    errors: int
    retries: int
    fell_back: bool
    first_token_ms: int | None
    duration_ms: int
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    is_waiting: bool
    rail: dict[str, object]
    cost: float | None = None

    def columns(self) -> dict[str, Any]:
        """What the row of a trace keeps of it, by the names of its columns, but for the numbers
        that the run itself tells."""
        return {
            "errors": self.errors,
            "retries": self.retries,
            "fell_back": self.fell_back,
            "first_token_ms": self.first_token_ms,
            "duration_ms": self.duration_ms,
            "cost": self.cost,
            "summary": self.rail,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is kept of a span."""

    kind: str
    parent: str
    turn: str
    start: int
    end: int | None
    is_bad: bool
    is_asked_again: bool
    tokens: int
    output_tokens: int
    wait: tuple[int, int | None] | None
    first_chunk: float | None
    cost: float | None = None


class Tally:
    """Counts the spans of one trace; a span noted again replaces what was noted before."""

    def __init__(self) -> None:
        self._steps: dict[str, _Step] = {}

    def note(self, spans: Iterable[SpanRecord]) -> None:
        """Take note of the newest states of spans."""
        for span in spans:
            if span.kind in _TALLIED:
                self._steps[span.id] = _step(span)

    def note_ended(self, changes: Iterable[object]) -> None:
        """Take note of the spans among these changes that have ended: all have when a run has."""
        self.note(c for c in changes if isinstance(c, SpanRecord) and c.end_ns is not None)

    def sum_up(self, start_ns: int, end_ns: int) -> RunSummary:
        """The numbers from the trace's start to its end, or to now."""
        steps = sorted(self._steps.values(), key=lambda step: step.start)
        models = [step for step in steps if step.kind == "model"]
        calls = [step for step in steps if step.kind == "tool_call"]
        turns = [int(step.turn) for step in steps if step.turn.isdigit()]
        return RunSummary(
            errors=sum(step.is_bad for step in steps),
            retries=sum(step.kind == "retry" or step.is_asked_again for step in steps),
            fell_back=any(step.kind == "fallback" for step in steps),
            first_token_ms=_first_token(models),
            duration_ms=max(end_ns - start_ns, 0) // NS_PER_MS,
            turns=max(turns, default=0),
            tool_calls=len(calls),
            input_tokens=sum(step.tokens for step in models),
            output_tokens=sum(step.output_tokens for step in models),
            is_waiting=any(step.wait and step.wait[1] is None for step in calls),
            rail=_rail(steps, start_ns, end_ns),
            cost=_cost(models),
        )


def tally_of(spans: Iterable[SpanRecord]) -> Tally:
    """The tally of stored spans."""
    tally = Tally()
    tally.note(spans)
    return tally


def _step(span: SpanRecord) -> _Step:
    attributes = span.attributes
    outcome = str(attributes.get("toolloop.outcome", ""))
    has_failed = span.status == "error" and span.kind in ("model", "hook")
    return _Step(
        kind=span.kind,
        parent=span.parent,
        turn=span.turn,
        start=span.start_ns,
        end=span.end_ns,
        is_bad=outcome not in NOT_FAILURES or has_failed,
        is_asked_again="toolloop.retry.error" in attributes,
        tokens=_whole(attributes.get("gen_ai.usage.input_tokens")),
        output_tokens=_whole(attributes.get("gen_ai.usage.output_tokens")),
        wait=_wait(span),
        first_chunk=_seconds(attributes.get("gen_ai.response.time_to_first_chunk")),
        cost=cost_of(attributes),
    )


def _cost(models: Sequence[_Step]) -> float | None:
    """The sum of what is known; ``None`` where no request has a price."""
    known = [step.cost for step in models if step.cost is not None]
    return sum(known) if known else None


def _wait(span: SpanRecord) -> tuple[int, int | None] | None:
    """From when to when something was waited for: a person, or the provider after a failure."""
    attributes = span.attributes
    delay = attributes.get("toolloop.retry.delay_ms")
    if isinstance(delay, int | float) and span.end_ns is not None:
        return span.end_ns, span.end_ns + round(delay * NS_PER_MS)
    asked = attributes.get("toolloop.approval.asked_ns")
    if not isinstance(asked, int):
        return None
    waited = attributes.get("toolloop.approval.wait_ms")
    if isinstance(waited, int | float):
        return asked, asked + round(waited * NS_PER_MS)
    return asked, span.end_ns


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _first_token(models: Sequence[_Step]) -> int | None:
    """Milliseconds from the first request to the first chunk of the first answer."""
    for step in models:
        if step.first_chunk is not None:
            since = (step.start - models[0].start) / NS_PER_MS
            return round(since + step.first_chunk * 1000)
    return None


def _rail(steps: Sequence[_Step], start_ns: int, end_ns: int) -> dict[str, object]:
    segments = list(_segments(steps, start_ns, end_ns))
    if len(segments) > MAX_SEGMENTS:
        widest = sorted(range(len(segments)), key=lambda i: -int(segments[i][2]))[:MAX_SEGMENTS]
        segments = [segments[i] for i in sorted(widest)]
    times = share_out([piece for step in steps for piece in _pieces(step, end_ns)])
    waited = sum(times.get(sort, 0) for sort in (APPROVAL, BACK_OFF, CATALOG))
    return {
        "segments": segments,
        "model_ms": times.get(MODEL, 0) // NS_PER_MS,
        "tools_ms": times.get(TOOLS, 0) // NS_PER_MS,
        "waiting_ms": waited // NS_PER_MS,
    }


def _pieces(step: _Step, end_ns: int) -> Iterator[Piece]:
    """The pieces of time of one step, as the trace's own page counts them."""
    end = end_ns if step.end is None else step.end
    sort = _SORTS.get(step.kind)
    if sort is None:
        return
    if step.wait is None:
        yield Piece(start=step.start, end=end, sort=sort)
        return
    since, until = step.wait[0], min(step.wait[1] or end_ns, end_ns)
    if step.kind == "model":
        yield Piece(start=step.start, end=end, sort=MODEL)
        yield Piece(start=since, end=until, sort=BACK_OFF)
        return
    yield Piece(start=step.start, end=since, sort=sort)
    yield Piece(start=since, end=until, sort=APPROVAL)
    yield Piece(start=until, end=end, sort=sort)


def _segments(steps: Sequence[_Step], start_ns: int, end_ns: int) -> Iterator[Segment]:
    length = max(end_ns - start_ns, 1)
    heights = _heights(steps)
    lanes = _lanes(steps, end_ns)

    def place(kind: str, step: _Step, start: int, end: int, *, is_bad: bool = False) -> Segment:
        left = min(max((start - start_ns) * SHARE // length, 0), SHARE)
        width = min(max((end - start) * SHARE // length, 20), max(SHARE - left, 20))
        lane, count = lanes.get(id(step), (0, 1))
        height = heights.get(step.turn, LEAST_HEIGHT)
        return [kind, left, width, height, lane, count, int(is_bad)]

    for step in steps:
        end = end_ns if step.end is None else step.end
        match step.kind:
            case "model" if step.turn != "F":
                kind = "O" if step.end is None else "M"
                yield place(kind, step, step.start, end, is_bad=step.is_bad)
                if step.wait is not None:
                    yield place("W", step, step.wait[0], min(step.wait[1] or end_ns, end_ns))
            case "tool_call":
                kind = "O" if step.end is None else "C"
                yield place(kind, step, step.start, end, is_bad=step.is_bad)
                if step.wait is not None:
                    yield place("W", step, step.wait[0], min(step.wait[1] or end_ns, end_ns))
            case "policy":
                yield place("W", step, step.start, end)
            case "retry":
                yield place("R", step, step.start, end)
            case "fallback":
                yield place("F", step, step.start, end)


def _heights(steps: Sequence[_Step]) -> dict[str, int]:
    """The height of each turn, by the tokens of its largest request."""
    tokens: dict[str, int] = {}
    for step in steps:
        if step.kind == "model":
            tokens[step.turn] = max(tokens.get(step.turn, 0), step.tokens)
    largest = max(tokens.values(), default=0)
    if not largest:
        return {}
    return {turn: max(HEIGHT * n // largest, LEAST_HEIGHT) for turn, n in tokens.items()}


def _lanes(steps: Sequence[_Step], end_ns: int) -> dict[int, tuple[int, int]]:
    """The lane of each call and how many lanes its answer has, by the step's ``id()``."""
    groups: dict[str, list[_Step]] = {}
    for step in steps:
        if step.kind == "tool_call":
            groups.setdefault(step.parent, []).append(step)
    found: dict[int, tuple[int, int]] = {}
    for group in groups.values():
        ends: list[int] = []
        chosen: list[int] = []
        for step in group:
            free = next((lane for lane, end in enumerate(ends) if end <= step.start), None)
            end = end_ns if step.end is None else step.end
            if free is None:
                free = len(ends)
                ends.append(end)
            ends[free] = end
            chosen.append(free)
        for step, lane in zip(group, chosen, strict=True):
            found[id(step)] = (lane, len(ends))
    return found
