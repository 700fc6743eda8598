"""Texts from outside, made fit to be stored and shown.

Place in the house: ``agents``, at the bottom; pure.
"""

from __future__ import annotations

import re

from agents.loop.messages import JsonValue

HIDDEN = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that are not seen, or change the order of those that are. Joiners (U+200C, U+200D)
belong to scripts and emoji and are not among them."""

_EMPTY = re.compile(r"[\s\u034f\u115f\u1160\u17b4\u17b5\u200c\u200d\u2800\u3164\uffa0]+")


def storable(value: JsonValue) -> JsonValue:
    """The value without what databases refuse: NUL and half characters are replaced."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    return value


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return not _EMPTY.sub("", HIDDEN.sub("", text))


def show_hidden(text: str) -> str:
    """The text with hidden characters named, as ``[U+202E]``: nothing may look like another."""
    return HIDDEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def without_hidden(text: str) -> str:
    """The text without hidden characters, for names and titles."""
    return HIDDEN.sub("", text)
