"""JSON with comments and commas before a closing bracket, as plain JSON.

Place in the house: ``agents.bundle``. Pure. Comments become blanks, so that lines and columns in
messages stay those of the file.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")


def plain_json(text: str) -> str:
    """The text without comments and trailing commas; texts in quotes stay as they are."""
    without_comments = _PIECE.sub(_blank, text)
    return _COMMA.sub(_blank, without_comments)


def _blank(found: re.Match[str]) -> str:
    piece = found[0]
    return piece if piece.startswith('"') else _VISIBLE.sub(" ", piece)
