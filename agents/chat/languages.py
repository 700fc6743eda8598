"""In which language a conversation's page is read.

Place in the house: ``agents.chat``, memory of this process. A page is rendered in the language of
its request; what is sent to it later is rendered for no request, and asks here.
"""

from __future__ import annotations

from collections import OrderedDict

from django.conf import settings

REMEMBERED = 5_000
"""How many conversations are remembered; the ones read longest ago are forgotten first."""

_languages: OrderedDict[str, str] = OrderedDict()


def remember_language(conversation_id: str, language: str) -> None:
    """Note the language of the page that was just sent."""
    _languages[conversation_id] = language
    _languages.move_to_end(conversation_id)
    while len(_languages) > REMEMBERED:
        _languages.popitem(last=False)


def page_language(conversation_id: str) -> str:
    """The language of the page, or the site's where none was read in this process."""
    return _languages.get(conversation_id, settings.LANGUAGE_CODE)
