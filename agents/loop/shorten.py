"""Cutting texts that are too long for a model, so that it knows.

Place in the house: ``agents.loop``, pure. Head and tail are kept, cuts fall on line ends where
there are any, and one line says how much is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HEAD_SHARE = 0.7
"""Part of the room that the beginning gets; the end often holds the verdict, so it gets the
rest.
"""


_MARKER = re.compile(r"\n\[\.\.\. ([\d,]{1,20}) of ([\d,]{1,20}) characters left out \.\.\.\]\n")


def shorten(text: str, max_chars: int) -> str:
    """The text in at most ``max_chars`` characters; unchanged when it fits."""
    if len(text) <= max_chars:
        return text
    before, after, total = _parts(text)
    room = max_chars - len(_marker(total, total)) - 2
    if room < 2:
        return text[: max(max_chars, 0)]
    head = _head(before, int(room * HEAD_SHARE))
    tail = _tail(after, room - len(head))
    return f"{head}\n{_marker(total - len(head) - len(tail), total)}\n{tail}"


def shorten_together(texts: Sequence[str], max_chars: int) -> list[str]:
    """Texts that together take at most ``max_chars``; the longest are cut first, down to one
    level.
    """
    if sum(len(text) for text in texts) <= max_chars:
        return list(texts)
    level = _level([len(text) for text in texts], max_chars)
    return [shorten(text, level) for text in texts]


def _level(lengths: Sequence[int], room: int) -> int:
    """The length to which the longest are cut so that all fit (water filling)."""
    left = room
    for position, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - position)
        if length > share:
            return share
        left -= length
    return max(lengths)


def _parts(text: str) -> tuple[str, str, int]:
    """Where head and tail are taken from, and the length of the whole.

    A text that was cut before keeps its first count: what is missing from the whole, not from the
    part.
    """
    for match in _MARKER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        missing, total = (int(number.replace(",", "")) for number in match.groups())
        if len(before) + len(after) + missing == total:
            return before, after, total
    return text, text, len(text)


def _marker(missing: int, total: int) -> str:
    return f"[... {missing:,} of {total:,} characters left out ...]"


def _head(text: str, size: int) -> str:
    head = text[:size]
    if len(head) == len(text):
        return head
    end = head.rfind("\n")
    return head[:end] if end >= size // 2 else head


def _tail(text: str, size: int) -> str:
    if size >= len(text):
        return text
    tail = text[len(text) - size :]
    start = tail.find("\n")
    return tail[start + 1 :] if 0 <= start <= size // 2 else tail
