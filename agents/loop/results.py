"""What a tool gave back, and what became of a call.

Place in the house: ``agents.loop``. ``ToolReply`` is what a server said; ``ToolResult`` is what the
run keeps: one per call, always. The outcome is set where the fault is known and never guessed from
text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum

from agents.loop.messages import Image, JsonObject, JsonValue, ToolCall

NO_OUTPUT = "(no output)"


class Outcome(StrEnum):
    """How a tool call ended. Stored, shown and exported under these names."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    NOT_ALLOWED = "not_allowed"
    DENIED = "denied"
    TIMEOUT = "timeout"
    SERVER_UNAVAILABLE = "server_unavailable"
    PROTOCOL_ERROR = "protocol_error"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


NOT_FAILURES = frozenset({Outcome.OK, Outcome.SKIPPED, Outcome.DENIED, Outcome.CANCELLED})
"""Outcomes that do not count as a failed call (a decision was made, nothing broke)."""


class PartKind(StrEnum):
    """The kinds of content that a tool can return."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    LINK = "link"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPart:
    """One part of a tool's content. ``data`` is base64 (image, audio, binary resource)."""

    kind: PartKind
    text: str = ""
    data: str = ""
    mime_type: str = ""
    uri: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """What came back from one execution.

    ``outcome`` is ``ok``, ``tool_error``, ``timeout``, ``server_unavailable`` or
    ``protocol_error``; ``error`` is one line for the model, empty when ok (for ``tool_error`` it
    may stay empty: the text parts speak). ``rpc_code`` is the JSON-RPC error code where there was
    one. ``structured`` is the structured content, ``None`` when there is none.
    """

    outcome: Outcome
    parts: tuple[ContentPart, ...] = ()
    structured: JsonValue = None
    error: str = ""
    rpc_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of one call.

    ``text`` is what the model gets (already cut); ``full_text`` is the whole. ``arguments`` are the
    parsed ones, ``None`` when they could not be read. ``is_kept`` tells that an earlier result of
    the same call was used again and nothing was executed. ``duration_ms`` is the execution alone.
    ``structured`` and ``parts`` are what the server sent, for the card.
    """

    call: ToolCall
    server: str
    tool: str
    outcome: Outcome
    text: str
    full_text: str = ""
    error: str = ""
    is_correctable: bool = False
    is_truncated: bool = False
    is_kept: bool = False
    arguments: JsonObject | None = None
    parts: tuple[ContentPart, ...] = ()
    structured: JsonValue = None
    duration_ms: float = 0.0
    images: tuple[Image, ...] = field(default=())

    @property
    def is_ok(self) -> bool:
        """Whether the tool did what was asked."""
        return self.outcome is Outcome.OK

    @property
    def is_failure(self) -> bool:
        """Whether something broke; skipped, denied and cancelled calls are decisions, not
        failures.
        """
        return self.outcome not in NOT_FAILURES


def reply_text(reply: ToolReply) -> str:
    """The text of a reply for the model, untouched.

    Text parts are joined by a newline; pictures, sounds and binary resources are named, never
    quoted; structured content is used only where there is no text, as compact JSON (a string is not
    quoted again); nothing at all is ``(no output)``.
    """
    lines = [_part_text(part) for part in reply.parts]
    has_text = any(part.kind is PartKind.TEXT and part.text for part in reply.parts)
    if not has_text and reply.structured is not None:
        lines.insert(0, _compact(reply.structured))
    return "\n".join(line for line in lines if line) or NO_OUTPUT


def result_images(reply: ToolReply) -> tuple[Image, ...]:
    """The pictures of a reply, for models that can see."""
    return tuple(
        Image(data=part.data, mime_type=part.mime_type)
        for part in reply.parts
        if part.kind is PartKind.IMAGE and part.data
    )


def _part_text(part: ContentPart) -> str:
    if part.kind is PartKind.TEXT or (part.kind is PartKind.RESOURCE and part.text):
        return part.text
    if part.kind is PartKind.LINK:
        return f"[link: {part.name or part.uri} {part.uri}]".replace(
            f"{part.uri} {part.uri}", part.uri
        )
    size = len(part.data) * 3 // 4
    where = f" {part.uri}" if part.uri else ""
    return f"[{part.kind.value}{where}: {part.mime_type or 'unknown type'}, {size:,} bytes]"


def _compact(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
