"""What timeline and flame have in common: which spans are drawn, rows without overlaps, names.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.axis import share
from traces.inspection.formats import clauses, count, duration
from traces.inspection.intervals import back_off_end
from traces.inspection.marks import kind_view
from traces.inspection.reading import Reading
from traces.inspection.row_bars import MIN_SHARE
from traces.inspection.row_texts import row_argument, row_state, row_time, row_title, turn_title
from traces.records import SpanRecord

MAX_DRAWN = 3000
"""Spans in one picture; of more the shortest are left out."""

TEXT_SHARE = 0.03
"""The least share of the width that has room for a name."""


def drawn_spans(reading: Reading) -> tuple[list[SpanRecord], str]:
    """The spans of a picture in order, and a sentence on those that are left out.

    A span lasts at least as long as what stands below it, so that nothing drawn lacks its parent.
    """
    spans = [span for span in reading.spans if span.id not in reading.aliases]
    hidden = len(spans) - MAX_DRAWN
    if hidden <= 0:
        return spans, ""
    by_length = sorted(spans, key=lambda span: (-reading.length_of(span), span.position))
    kept = {span.id for span in by_length[:MAX_DRAWN]}
    words = ngettext(
        "The shortest of %(all)s spans is not drawn: %(n)s of at most %(time)s.",
        "The shortest of %(all)s spans are not drawn: %(n)s of at most %(time)s.",
        hidden,
    )
    longest = reading.length_of(by_length[MAX_DRAWN])
    note = words % {"all": count(len(spans)), "n": count(hidden), "time": duration(longest)}
    return [span for span in spans if span.id in kept], note


def extent(reading: Reading, span: SpanRecord) -> tuple[float, float]:
    """From where to where a span reaches on the axis, back-off included, as shares of 1."""
    end = max(reading.end_of(span), back_off_end(reading, span) or 0)
    return share(reading, span.start_ns), share(reading, end)


def drawn_extent(reading: Reading, span: SpanRecord) -> tuple[float, float]:
    """The same for what is drawn: where it begins and how wide it is, so that it can be seen."""
    left, right = extent(reading, span)
    width = max(right - left, MIN_SHARE)
    return min(left, 1 - width), width


def picture_href(span: SpanRecord, view: str) -> str:
    """The address that selects a span and stays in the picture."""
    query = {"view": view, "turn": span.turn, "span": span.id}
    return "?" + urlencode({name: value for name, value in query.items() if value})


def block_label(reading: Reading, span: SpanRecord) -> str:
    """What a span is called for those who do not see it: what, where, how long, how it went."""
    state = row_state(reading, span)
    since = duration(span.start_ns - reading.start_ns)
    is_in_turn = span.turn and span.kind != "turn"
    return clauses(
        [
            f"{row_title(reading, span)} {row_argument(reading, span)}".strip(),
            kind_view(span.kind).word,
            turn_title(span.turn) if is_in_turn else "",
            row_time(reading, span),
            _("%(time)s after the start") % {"time": since},
            state.word if state is not None else "",
        ]
    )
