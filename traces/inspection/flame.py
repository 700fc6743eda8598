"""The flame: each span below the one that it belongs to, as wide as it is long.

Place in the house: ``traces.inspection``, pure. The axis is time, so that calls at the same moment
would cover each other: those lie in rows of their own.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import replace

from traces.inspection.axis import axis_view
from traces.inspection.formats import pixels, place
from traces.inspection.marks import kind_view
from traces.inspection.picture_models import BlockView, FlameView
from traces.inspection.pictures import (
    TEXT_SHARE,
    block_label,
    drawn_extent,
    drawn_spans,
    extent,
    picture_href,
)
from traces.inspection.reading import Reading
from traces.inspection.row_bars import bar, row_bars
from traces.inspection.row_texts import row_argument, row_title
from traces.inspection.view_models import BarView
from traces.records import SpanRecord

ROW, BLOCK = 24, 22
"""The pixels from one row to the next, and of a block."""

Taken = list[tuple[float, float]]
"""Where a row is taken, from left to right."""


def flame_view(reading: Reading, *, selected: str = "") -> FlameView:
    """All spans with their rows."""
    spans, note = drawn_spans(reading)
    placed = list(_placed(reading, spans))
    rows = max((row for _span, row in placed), default=-1) + 1
    return FlameView(
        axis=axis_view(reading),
        height=pixels(rows * ROW),
        blocks=tuple(_block(reading, span, row, selected) for span, row in placed),
        note=note,
    )


def _placed(reading: Reading, spans: Sequence[SpanRecord]) -> Iterator[tuple[SpanRecord, int]]:
    """Each span in the first row below its parent in which it covers nothing."""
    drawn = {span.id for span in spans}
    taken: list[Taken] = []
    waiting = [(span, 0) for span in reversed(reading.children.get("", ()))]
    while waiting:
        span, least = waiting.pop()
        row = least - 1
        if span.id in drawn:
            row = _free_row(taken, extent(reading, span), least)
            yield span, row
        below = reversed(reading.below_of(span))
        waiting += [(child, row + 1) for child in below]


def _free_row(taken: list[Taken], wanted: tuple[float, float], least: int) -> int:
    """The first row from ``least`` on with room; the room is taken."""
    row = least
    while row < len(taken) and not _is_free(taken[row], wanted):
        row += 1
    while row >= len(taken):
        taken.append([])
    insort(taken[row], wanted)
    return row


def _is_free(taken: Taken, wanted: tuple[float, float]) -> bool:
    left, right = wanted
    at = bisect_right(taken, wanted)
    before = taken[at - 1][1] if at else 0.0
    after = taken[at][0] if at < len(taken) else 1.0
    return before <= left + 1e-9 and right <= after + 1e-9


def _block(reading: Reading, span: SpanRecord, row: int, selected: str) -> BlockView:
    left, width = drawn_extent(reading, span)
    bars = _bars(reading, span)
    room = max(bars, key=_room, default=None)
    text = ""
    if room is not None and _room(room) >= TEXT_SHARE:
        text = f"{row_title(reading, span)} {row_argument(reading, span)}".strip()
    return BlockView(
        span=span.id,
        href=picture_href(span, "flame"),
        label=block_label(reading, span),
        x=place(left),
        width=place(width),
        y=pixels(row * ROW),
        bars=bars,
        is_selected=span.id == selected,
        text=text,
        text_x=room.x if room is not None else "",
        text_width=room.width if room is not None else "",
        text_css=f"fl-on {room.css}" if room is not None and room.look == "solid" else "fl-ink",
    )


def _bars(reading: Reading, span: SpanRecord) -> tuple[BarView, ...]:
    """The pieces of a block: as in the tree, but as high as the block."""
    css, height = kind_view(span.kind).css, pixels(BLOCK)
    if span.kind in ("agent", "turn", "retry", "fallback"):
        looks = {"agent": ("solid", "b"), "turn": ("tint", "b-tint")}
        look, ground = looks.get(span.kind, ("soft", "b-soft"))
        if span.end_ns is None:
            look, ground = "run", "b-run"
        start, end = span.start_ns, reading.end_of(span)
        return (bar(reading, start, end, look=look, css=f"{ground} {css}", y="0", height=height),)
    return tuple(
        replace(piece, y="0", height=piece.height if piece.look == "bad" else height)
        for piece in row_bars(reading, span)
    )


def _room(piece: BarView) -> float:
    """The share of the width that a text on this piece would have."""
    if piece.look in ("hatch", "bad"):
        return 0.0
    return float(piece.width.rstrip("%")) / 100
