"""Where the time of a trace went: pieces of time without overlaps, by what came first.

Place in the house: ``traces.inspection``, pure. At every moment the first of these that holds has
the time: a tool worked, a model worked, a person was waited for, a provider's back-off ran, a hook
ran, servers were asked for their tools, none of them (our own work). So parallel calls are counted
once, and waiting counts only while nothing works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from traces.inspection.formats import NS_PER_MS
from traces.inspection.reading import Reading, is_waiting, number
from traces.records import SpanRecord

TOOLS, MODEL, APPROVAL, BACK_OFF, HOOKS, CATALOG = range(6)
"""What time can go to, the strongest first."""


class Piece(NamedTuple):
    """A piece of time in nanoseconds since 1970, and what it went to."""

    start: int
    end: int
    sort: int


def time_by_sort(reading: Reading) -> dict[int, int]:
    """Nanoseconds by what they went to; ``-1`` is what is left of the whole."""
    pieces = [piece for span in reading.spans for piece in pieces_of(reading, span)]
    totals = share_out(pieces)
    whole = reading.end_ns - reading.start_ns
    totals[-1] = whole - sum(totals.values())
    return totals


def pieces_of(reading: Reading, span: SpanRecord) -> Iterator[Piece]:
    """The pieces of one span: a call without its waiting, a request with the back-off behind it."""
    start, end = span.start_ns, reading.end_of(span)
    match span.kind:
        case "tool_call":
            waited = approval_wait(reading, span)
            if waited is None:
                yield Piece(start=start, end=end, sort=TOOLS)
            else:
                yield Piece(start=start, end=waited[0], sort=TOOLS)
                yield Piece(start=waited[0], end=waited[1], sort=APPROVAL)
                yield Piece(start=waited[1], end=end, sort=TOOLS)
        case "model":
            yield Piece(start=start, end=end, sort=MODEL)
            until = back_off_end(reading, span)
            if until is not None:
                yield Piece(start=end, end=until, sort=BACK_OFF)
        case "hook":
            yield Piece(start=start, end=end, sort=HOOKS)
        case "policy":
            yield Piece(start=start, end=end, sort=CATALOG)


def approval_wait(reading: Reading, span: SpanRecord) -> tuple[int, int] | None:
    """From when to when a call waited for a person; ``None`` where it did not."""
    asked = span.attributes.get("toolloop.approval.asked_ns")
    waited = span.attributes.get("toolloop.approval.wait_ms")
    end = reading.end_of(span)
    if isinstance(asked, int):
        start = min(max(asked, span.start_ns), end)
        if is_waiting(span) or waited is None:
            return start, end
    elif waited is None:
        return None
    else:
        start = span.start_ns
    return start, min(start + round(number(waited) * NS_PER_MS), end)


def back_off_end(reading: Reading, span: SpanRecord) -> int | None:
    """Until when the provider was left alone after a failed request; ``None`` where it was not."""
    delay = number(span.attributes.get("toolloop.retry.delay_ms"))
    if not delay or span.end_ns is None:
        return None
    return min(span.end_ns + round(delay * NS_PER_MS), reading.end_ns)


def share_out(pieces: Sequence[Piece]) -> dict[int, int]:
    """Nanoseconds by sort, each moment counted once for the strongest sort that holds."""
    edges = [(start, 1, sort) for start, end, sort in pieces if end > start]
    edges += [(end, -1, sort) for start, end, sort in pieces if end > start]
    edges.sort()
    going_on = [0] * (CATALOG + 1)
    # One bit for each sort that holds; the lowest one is the strongest.
    holding, totals, before = 0, dict.fromkeys(range(CATALOG + 1), 0), 0
    for at, change, sort in edges:
        if holding and at > before:
            totals[(holding & -holding).bit_length() - 1] += at - before
        going_on[sort] += change
        holding = holding | 1 << sort if going_on[sort] else holding & ~(1 << sort)
        before = at
    return {sort: ns for sort, ns in totals.items() if ns}
