"""Pieces of Markdown that stay what they are, whatever stands in them.

Place in the house: ``traces``, pure.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from traces.inspection.formats import count

_CODE = re.compile(r"(`[^`\n]+`)")
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile(r"`+")


def prose(text: str) -> str:
    """A text on one line without any markup but the code in its backticks."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def block(text: str, language: str = "", *, indent: str = "") -> str:
    """A text as it is, in a fence that is longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    lines = [f"{fence}{language}", *text.split("\n"), fence]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def shortened(text: str, limit: int) -> tuple[str, str]:
    """The beginning of a text, and a note with the length of the whole where it was cut."""
    if len(text) <= limit:
        return text, ""
    words = _("the first %(shown)s of %(whole)s characters")
    return text[:limit], words % {"shown": count(limit), "whole": count(len(text))}
