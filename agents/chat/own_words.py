"""What the engine said in a stored error, in the reader's language; others' words as they are.

Place in the house: ``agents.chat``, pure.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from agents.loop.own_words import own_words, split_hint

_STOPS = (".", "!", "?", "…", "。", "！", "？")


def own_sentences(text: str) -> str:
    """An error, with the hint behind it, on one line."""
    error, hint = split_hint(" ".join(text.split()))
    said = own_words(error, _, lambda value: value.removesuffix(".")) or error
    return followed(said, own_words(hint, _) or hint)


def followed(first: str, second: str) -> str:
    """Two sentences behind one another; either may be empty."""
    if not (first and second):
        return first or second
    if not first.endswith(_STOPS):
        first = _("%(sentence)s.") % {"sentence": first}
    return _("%(first)s %(second)s") % {"first": first, "second": second}
