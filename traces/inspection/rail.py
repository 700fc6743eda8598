"""The turn rail: one block per turn, its width by time, its height by the tokens of its context.

Place in the house: ``traces.inspection``, pure. The picture is 120 pixels high, the ground at 90;
parallel calls lie in lanes, an amber line spans a parameter retry, waiting is hatched. Of many
turns there are plain blocks, of very many one for several (``rail_blocks``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.axis import share
from traces.inspection.formats import count, duration, pixels, place
from traces.inspection.intervals import approval_wait, back_off_end
from traces.inspection.links import span_href
from traces.inspection.rail_blocks import (
    MOST_BLOCKS,
    PLAIN_OVER,
    TurnSums,
    plain_blocks,
    turn_label,
    turn_sums,
)
from traces.inspection.reading import Reading, is_failed_call, text
from traces.inspection.row_bars import MIN_SHARE, bar
from traces.inspection.turn_verdicts import provider_reason
from traces.inspection.view_models import BarView, BlockView, GlyphView, RailView
from traces.records import SpanRecord

GROUND = 90.0
"""Where the blocks stand, in pixels from the top."""

WINDOW_HEIGHT = 76.0
"""The height of a whole window."""

LARGEST_HEIGHT = 56.0
"""The height of the largest request where the window is not known: marks have room above it."""

LEAST_HEIGHT = 10.0
"""The least height of a block, so that lanes can be told apart."""

GLYPH = 15.0
"""What a mark takes above its block."""

LANE_GAP = 1.5
CAP = 3.0
NEAR = 0.022
"""Marks nearer than this share of the width stand one above the other."""


def rail_view(reading: Reading, *, selected: str = "", window: int | None = None) -> RailView:
    """The rail of all turns of the trace, in order; those of child runs stand among them."""
    turns, sums = rail_spans(reading), turn_sums(reading)
    largest = max(sums.tokens.values(), default=0)
    scale = WINDOW_HEIGHT / window if window else LARGEST_HEIGHT / largest if largest else 0.0
    tops = {
        turn.id: GROUND - max(sums.tokens.get(turn.id, 0) * scale, LEAST_HEIGHT) for turn in turns
    }
    current = sums.owners.get(reading.aliases.get(selected, selected), "")
    per_block = -(-len(turns) // MOST_BLOCKS)
    is_plain = len(turns) > PLAIN_OVER
    if is_plain:
        blocks = plain_blocks(reading, turns, per_block, sums, tops, current)
    else:
        blocks = tuple(_block(reading, turn, sums, tops[turn.id], current) for turn in turns)
    cap = window or largest
    return RailView(
        blocks=blocks,
        cap=count(cap) if cap else "",
        cap_y=pixels(GROUND - (WINDOW_HEIGHT if window else LARGEST_HEIGHT) + 0.5),
        is_window=bool(window),
        label=_("Turns: width is time, height is context"),
        is_plain=is_plain,
        note=_("%(n)d turns per block") % {"n": per_block} if per_block > 1 else "",
    )


def rail_spans(reading: Reading) -> list[SpanRecord]:
    """The spans that have a block: turns and fallbacks of all runs, in order of time."""
    found = [
        span
        for span in reading.spans
        if span.kind in ("turn", "fallback") and span.id not in reading.aliases
    ]
    return sorted(found, key=lambda span: (span.start_ns, span.position))


def _block(
    reading: Reading, turn: SpanRecord, sums: TurnSums, top: float, current: str
) -> BlockView:
    tokens = sums.tokens.get(turn.id, 0)
    below = list(reading.all_below(turn))
    calls = [span for span in below if span.kind == "tool_call"]
    left = share(reading, turn.start_ns)
    width = max(share(reading, reading.end_of(turn)) - left, MIN_SHARE * 2)
    left = min(left, 1 - width)
    bars = _fallback_bars(reading, turn, top) if turn.kind == "fallback" else (
        *_turn_bars(reading, below, calls, top),
    )  # fmt: skip
    bad = [span for span in below if is_failed_call(span)]
    time = duration(reading.length_of(turn))
    return BlockView(
        id=turn.id,
        first=turn.position,
        last=turn.position,
        number="F" if turn.kind == "fallback" else turn.turn,
        label=turn_label(reading, turn, time, tokens, len(calls)),
        time=time,
        tokens=count(tokens) if tokens else "",
        href=span_href(turn),
        x=place(left),
        width=place(width),
        top=pixels(top),
        bars=bars,
        glyphs=_stacked(list(_glyphs(reading, turn, below, bad, left)), top),
        is_selected=turn.id == current,
        is_running=turn.end_ns is None,
        is_bad=bool(bad) or turn.status == "error",
    )


def _fallback_bars(reading: Reading, turn: SpanRecord, top: float) -> tuple[BarView, ...]:
    is_open = turn.end_ns is None
    return (
        bar(
            reading,
            turn.start_ns,
            reading.end_of(turn),
            look="run" if is_open else "solid",
            css="b-run kf" if is_open else "b kf",
            y=pixels(top),
            height=pixels(GROUND - top),
        ),
    )


def _turn_bars(
    reading: Reading, below: Sequence[SpanRecord], calls: Sequence[SpanRecord], top: float
) -> Iterator[BarView]:
    for span in below:
        if span.kind == "model":
            yield from _model_bars(reading, span, top)
    for span, lane, lanes in lanes_of(reading, calls):
        height = (GROUND - top - LANE_GAP * (lanes - 1)) / lanes
        yield from _call_bars(reading, span, top + lane * (height + LANE_GAP), max(height, 1.0))
    for span in below:
        if span.kind == "retry":
            end = reading.end_of(span)
            yield bar(reading, span.start_ns, end, css="b kr", y=pixels(top - 4), height="2.5")


def _model_bars(reading: Reading, span: SpanRecord, top: float) -> Iterator[BarView]:
    y, height = pixels(top), pixels(GROUND - top)
    start, end = span.start_ns, reading.end_of(span)
    is_open = span.end_ns is None
    look, css = ("run", "b-run km") if is_open else ("solid", "b km")
    yield bar(reading, start, end, look=look, css=css, y=y, height=height)
    if span.status == "error":
        yield bar(reading, start, end, look="bad", css="b-bad", y=y, height=pixels(CAP))
    until = back_off_end(reading, span)
    if until is not None and until > end:
        title = _("back-off %(time)s") % {"time": duration(until - end)}
        yield bar(reading, end, until, look="hatch", css="", y=y, height=height, title=title)


def _call_bars(reading: Reading, span: SpanRecord, top: float, height: float) -> Iterator[BarView]:
    y, tall = pixels(top), pixels(height)
    start, end = span.start_ns, reading.end_of(span)
    waited = approval_wait(reading, span)
    if waited is not None:
        title = _("waited %(time)s for a person") % {"time": duration(waited[1] - waited[0])}
        yield bar(reading, *waited, look="hatch", css="", y=y, height=tall, title=title)
        start = waited[1]
    if waited is None or span.attributes.get("toolloop.approval.allowed"):
        look, css = ("run", "b-run kc") if span.end_ns is None else ("solid", "b kc")
        yield bar(reading, start, end, look=look, css=css, y=y, height=tall)
    if is_failed_call(span):
        cap = pixels(min(CAP, height))
        yield bar(reading, start, end, look="bad", css="b-bad", y=y, height=cap)


def lanes_of(reading: Reading, spans: Sequence[SpanRecord]) -> list[tuple[SpanRecord, int, int]]:
    """Each span with its lane and how many lanes its company needs: what overlaps lies apart."""
    placed: list[tuple[SpanRecord, int, int]] = []
    company: list[int] = []
    ends: list[int] = []
    company_end = -1
    for span in sorted(spans, key=lambda span: (span.start_ns, span.position)):
        if span.start_ns >= company_end:
            company.append(1)
            ends = []
        lane = next((i for i, end in enumerate(ends) if end <= span.start_ns), len(ends))
        end = max(reading.end_of(span), span.start_ns + 1)
        if lane == len(ends):
            ends.append(end)
        else:
            ends[lane] = end
        company[-1] = max(company[-1], lane + 1)
        company_end = max(company_end, end)
        placed.append((span, lane, len(company) - 1))
    return [(span, lane, company[group]) for span, lane, group in placed]


def _glyphs(
    reading: Reading,
    turn: SpanRecord,
    below: Sequence[SpanRecord],
    bad: Sequence[SpanRecord],
    left: float,
) -> Iterator[tuple[float, str, str, str]]:
    """The marks of a block: where, letter, class, title."""
    if turn.kind == "fallback":
        yield left, "F", "kf", text(turn, "toolloop.fallback.assistant") or _("fixed text")
    if bad:
        words = ngettext("%(n)d call failed", "%(n)d calls failed", len(bad)) % {"n": len(bad)}
        yield left, "!", "bad", words
    elif turn.status == "error":
        yield left, "!", "bad", _("failed")
    for span in below:
        at = share(reading, span.start_ns)
        if span.kind == "retry":
            yield at, "R", "kr", _("parameter retry")
        elif "toolloop.retry.error" in span.attributes:
            title = _("provider retry (%(why)s)") % {"why": provider_reason(span)}
            yield at, "R", "kr", title
        elif span.kind == "compaction":
            yield at, "X", "kx", _("compaction")


def _stacked(marks: Sequence[tuple[float, str, str, str]], top: float) -> tuple[GlyphView, ...]:
    """The marks with their places; what would touch stands one above the other, twice at most."""
    views: list[GlyphView] = []
    taken: list[tuple[float, int]] = []
    for at, letter, css, title in marks:
        near = [floor for other, floor in taken if abs(other - at) < NEAR]
        floor = max(near, default=-1) + 1
        if floor > 2:
            continue
        taken.append((at, floor))
        lift = 4.0 if letter == "R" else 0.0
        is_bad = css == "bad"
        views.append(
            GlyphView(
                letter=letter,
                css="b-bad" if is_bad else f"b {css}",
                text_css="rail-g km" if is_bad else f"rail-g {css}",
                x=place(at),
                y=pixels(top - GLYPH * (floor + 1) - lift),
                title=title,
            )
        )
    return tuple(views)
