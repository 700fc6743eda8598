"""Long rows of turns in windows, and which parts of a large tree are folded.

Place in the house: ``traces.inspection``, pure. A window holds fifty turns with what stands
between them; it is a row of the tree of its own, though no span.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from traces.inspection.reading import Reading, integer
from traces.records import SpanRecord

FOLD_OVER = 300
"""Spans above which only the rows around the selected span are given with the page."""

WINDOW_OVER = 200
"""Turns below one span above which they stand in windows."""

WINDOW = 50
"""The turns of a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Turns in a row with what stands between them; ``first`` and ``last`` are turns.

    ``id`` is no span's: it is one character longer than the id of the first turn.
    """

    spans: tuple[SpanRecord, ...]
    first: SpanRecord
    last: SpanRecord

    @property
    def id(self) -> str:
        """The window's own id."""
        return f"w{self.first.id}"


Item = SpanRecord | Window
"""What has a row."""

Folds = Callable[[Item], bool]
"""Whether the rows below an item are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What stands below each span id, child runs included: rows, failures among them, and the
    input tokens of all requests. Ids without any are missing. ``with_stops`` are those below which
    something failed, was denied or skipped, ``stops`` those spans themselves."""

    rows: dict[str, int]
    errors: dict[str, int]
    tokens: dict[str, int]
    with_stops: set[str]
    stops: frozenset[str]

    def has_stop(self, item: Item) -> bool:
        """Whether something below an item did not do its work."""
        if isinstance(item, SpanRecord):
            return item.id in self.with_stops
        return any(span.id in self.stops or span.id in self.with_stops for span in item.spans)

    def of(self, item: Item) -> tuple[int, int, int]:
        """Rows, failures and tokens below an item."""
        if isinstance(item, SpanRecord):
            key = item.id
            return self.rows.get(key, 0), self.errors.get(key, 0), self.tokens.get(key, 0)
        parts = [self.of(span) for span in item.spans]
        rows, errors, tokens = (sum(column) for column in zip(*parts, strict=True))
        return rows + len(item.spans), errors, tokens


def in_windows(spans: Sequence[SpanRecord]) -> tuple[Item, ...]:
    """The spans below one, their turns in windows where they are many.

    What stands before the first turn and behind the last one stays outside, as does a turn that
    would be alone in its window.
    """
    turns = [place for place, span in enumerate(spans) if span.kind == "turn"]
    if len(turns) <= WINDOW_OVER:
        return tuple(spans)
    items: list[Item] = list(spans[: turns[0]])
    end = turns[0]
    for at in range(0, len(turns), WINDOW):
        chunk = turns[at : at + WINDOW]
        if len(chunk) == 1:
            break
        is_last = at + WINDOW >= len(turns)
        end = chunk[-1] + 1 if is_last else turns[at + WINDOW]
        first, last = spans[chunk[0]], spans[chunk[-1]]
        items.append(Window(spans=tuple(spans[chunk[0] : end]), first=first, last=last))
    return (*items, *spans[end:])


def below_item(reading: Reading, item: Item) -> tuple[Item, ...]:
    """What has a row right below a row."""
    return item.spans if isinstance(item, Window) else in_windows(reading.below_of(item))


def find_item(reading: Reading, item_id: str) -> Item | None:
    """A span or a window by its id."""
    span = reading.by_id.get(reading.aliases.get(item_id, item_id))
    if span is not None or not item_id.startswith("w"):
        return span
    first = reading.by_id.get(item_id[1:])
    path = path_to(reading, first.id) if first is not None else ()
    return path[-2] if len(path) > 1 and path[-2].id == item_id else None


def path_to(reading: Reading, item_id: str) -> tuple[Item, ...]:
    """A row and all above it, from the root down; empty for an unknown id."""
    if item_id.startswith("w") and item_id not in reading.by_id:
        return path_to(reading, item_id[1:])[:-1]
    path: list[Item] = []
    seen: set[str] = set()
    current = reading.by_id.get(reading.aliases.get(item_id, item_id))
    while current is not None and current.id not in seen:
        seen.add(current.id)
        path.append(current)
        above = "" if current.id in reading.orphans else current.parent
        above = reading.aliases.get(above, above)
        window = _window_around(reading, above, current)
        if window is not None:
            path.append(window)
        current = reading.by_id.get(above)
    return tuple(reversed(path))


def _window_around(reading: Reading, parent: str, span: SpanRecord) -> Window | None:
    for item in in_windows(reading.children.get(parent, ())):
        if isinstance(item, Window) and any(other is span for other in item.spans):
            return item
    return None


def folds_for(reading: Reading, selected: str, opened: Collection[str]) -> Folds:
    """What is folded: nothing in a small trace; in a large one turns, fallbacks and windows.

    What stands around ``selected``, goes on, or was opened (``opened`` holds ids) is not.
    """
    if len(reading.spans) <= FOLD_OVER:
        return lambda item: False
    kept = {item.id for item in path_to(reading, selected)} | set(opened)

    def folds(item: Item) -> bool:
        if isinstance(item, Window):
            is_going_on = item.last.end_ns is None
            is_kept = item.id in kept or any(span.id in kept for span in item.spans)
            return not is_kept and not is_going_on
        is_foldable = item.kind in ("turn", "fallback") and item.end_ns is not None
        return is_foldable and item.id not in kept

    return folds


def sums_below(reading: Reading) -> Sums:
    """The sums of the whole trace, in one pass."""
    sums = Sums(rows={}, errors={}, tokens={}, with_stops=set(), stops=reading.stops)
    failed = {span.id for span in reading.failed}
    for span, parent in reversed(list(_from_the_top(reading))):
        rows, errors, tokens = sums.of(span)
        sums.rows[parent] = sums.rows.get(parent, 0) + rows + 1
        errors += span.id in failed
        if span.id in sums.stops or span.id in sums.with_stops:
            sums.with_stops.add(parent)
        if errors:
            sums.errors[parent] = sums.errors.get(parent, 0) + errors
        if span.kind == "model":
            tokens += integer(span, "gen_ai.usage.input_tokens")
        if tokens:
            sums.tokens[parent] = sums.tokens.get(parent, 0) + tokens
    return sums


def _from_the_top(reading: Reading) -> Iterator[tuple[SpanRecord, str]]:
    """All spans with the id they stand below, parents first."""
    children = reading.children
    waiting = [(span, "") for span in children.get("", ())]
    while waiting:
        span, parent = waiting.pop()
        yield span, parent
        waiting += [(found, span.id) for found in children.get(span.id, ())]
