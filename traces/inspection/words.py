"""Translations that are looked up once: a page of a large trace says the same words very often.

Place in the house: ``traces.inspection``, at the bottom. Same names and meaning as in
``django.utils.translation``; looking a text up there takes ten times as long.
"""

from __future__ import annotations

from functools import lru_cache

from django.utils import translation
from django.utils.translation import get_language


def gettext(text: str) -> str:
    """The text in the language that is active."""
    return _found(get_language(), text)


def ngettext(singular: str, plural: str, number: int) -> str:
    """The form for a number in the language that is active; the number is not put in."""
    return _found_for(get_language(), singular, plural, number)


# The language is a part of the key; the translation itself asks for the one that is active.
@lru_cache(maxsize=2000)
def _found(language: str | None, text: str) -> str:
    return translation.gettext(text)


@lru_cache(maxsize=4000)
def _found_for(language: str | None, singular: str, plural: str, number: int) -> str:
    return translation.ngettext(singular, plural, number)
