"""A note cut into pieces that can be found, and texts as words for an index.

Place in the house: ``agents.memory``, pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

PIECE_CHARS = 700
"""About how long a piece is: some sentences, or one part under a heading."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKENS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_HEADING = re.compile(r"#{1,6} ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Lines of a note, counted from 1, both ends included; ``heading`` is what they stand under."""

    from_line: int
    to_line: int
    text: str
    heading: str = ""

    @property
    def words(self) -> list[str]:
        """The piece for the index, with its heading."""
        return words_of(f"{self.heading}\n{self.text}")


def pieces_of(text: str) -> list[Piece]:
    """The pieces of a Markdown text: a heading begins one, so does a long text's next paragraph."""
    lines = text.split("\n")
    found: list[Piece] = []
    start, size, heading = 0, 0, ""
    for place, line in enumerate([*lines, "# "]):
        is_heading = _HEADING.match(line) is not None
        is_full = size >= PIECE_CHARS and (not line.strip() or size >= 2 * PIECE_CHARS)
        if is_heading or is_full:
            body = "\n".join(lines[start:place])
            if body.strip():
                found.append(Piece(from_line=start + 1, to_line=place, text=body, heading=heading))
            start, size = place, 0
        if is_heading:
            heading = line.lstrip("# ").strip()
        size += len(line) + 1
    return found


def words_of(text: str) -> list[str]:
    """The words of a text, in ASCII or letters only. Chinese, Japanese and Korean characters come
    as overlapping pairs, a lone one by itself: no index splits such sentences into words."""
    return [word for token in _TOKENS.findall(text) for word in _words(token)]


def _words(token: str) -> Iterator[str]:
    if not _IS_CJK.match(token):
        yield token.lower()
    elif len(token) == 1:
        yield _coded(token)
    else:
        for first, second in pairwise(token):
            yield _coded(first + second)


def _coded(characters: str) -> str:
    """Characters as a word that every index takes for one and no stemmer shortens."""
    return "c" + "".join(f"{ord(character):x}" for character in characters) + "q"
