"""JSON as coloured pieces of text, with marks at the places that pointers name.

Place in the house: ``traces.inspection``, pure. Objects and lists that fit on a line stay on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from traces.inspection.detail_models import PieceView

WIDTH = 36
"""Characters that an object or list may have to stand on one line."""

MAX_DEPTH = 60
"""What is nested deeper is written on one line, without marks."""

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

KEY, VALUE = "key", "value"
Place = tuple[str, Path]
"""``("key", path)``: the name of a member; ``("value", path)``: what stands there."""


def json_pieces(
    value: object, marks: Mapping[Place, str], *, limit: int
) -> tuple[tuple[PieceView, ...], int]:
    """The text of a value in pieces, at most ``limit`` characters of it, and its whole length."""
    pieces = list(_write(value, (), marks, mark=""))
    whole = sum(len(piece.text) for piece in pieces)
    return tuple(_joined(_cut(pieces, limit))), whole


def text_pieces(text: str, mark_at: int | None, *, limit: int) -> tuple[PieceView, ...]:
    """A text that is no JSON; what stands at ``mark_at`` is marked, or the end of the text."""
    if mark_at is None:
        return (PieceView(text=text[:limit]),)
    start = min(mark_at, max(len(text) - 8, 0))
    end = start + 8
    parts = [(text[:start], ""), (text[start:end], "bad"), (text[end:], "")]
    pieces = [PieceView(text=part, mark=mark) for part, mark in parts if part]
    return tuple(_cut(pieces, limit))


def value_at(value: object, path: Path) -> object:
    """What stands at a path. Raises ``LookupError`` where there is nothing."""
    for step in path:
        match value:
            case dict() if step in value:
                value = value[step]
            case list() if str(step).isdecimal() and int(step) < len(value):
                value = value[int(step)]
            case _:
                raise LookupError(f"there is nothing at {path}")
    return value


def _write(
    value: object, path: Path, marks: Mapping[Place, str], *, mark: str
) -> Iterator[PieceView]:
    """The pieces of a value; a mark on it holds for all of them."""
    mark = marks.get((VALUE, path), mark)
    if not isinstance(value, dict | list) or not value or len(path) >= MAX_DEPTH:
        yield PieceView(text=_dump(value), css=_css(value), mark=mark)
        return
    inside = ["  " * (len(path) + 1), "  " * len(path)]
    is_short = bool(path) and len(_dump(value)) <= WIDTH
    opened, between, closed = (
        ("", ", ", "") if is_short else (f"\n{inside[0]}", f",\n{inside[0]}", f"\n{inside[1]}")
    )
    brackets = "{}" if isinstance(value, dict) else "[]"
    yield PieceView(text=brackets[0], mark=mark)
    yield PieceView(text=opened)
    members: Sequence[tuple[str | int, object]] = list(
        value.items() if isinstance(value, dict) else enumerate(value)
    )
    for number, (step, item) in enumerate(members):
        if number:
            yield PieceView(text=between, mark=mark if is_short else "")
        here = (*path, step)
        if isinstance(value, dict):
            key = _dump(str(step))
            yield PieceView(text=key, css="j-k", mark=marks.get((KEY, here), mark))
            yield PieceView(text=": ", mark=mark)
        yield from _write(item, here, marks, mark=mark)
    yield PieceView(text=closed)
    yield PieceView(text=brackets[1], mark=mark)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _css(value: object) -> str:
    if isinstance(value, str):
        return "j-s"
    return "" if isinstance(value, dict | list) else "j-n"


def _cut(pieces: Sequence[PieceView], limit: int) -> Iterator[PieceView]:
    left = limit
    for piece in pieces:
        if left <= 0:
            return
        text = piece.text[:left]
        left -= len(text)
        yield PieceView(text=text, css=piece.css, mark=piece.mark)


def _joined(pieces: Iterator[PieceView]) -> Iterator[PieceView]:
    """Neighbours of one look as one piece."""
    filled = (piece for piece in pieces if piece.text)
    for (css, mark), group in groupby(filled, key=lambda piece: (piece.css, piece.mark)):
        yield PieceView(text="".join(piece.text for piece in group), css=css, mark=mark)
