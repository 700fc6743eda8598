"""The messages of a conversation, as the loop holds them.

Place in the house: the bottom of ``agents.loop``. Knows nothing but the standard library. The shape
on the wire is made in ``agents.loop.wire``; hooks see and return the dictionaries of chat
completions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]


class Role(StrEnum):
    """Who speaks in a message; the four roles of chat completions."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a model asked for, exactly as it was sent.

    ``id`` is the provider's, byte for byte; it may be empty or repeated. ``name`` is the flat name.
    ``arguments`` is the raw text, or the object where a provider sent an object. ``key`` is our own
    identity of the call, ``run:turn:attempt:position``; empty until the loop has given it one.
    ``extra`` holds other fields that came with the call and are replayed to the same provider.
    """

    id: str
    name: str
    arguments: str | JsonObject
    key: str = ""
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture that a model may look at: base64 text and its MIME type."""

    data: str
    mime_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    ``content`` is text, or the content parts of chat completions (a user message with pictures). An
    assistant message may hold ``tool_calls``; a tool message answers the call ``call_key`` of the
    assistant message before it (``tool_call_id`` is that call's id as the provider sent it).
    ``provider`` names who wrote an assistant message: ``extra`` (``reasoning_content`` and the
    like) is replayed to that provider only. ``is_notice`` marks the correction notice of a
    parameter retry. ``failed`` marks a tool message whose call did not succeed. ``aborted`` marks
    an answer that was cut off while it was streamed. ``is_summary`` marks the one that stands for
    folded messages. ``context_tokens`` are what the provider counted up to and with this answer,
    ``None`` where it did not. ``stored_id`` is the store's own name, empty for what is not stored.
    """

    role: Role
    content: str | tuple[JsonObject, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    call_key: str = ""
    name: str = ""
    provider: str = ""
    extra: JsonObject = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    is_notice: bool = False
    failed: bool = False
    aborted: bool = False
    is_summary: bool = False
    context_tokens: int | None = None
    stored_id: str = ""


def text_of(content: str | tuple[JsonObject, ...] | None) -> str:
    """The text of a message's content; the text parts joined by a newline, other parts left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def message_from_dict(value: Mapping[str, JsonValue]) -> Message:
    """A message from the dictionary of chat completions, as hooks and stored prompts write them.

    Raises ``ValueError`` that says what was expected and what came.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"a message must be an object with role and content, got {value!r:.80}")
    role = value.get("role")
    if role not in list(Role):
        raise ValueError(f"role must be one of {', '.join(Role)}, got {role!r:.80}")
    known = {"role", "content", "tool_calls", "tool_call_id", "name"}
    return Message(
        role=Role(str(role)),
        content=_content_from(value.get("content")),
        tool_calls=_calls_from(value.get("tool_calls")) if role == Role.ASSISTANT else (),
        tool_call_id=str(value.get("tool_call_id") or ""),
        name=str(value.get("name") or ""),
        extra={key: item for key, item in value.items() if key not in known},
    )


def message_to_dict(message: Message) -> JsonObject:
    """The dictionary of chat completions for a hook; ids are the provider's, as stored."""
    content = message.content
    value: JsonObject = {
        "role": message.role.value,
        "content": list(content) if isinstance(content, tuple) else content,
    }
    if message.tool_calls:
        value["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        value["tool_call_id"] = message.tool_call_id
    if message.name:
        value["name"] = message.name
    return {**value, **message.extra}


def _content_from(content: JsonValue) -> str | tuple[JsonObject, ...] | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return tuple(part for part in content if isinstance(part, dict))
    raise ValueError(f"content must be text, a list of parts or null, got {content!r:.80}")


def _calls_from(calls: JsonValue) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, list):
        raise ValueError(f"tool_calls must be a list, got {calls!r:.80}")
    return tuple(_call_from(call) for call in calls)


def _call_from(call: JsonValue) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise ValueError(f"a tool call must be an object with id and function, got {call!r:.80}")
    arguments = function.get("arguments")
    if not isinstance(arguments, (str, dict)):
        arguments = "" if arguments is None else str(arguments)
    return ToolCall(
        id=str(call.get("id") or ""), name=str(function.get("name") or ""), arguments=arguments
    )
