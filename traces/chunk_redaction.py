"""Secrets that a provider streamed in pieces, taken out of what went over the wire.

Place in the house: ``traces``, pure. No chunk alone looks like a secret; the texts that they make
together do. Such a text stands, redacted, in its first piece, and its other pieces are empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from typing import Any

CUT = "[cut off here; not shown, as it may hold part of a secret]"

Place = tuple[str, ...]
"""Where a text grows: keys on the way, and the index of a choice or call."""

Piece = tuple[Any, Any]
"""A container and the key or index of a text in it."""


def without_split_secrets(report: object, redact: Callable[[str], str]) -> object:
    """The report of an exchange; ``redact`` takes secrets out of one text."""
    chunks = report.get("chunks") if isinstance(report, dict) else None
    if not isinstance(report, dict) or not isinstance(chunks, list):
        return report
    values = [_parsed(text) for _, text in chunks]
    texts: dict[Place, list[tuple[int, Piece]]] = {}
    for number, value in enumerate(values):
        for place, piece in _texts(value, ()):
            texts.setdefault(place, []).append((number, piece))
    changed = {
        number
        for pieces in texts.values()
        if len(pieces) > 1
        for number in _redact_pieces(pieces, redact)
    }
    kept = [
        [at, _written(text, value, is_changed=number in changed)]
        for number, ((at, text), value) in enumerate(zip(chunks, values, strict=True))
    ]
    return {**report, "chunks": kept}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(text: str, value: object, *, is_changed: bool) -> str:
    if is_changed:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CUT if value is None and text.startswith("{") else text


def _texts(value: object, place: Place) -> Iterator[tuple[Place, Piece]]:
    """Every text of a chunk with its place; items of a list are told apart by their ``index``."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _text_or_more(value, key, item, (*place, str(key)))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            index = item.get("index", position) if isinstance(item, dict) else position
            yield from _text_or_more(value, position, item, (*place, str(index)))


def _text_or_more(
    container: object, key: object, item: object, place: Place
) -> Iterator[tuple[Place, Piece]]:
    if isinstance(item, str):
        yield place, (container, key)
    else:
        yield from _texts(item, place)


def _redact_pieces(pieces: list[tuple[int, Piece]], redact: Callable[[str], str]) -> Iterator[int]:
    """Redact a text that grew over several chunks; the numbers of those that change."""
    whole = "".join(container[key] for _, (container, key) in pieces)
    shown = redact(whole)
    if shown == whole:
        return
    for place, (number, (container, key)) in enumerate(pieces):
        _set(container, key, "" if place else shown)
        yield number


def _set(container: MutableMapping[Any, Any] | MutableSequence[Any], key: Any, text: str) -> None:
    container[key] = text
