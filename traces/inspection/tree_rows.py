"""The rows of the tree: one for a span, one for a window of turns.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.inspection.formats import clauses, count, duration, short_count
from traces.inspection.links import span_href
from traces.inspection.marks import kind_view
from traces.inspection.reading import Reading, is_failed, is_stop, text
from traces.inspection.row_bars import row_bars, stretch_bars
from traces.inspection.row_texts import (
    row_argument,
    row_note,
    row_state,
    row_time,
    row_title,
    row_tokens,
)
from traces.inspection.view_models import RowView
from traces.inspection.windows import Item, Window
from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext
from traces.records import SpanRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands: ``level``, ``position`` and ``size`` as ARIA has them; ``rows``,
    ``errors`` and ``tokens`` count what is below, ``is_folded`` tells that it was left out."""

    item: Item
    parent: str
    level: int
    position: int
    size: int
    is_folded: bool
    rows: int
    errors: int
    tokens: int
    has_stop: bool


def row_view(reading: Reading, place: Place, *, sentence: str = "") -> RowView:
    """The row of a place; ``sentence`` is the id of the sentence that belongs to it."""
    if isinstance(place.item, Window):
        return _window_row(reading, place.item, place)
    return _span_row(reading, place.item, place, sentence)


def _span_row(reading: Reading, span: SpanRecord, place: Place, sentence: str) -> RowView:
    kind, state = kind_view(span.kind), row_state(reading, span)
    title, argument = row_title(reading, span), row_argument(reading, span)
    time, note = row_time(reading, span), row_note(reading, span)
    tokens, is_estimated = row_tokens(span, place.tokens)
    is_orphan = span.id in reading.orphans
    return RowView(
        id=span.id,
        parent="" if is_orphan else place.parent,
        level=place.level,
        set_size=place.size,
        position=place.position,
        has_children=place.rows > 0,
        kind=kind,
        title=title,
        argument=argument,
        argument_is_bad=text(span, "toolloop.outcome") == "invalid_arguments",
        note=clauses([note, _("its parent is missing")]) if is_orphan else note,
        state=state,
        is_bad=is_failed(span),
        is_stop=is_stop(span),
        is_running=span.end_ns is None,
        is_orphan=is_orphan,
        time=time,
        start_ms=(span.start_ns - reading.start_ns) / 1e6,
        duration_ms=reading.length_of(span) / 1e6,
        tokens="" if tokens is None else short_count(tokens),
        token_count=tokens,
        tokens_estimated=is_estimated,
        bars=row_bars(reading, span),
        turn=span.turn,
        run=span.run,
        href=span_href(span),
        label=clauses(
            [f"{title} {argument}".strip(), kind.word, state.word if state else "", time]
        ),
        sentence=sentence,
        hidden=place.rows if place.is_folded else 0,
        hidden_text=_hidden_text(place) if place.is_folded else "",
        hidden_errors=place.errors if place.is_folded else 0,
        hides_stop=place.is_folded and place.has_stop,
        order=span.position,
    )


def _window_row(reading: Reading, window: Window, place: Place) -> RowView:
    first, last = window.first, window.last
    end = max(reading.end_of(span) for span in window.spans)
    title = _("Turns %(first)s to %(last)s") % {"first": first.turn, "last": last.turn}
    spans = ngettext("%(n)s span", "%(n)s spans", place.rows) % {"n": count(place.rows)}
    time = duration(end - first.start_ns)
    return RowView(
        id=window.id,
        parent=place.parent,
        level=place.level,
        set_size=place.size,
        position=place.position,
        has_children=True,
        kind=kind_view("turn"),
        title=title,
        argument="",
        argument_is_bad=False,
        note=clauses([spans, _errors_text(place.errors)]),
        state=None,
        is_bad=False,
        is_stop=False,
        is_running=False,
        is_orphan=False,
        time=time,
        start_ms=(first.start_ns - reading.start_ns) / 1e6,
        duration_ms=(end - first.start_ns) / 1e6,
        tokens=short_count(place.tokens) if place.tokens else "",
        token_count=place.tokens or None,
        tokens_estimated=False,
        bars=stretch_bars(reading, first.start_ns, end),
        turn="",
        run=first.run,
        href=span_href(first),
        label=clauses([title, spans, _errors_text(place.errors), time]),
        hidden=place.rows if place.is_folded else 0,
        hidden_errors=place.errors if place.is_folded else 0,
        hides_stop=place.is_folded and place.has_stop,
        is_window=True,
        order=first.position,
    )


def _hidden_text(place: Place) -> str:
    more = ngettext("%(n)s row more", "%(n)s rows more", place.rows) % {"n": count(place.rows)}
    return clauses([more, _errors_text(place.errors)])


def _errors_text(errors: int) -> str:
    words = ngettext("%(n)d error", "%(n)d errors", errors)
    return words % {"n": errors} if errors else ""
