"""The tree by turn: rows in order, with bars, and sentences between the turns.

Place in the house: ``traces.inspection``, pure. Takes time in proportion to the rows. Large traces
are folded: turns first, in windows where they are many, the rest on demand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.utils.translation import gettext as _

from traces.inspection.axis import axis_view
from traces.inspection.marks import kind_view
from traces.inspection.reading import Reading
from traces.inspection.tree_rows import Place, row_view
from traces.inspection.turn_verdicts import fallback_verdict, retry_sentence, turn_verdict
from traces.inspection.view_models import LineView, SentenceView, TreeView
from traces.inspection.windows import (
    Folds,
    Item,
    Sums,
    Window,
    below_item,
    find_item,
    folds_for,
    in_windows,
    path_to,
    sums_below,
)
from traces.records import SpanRecord


def tree_view(reading: Reading, *, selected: str = "", opened: Collection[str] = ()) -> TreeView:
    """The whole tree; folded where it is large. What stands around ``selected``, goes on or is in
    ``opened`` is never folded."""
    lines = tuple(_lines(reading, _whole(reading, selected, opened)))
    hidden = sum(line.row.hidden for line in lines if line.row is not None)
    empty = "" if lines else _("Nothing is recorded of this run yet.")
    return TreeView(
        axis=axis_view(reading), lines=lines, spans=len(reading.spans), hidden=hidden, empty=empty
    )


def shown_spans(
    reading: Reading, *, selected: str = "", opened: Collection[str] = ()
) -> list[SpanRecord]:
    """The spans that have a row in ``tree_view``; cheap."""
    roots = in_windows(reading.children.get("", ()))
    return _spans_of(reading, roots, folds_for(reading, selected, opened))


def branch_lines(reading: Reading, item_id: str, *, deep: bool = False) -> tuple[LineView, ...]:
    """The lines below one row, a span's or a window's; its turns are folded where the trace is
    large, but not where ``deep``."""
    return tuple(_lines(reading, _branch(reading, item_id, deep)))


def branch_spans(reading: Reading, item_id: str, *, deep: bool = False) -> list[SpanRecord]:
    """The spans that have a row in ``branch_lines``; cheap."""
    item = find_item(reading, item_id)
    if item is None:
        return []
    folds = _never if deep else folds_for(reading, "", ())
    return _spans_of(reading, below_item(reading, item), folds)


def sentence_of(reading: Reading, span: SpanRecord) -> str:
    """The sentence that belongs to a span, or nothing."""
    found = _before(reading, span, 1) or _after(reading, span, 1)
    return found.text if found is not None else ""


def _whole(reading: Reading, selected: str, opened: Collection[str]) -> Iterator[Place]:
    roots = in_windows(reading.children.get("", ()))
    folds = folds_for(reading, selected, opened)
    return _places(reading, roots, parent="", level=1, folds=folds)


def _branch(reading: Reading, item_id: str, deep: bool) -> Iterator[Place]:
    item = find_item(reading, item_id)
    if item is None:
        return iter(())
    folds = _never if deep else folds_for(reading, "", ())
    level = len(path_to(reading, item.id)) + 1
    return _places(reading, below_item(reading, item), parent=item.id, level=level, folds=folds)


def _spans_of(reading: Reading, items: Sequence[Item], folds: Folds) -> list[SpanRecord]:
    found: list[SpanRecord] = []
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, SpanRecord):
            found.append(item)
        if not folds(item):
            waiting += below_item(reading, item)
    return found


def _never(item: Item) -> bool:
    return False


def _places(
    reading: Reading, items: Sequence[Item], *, parent: str, level: int, folds: Folds
) -> Iterator[Place]:
    """The places of items and of all below them. A stack of our own: depth is no limit."""
    sums = sums_below(reading)
    waiting = _stacked(sums, items, parent, level, folds)
    while waiting:
        place = waiting.pop()
        yield place
        if not place.is_folded and place.rows:
            below = below_item(reading, place.item)
            waiting += _stacked(sums, below, place.item.id, place.level + 1, folds)


def _stacked(
    sums: Sums, items: Sequence[Item], parent: str, level: int, folds: Folds
) -> list[Place]:
    """Items as a stack, the first on top."""
    places = []
    for position, item in enumerate(items, 1):
        rows, errors, tokens = sums.of(item)
        places.append(
            Place(
                item=item, parent=parent, level=level, position=position, size=len(items),
                is_folded=rows > 0 and folds(item), rows=rows, errors=errors, tokens=tokens,
                has_stop=sums.has_stop(item),
            )
        )  # fmt: skip
    places.reverse()
    return places


def _lines(reading: Reading, places: Iterator[Place]) -> Iterator[LineView]:
    """The lines of places; the sentence behind a turn comes after all that is below it."""
    behind: list[SentenceView] = []
    for place in places:
        while behind and place.level <= behind[-1].level:
            yield LineView(sentence=behind.pop())
        if isinstance(place.item, Window):
            yield LineView(row=row_view(reading, place))
            continue
        before = _before(reading, place.item, place.level)
        after = _after(reading, place.item, place.level)
        if before is not None:
            yield LineView(sentence=before)
        sentence = before or after
        yield LineView(row=row_view(reading, place, sentence=sentence.id if sentence else ""))
        if after is not None:
            behind.append(after)
    while behind:
        yield LineView(sentence=behind.pop())


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
