"""What the engine said in a recorded error, in the reader's language; others' words in quotes.

Place in the house: ``traces.inspection``, pure. Errors are recorded in English. Those of the house
are recognised; what a provider, a server or a tool said stays as it is.
"""

from __future__ import annotations

import re

from agents.loop import own_words
from traces.inspection.formats import LINE_CHARS, one_line
from traces.inspection.words import gettext as _

_POINTER = re.compile(r"^(/[^:\s]*): ")


def own_line(text: str, limit: int = LINE_CHARS) -> str:
    """An error on one line, in the reader's language; only what others said in it is cut."""
    said = own_words.own_words(text.strip(), _, lambda value: one_line(value, limit))
    return one_line(text, limit) if said is None else said


def own_clause(text: str, limit: int = LINE_CHARS) -> str:
    """The same without its full stop, for the middle of a sentence."""
    return own_line(text, limit).rstrip(".。")


def own_problem(text: str, limit: int = LINE_CHARS) -> str:
    """One thing that is wrong with arguments: "`/days`: expected integer, got "x""."""
    said = own_words.own_problem(text, _, lambda value: one_line(value, limit)).rstrip(".")
    return _POINTER.sub(r"`\1`: ", said)


def quoted(text: str) -> str:
    """Somebody else's words inside a sentence of ours; nothing for none."""
    return _("“%(words)s”") % {"words": text.rstrip(".。")} if text else ""
