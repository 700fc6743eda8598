"""The timeline: one lane per kind of span and per server, all bars on the shared axis.

Place in the house: ``traces.inspection``, pure. What happens at once lies in rows of its lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.axis import axis_view
from traces.inspection.formats import clauses, count, duration, pixels, place
from traces.inspection.marks import kind_view
from traces.inspection.picture_models import BlockView, LaneView, TimelineView
from traces.inspection.pictures import (
    TEXT_SHARE,
    block_label,
    drawn_extent,
    drawn_spans,
    extent,
    picture_href,
)
from traces.inspection.reading import Reading, text
from traces.inspection.row_bars import row_bars
from traces.records import SpanRecord

ROW, LANE = 18, 28
"""The pixels from one row of a lane to the next, and of a lane with one row."""

_ORDER = ("agent", "turn", "policy", "model", "tool_call", "retry", "hook", "compaction")
_KIND_OF_LANE = {"fallback": "turn"}


def timeline_view(reading: Reading, *, selected: str = "") -> TimelineView:
    """All lanes that hold something; turns first, servers in the order of their first calls."""
    spans, note = drawn_spans(reading)
    lanes: dict[tuple[int, str], list[SpanRecord]] = {}
    for span in spans:
        # The root run is as long as the axis: it would say nothing.
        if span.id != _root_id(reading):
            lanes.setdefault(_lane_of(span), []).append(span)
    ordered = sorted(lanes.items(), key=lambda lane: lane[0][0])
    return TimelineView(
        axis=axis_view(reading),
        lanes=tuple(_lane(reading, name, found, selected) for (_n, name), found in ordered),
        note=note,
    )


def _root_id(reading: Reading) -> str:
    return reading.root.id if reading.root is not None else ""


def _lane_of(span: SpanRecord) -> tuple[int, str]:
    """A lane by its rank and, for calls, its server."""
    kind = _KIND_OF_LANE.get(span.kind, span.kind)
    rank = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
    return rank, text(span, "toolloop.server") if kind == "tool_call" else ""


def _lane(reading: Reading, server: str, spans: Sequence[SpanRecord], selected: str) -> LaneView:
    kind = _KIND_OF_LANE.get(spans[0].kind, spans[0].kind)
    placed = list(_rows(reading, spans))
    rows = max(row for _span, row in placed) + 1
    taken = sum(reading.length_of(span) for span in spans)
    return LaneView(
        kind=kind_view(kind),
        title=_title(kind, server),
        note=clauses([_counted(kind, len(spans)), duration(taken)]),
        height=pixels(LANE + (rows - 1) * ROW),
        blocks=tuple(_block(reading, span, row, selected) for span, row in placed),
    )


def _title(kind: str, server: str) -> str:
    titles = {
        "agent": _("child runs"),
        "turn": _("turns"),
        "model": _("model"),
        "retry": _("parameter retries"),
        "tool_call": server or _("unknown tools"),
        "hook": _("hooks"),
        "policy": _("catalog"),
        "compaction": _("compaction"),
    }
    return titles.get(kind, kind)


def _counted(kind: str, number: int) -> str:
    if kind == "tool_call":
        words = ngettext("%(n)s call", "%(n)s calls", number)
    elif kind == "model":
        words = ngettext("%(n)s request", "%(n)s requests", number)
    else:
        words = "%(n)s"
    return words % {"n": count(number)}


def _rows(reading: Reading, spans: Iterable[SpanRecord]) -> Iterator[tuple[SpanRecord, int]]:
    """Spans in the order of time, each in the first row that is free then."""
    ends: list[float] = []
    for span in sorted(spans, key=lambda span: (span.start_ns, span.position)):
        left, right = extent(reading, span)
        row = next((i for i, end in enumerate(ends) if end <= left + 1e-9), len(ends))
        if row == len(ends):
            ends.append(right)
        ends[row] = right
        yield span, row


def _block(reading: Reading, span: SpanRecord, row: int, selected: str) -> BlockView:
    left, width = drawn_extent(reading, span)
    number = "F" if span.kind == "fallback" else span.turn
    has_number = span.kind in ("turn", "fallback") and width >= TEXT_SHARE / 3
    return BlockView(
        span=span.id,
        href=picture_href(span, "timeline"),
        label=block_label(reading, span),
        x=place(left),
        width=place(width),
        y=pixels(row * ROW),
        bars=row_bars(reading, span),
        is_selected=span.id == selected,
        text=number if has_number else "",
        text_x=place(left),
        text_width=place(width),
        text_css="rail-n",
    )
