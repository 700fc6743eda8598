"""What stands in a transcript, as values. Pure.

Place in the house: ``agents.transcripts``, at the bottom.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue

FORMAT = "toolloop-conversation"
VERSION = 1

PAGE_BYTES = 10_000_000
"""The largest file that is taken from a page."""

FILE_BYTES = 200_000_000
"""The largest file that is taken at all."""

LINE_BYTES = 16_000_000
MOST_LINES = 200_000
MOST_DEPTH = 60
"""Levels of nested lists and objects in a line."""


class TranscriptRefused(ValueError):
    """Raised when a file cannot be imported: nothing of it is. ``line`` counts from 1; 0 stands for
    the file as a whole. The text says what was expected and what came, in the reader's language.
    """

    def __init__(self, line: int, told: str) -> None:
        super().__init__(
            _("Line %(line)d: %(told)s") % {"line": line, "told": told} if line else told
        )
        self.line = line
        self.told = told


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRecord:
    """A picture or sound of a result."""

    position: int
    kind: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """One message. ``line`` is where it stands; ids are those of the file, ``""`` for none.

    ``tool_calls`` have their keys; a tool message answers the call ``call_key`` of the assistant
    message above it.
    """

    line: int
    id: str
    parent: str
    run: str
    role: str
    content: JsonValue
    tool_calls: tuple[JsonObject, ...]
    tool_call_id: str
    call_key: str
    outcome: str
    duration_ms: float | None
    details: JsonObject
    extra: JsonObject
    provider: str
    turn: str
    level: int | None
    is_aborted: bool
    created_at: datetime | None
    attachments: tuple[AttachmentRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run, which has ended. ``trace`` binds a run and its child runs together;
    ``limits`` are numbers by the names of limits."""

    line: int
    id: str
    parent_run: str
    message: str
    answer: str
    trace: str
    assistant: str
    model: str
    limits: JsonObject
    status: str
    stop_reason: str
    level: int | None
    error: str
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    created_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    """One conversation with its runs and messages, parents before children. ``leaf`` is the message
    that ends the path which is shown."""

    line: int
    title: str
    assistant: str
    is_pinned: bool
    leaf: str
    created_at: datetime | None
    updated_at: datetime | None
    runs: tuple[RunRecord, ...] = ()
    messages: tuple[MessageRecord, ...] = ()
