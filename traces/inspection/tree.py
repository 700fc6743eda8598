"""The tree by turn: rows in order, with bars, and sentences between the turns.

Place in the house: ``traces.inspection``, pure. Takes time in proportion to the rows. Large traces
are folded: turns first, the rest on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.axis import axis_view
from traces.inspection.formats import clauses, count, short_count
from traces.inspection.links import span_href
from traces.inspection.marks import kind_view
from traces.inspection.reading import Reading, integer, text
from traces.inspection.row_bars import row_bars
from traces.inspection.row_texts import (
    row_argument,
    row_is_bad,
    row_note,
    row_state,
    row_time,
    row_title,
    row_tokens,
)
from traces.inspection.turn_verdicts import fallback_verdict, retry_sentence, turn_verdict
from traces.inspection.view_models import LineView, RowView, SentenceView, TreeView
from traces.records import SpanRecord

FOLD_OVER = 1500
"""Spans above which only the selected turn's rows are given with the page."""

Folds = Callable[[SpanRecord], bool]
"""Whether the rows below a span are left out."""


def tree_view(reading: Reading, *, selected: str = "") -> TreeView:
    """The whole tree; folded where it is large. What stands around ``selected`` is never folded."""
    folds: Folds = _never
    if len(reading.spans) > FOLD_OVER:
        folds = _all_turns_but(_path_to(reading, selected))
    roots = reading.children.get("", ())
    lines = tuple(_lines(reading, roots, level=1, folds=folds))
    hidden = sum(line.row.hidden for line in lines if line.row is not None)
    empty = "" if lines else _("Nothing is recorded of this run yet.")
    return TreeView(
        axis=axis_view(reading), lines=lines, spans=len(reading.spans), hidden=hidden, empty=empty
    )


def branch_lines(reading: Reading, span_id: str) -> tuple[LineView, ...]:
    """All lines below one span."""
    span = reading.by_id.get(reading.aliases.get(span_id, span_id))
    if span is None:
        return ()
    level = len(_path_to(reading, span.id))
    below = reading.below_of(span)
    return tuple(_lines(reading, below, level=level + 1, folds=_never))


def sentence_of(reading: Reading, span: SpanRecord) -> str:
    """The sentence that belongs to a span, or nothing."""
    found = _before(reading, span, 1) or _after(reading, span, 1)
    return found.text if found is not None else ""


def _never(span: SpanRecord) -> bool:
    return False


def _all_turns_but(opened: set[str]) -> Folds:
    return lambda span: span.kind in ("turn", "fallback") and span.id not in opened


def _path_to(reading: Reading, span_id: str) -> set[str]:
    """A span and all above it."""
    path: set[str] = set()
    current = reading.by_id.get(reading.aliases.get(span_id, span_id))
    while current is not None and current.id not in path:
        path.add(current.id)
        above = "" if current.id in reading.orphans else current.parent
        current = reading.by_id.get(reading.aliases.get(above, above))
    return path


def _lines(
    reading: Reading, spans: Sequence[SpanRecord], *, level: int, folds: Folds
) -> Iterator[LineView]:
    """The lines of spans and of all below them. A stack of our own: depth is no limit."""
    tokens = _tokens_below(reading)
    waiting: list[tuple[SpanRecord, int, int, int] | SentenceView] = _entries(spans, level)
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, SentenceView):
            yield LineView(sentence=entry)
            continue
        span, depth, position, size = entry
        before, after = _before(reading, span, depth), _after(reading, span, depth)
        if before is not None:
            yield LineView(sentence=before)
        hidden = _count_below(reading, span) if folds(span) else 0
        sentence = before or after
        yield LineView(
            row=_row(
                reading, span, level=depth, position=position, size=size, hidden=hidden,
                sentence=sentence.id if sentence else "", below=tokens.get(span.id, 0),
            )
        )  # fmt: skip
        if after is not None:
            waiting.append(after)
        if not hidden:
            waiting += _entries(reading.below_of(span), depth + 1)


def _entries(
    spans: Sequence[SpanRecord], level: int
) -> list[tuple[SpanRecord, int, int, int] | SentenceView]:
    """Spans as a stack, the first on top."""
    size = len(spans)
    return [(span, level, place + 1, size) for place, span in reversed(list(enumerate(spans)))]


def _row(
    reading: Reading,
    span: SpanRecord,
    *,
    level: int,
    position: int,
    size: int,
    hidden: int,
    sentence: str,
    below: int,
) -> RowView:
    kind, state = kind_view(span.kind), row_state(reading, span)
    title, argument = row_title(reading, span), row_argument(reading, span)
    time, note = row_time(reading, span), row_note(reading, span)
    tokens, is_estimated = row_tokens(span, below)
    is_orphan = span.id in reading.orphans
    more = ngettext("%(n)s row more", "%(n)s rows more", hidden) % {"n": count(hidden)}
    return RowView(
        id=span.id,
        parent="" if is_orphan else reading.aliases.get(span.parent, span.parent),
        level=level,
        set_size=size,
        position=position,
        has_children=bool(reading.below_of(span)),
        kind=kind,
        title=title,
        argument=argument,
        argument_is_bad=text(span, "toolloop.outcome") == "invalid_arguments",
        note=clauses([note, _("its parent is missing") if is_orphan else ""]),
        state=state,
        is_bad=row_is_bad(span),
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
        hidden=hidden,
        hidden_text=more if hidden else "",
    )


def _before(reading: Reading, span: SpanRecord, level: int) -> SentenceView | None:
    """The sentence before a retry."""
    if span.kind != "retry":
        return None
    return SentenceView(
        id=f"why-{span.id}",
        of=span.id,
        text=retry_sentence(reading, span),
        level=level,
        kind=kind_view("retry"),
    )


def _after(reading: Reading, span: SpanRecord, level: int) -> SentenceView | None:
    """The sentence behind a turn or a fallback."""
    if span.kind == "turn":
        verdict = turn_verdict(reading, span)
    elif span.kind == "fallback":
        verdict = fallback_verdict(reading, span)
    else:
        return None
    if verdict is None:
        return None
    return SentenceView(
        id=f"why-{span.id}",
        of=span.id,
        text=verdict.text,
        level=level,
        kind=kind_view(verdict.kind) if verdict.kind else None,
        icon="" if verdict.kind else verdict.icon,
        family=verdict.family,
    )


def _tokens_below(reading: Reading) -> Mapping[str, int]:
    """The input tokens of all requests below each span, child runs included."""
    sums: dict[str, int] = {}
    for span in reversed(reading.spans):
        own = sums.get(span.id, 0)
        if span.kind == "model":
            own += integer(span, "gen_ai.usage.input_tokens")
        parent = reading.aliases.get(span.parent, span.parent)
        if own and span.id not in reading.aliases and parent:
            sums[parent] = sums.get(parent, 0) + own
    return sums


def _count_below(reading: Reading, span: SpanRecord) -> int:
    return sum(1 for _span in reading.all_below(span, into_runs=True))
