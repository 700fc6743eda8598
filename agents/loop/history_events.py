"""What happened to the messages of a run's conversation before they were sent.

Place in the house: ``agents.loop``; other rooms import from ``agents.loop.events``.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.loop.event_base import Event, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRepaired(Event):
    """The history was mended before a request; one note per change."""

    turn: Turn
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStarted(Event):
    """Older messages are to be folded into a summary; the requests for it follow.

    ``reason`` is ``window`` (an estimate passed the trigger), ``overflow`` (the provider refused
    the request) or ``asked`` (a person wanted it). ``messages`` is how many are folded, ``tokens``
    the estimate of the request before, ``window`` the model's, ``None`` where it is not known.
    """

    turn: Turn
    reason: str
    messages: int
    tokens: int
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(Event):
    """A summary stands for the folded messages, or ``error`` says why none could be written.

    ``through`` is the stored id of the last message that was folded, empty where it is not stored.
    ``messages_before`` and ``messages_after`` count the conversation's messages with the summary,
    ``tokens_before`` and ``tokens_after`` are estimates of the request.
    """

    turn: Turn
    reason: str
    summary: str = ""
    through: str = ""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    error: str = ""
