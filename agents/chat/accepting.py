"""Which messages of a person are taken.

Place in the house: ``agents.chat``, pure; the socket and the page ask here.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.runs.commands import COMPACT, command_of
from agents.texts import is_blank

MAX_MESSAGE_CHARS = 200_000
"""The longest message a person may send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFault:
    """Why a message is not taken, as a code and in words."""

    code: str
    text: str


def command_fault(text: str, *, is_empty: bool) -> MessageFault | None:
    """Why a command is not carried out, ``None`` for what is none; ``is_empty`` tells that nothing
    was said since the last summary."""
    if command_of(text) == COMPACT and is_empty:
        return MessageFault(code="nothing", text=_("There is nothing to sum up here yet."))
    return None


def message_fault(text: object) -> MessageFault | None:
    """What is wrong with a message, ``None`` for a good one."""
    if not isinstance(text, str) or is_blank(text):
        return MessageFault(code="empty", text=_("A message needs text."))
    if len(text) > MAX_MESSAGE_CHARS:
        words = _("A message may have %(most)s characters, this one has %(count)s.")
        numbers = {"most": f"{MAX_MESSAGE_CHARS:,}", "count": f"{len(text):,}"}
        return MessageFault(code="too_long", text=words % numbers)
    return None
