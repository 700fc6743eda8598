"""From the messages of a run to what is really sent to a provider.

Place in the house: ``agents.loop``, pure. Here ids are made unique, a provider's rules on system
messages and ids are kept, pictures become image parts, and fields that a provider sent are replayed
to it alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.loop.arguments import ArgumentsProblem, parse_arguments
from agents.loop.messages import JsonObject, JsonValue, Message, Role, ToolCall, text_of
from agents.loop.plain_schemas import plain_tool
from agents.loop.results import NO_OUTPUT
from agents.loop.wire_ids import wire_ids

_MAX_NAME = 64
_REFUSED_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRules:
    """What a provider accepts. ``id_pattern`` is a character class with a length, or empty. With
    ``one_call_each`` the calls of one answer are sent as one answer each. ``call_fields`` are
    given to the first call of an answer where it brings none of its own. With ``plain_schemas``
    tools are offered in the keywords of ``agents.loop.plain_schemas`` alone.
    """

    provider: str
    vision: bool = False
    system_first_only: bool = False
    id_pattern: str = ""
    one_call_each: bool = False
    call_fields: JsonObject = field(default_factory=dict)
    plain_schemas: bool = False


@dataclass(slots=True)
class Wire:
    """Turns a run's messages into dictionaries; the same message gives the same object again.

    Objects are kept so that a trace can recognise what it has stored already. They are never
    changed.
    """

    rules: WireRules
    _made: dict[tuple[int, tuple[str, ...]], tuple[Message, JsonObject]] = field(
        default_factory=dict
    )
    _parts: dict[int, tuple[Message, tuple[Message, ...]]] = field(default_factory=dict)
    _tools: dict[int, tuple[JsonObject, JsonObject]] = field(default_factory=dict)

    def tools(self, definitions: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """The ``tools`` of a request body."""
        if not self.rules.plain_schemas:
            return tuple(definitions)
        for definition in definitions:
            if id(definition) not in self._tools:
                self._tools[id(definition)] = (definition, plain_tool(definition))
        return tuple(self._tools[id(definition)][1] for definition in definitions)

    def messages(self, messages: Sequence[Message]) -> tuple[JsonObject, ...]:
        """The ``messages`` of a request body. The history must be well paired already.

        Several providers refuse empty text: a message that says nothing is left out.
        """
        messages = [message for message in messages if _says_something(message)]
        if self.rules.system_first_only:
            messages = _system_first(messages)
        if self.rules.one_call_each:
            messages = self._one_call_each(messages)
        ids = wire_ids(messages, self.rules.id_pattern)
        sent: list[JsonObject] = []
        pictures: list[JsonObject] = []
        for message in messages:
            if message.role is not Role.TOOL and pictures:
                sent.extend(pictures)
                pictures = []
            sent.append(self._dictionary(message, ids))
            if message.images and self.rules.vision and message.role is Role.TOOL:
                pictures.append(self._pictures(message))
        return tuple(sent + pictures)

    def _one_call_each(self, messages: Sequence[Message]) -> list[Message]:
        """Each call right before its result, in an answer of its own."""
        spread: list[Message] = []
        waiting: dict[str, Message] = {}
        for message in messages:
            if len(message.tool_calls) > 1:
                waiting = {part.tool_calls[0].key: part for part in self._parts_of(message)}
                continue
            if message.role is Role.TOOL and message.call_key in waiting:
                spread.append(waiting.pop(message.call_key))
            spread.append(message)
        return spread

    def _parts_of(self, message: Message) -> tuple[Message, ...]:
        """The text goes with the first."""
        known = self._parts.get(id(message))
        if known is None:
            first, *others = message.tool_calls
            parts = (
                replace(message, tool_calls=(first,)),
                *(replace(message, content=None, tool_calls=(call,)) for call in others),
            )
            known = self._parts[id(message)] = (message, parts)
        return known[1]

    def _dictionary(self, message: Message, ids: dict[str, str]) -> JsonObject:
        own_ids = tuple(ids[call.key] for call in message.tool_calls)
        if message.role is Role.TOOL:
            own_ids = (ids[message.call_key],)
        known = self._made.get((id(message), own_ids))
        if known is None:
            known = (message, _to_dictionary(message, own_ids, self.rules))
            self._made[id(message), own_ids] = known
        return known[1]

    def _pictures(self, message: Message) -> JsonObject:
        known = self._made.get((id(message), ("pictures",)))
        if known is None:
            known = (message, _picture_message(message))
            self._made[id(message), ("pictures",)] = known
        return known[1]


def call_ids(messages: Sequence[Message], rules: WireRules) -> dict[str, str]:
    """How each call of the last assistant message is named to people and programs, by its key.

    The provider's own id; where it is empty or stands twice in the message, the id on the wire.
    """
    on_wire = wire_ids(messages, rules.id_pattern)
    calls = messages[-1].tool_calls
    ids = [call.id for call in calls]
    return {
        call.key: call.id if call.id.strip() and ids.count(call.id) == 1 else on_wire[call.key]
        for call in calls
    }


def _to_dictionary(message: Message, ids: tuple[str, ...], rules: WireRules) -> JsonObject:
    value: JsonObject = {"role": message.role.value, "content": _content(message, rules)}
    if message.name:
        value["name"] = message.name
    if message.role is Role.TOOL:
        value["tool_call_id"] = ids[0]
    is_own = message.provider == rules.provider or not message.provider
    if message.tool_calls:
        value["content"] = None if _is_blank(value["content"]) else value["content"]
        extras = [call.extra if is_own else {} for call in message.tool_calls]
        extras[0] = {**rules.call_fields, **extras[0]}
        value["tool_calls"] = [
            _call(call, wire_id, extra)
            for call, wire_id, extra in zip(message.tool_calls, ids, extras, strict=True)
        ]
    return {**message.extra, **value} if is_own else value


def _call(call: ToolCall, wire_id: str, extra: JsonObject) -> JsonObject:
    function: JsonObject = {
        "name": wire_name(call.name),
        "arguments": wire_arguments(call.arguments),
    }
    return {**extra, "id": wire_id, "type": "function", "function": function}


def wire_name(name: str) -> str:
    """A call's name as every provider takes it back, also where the model made one up."""
    return _REFUSED_IN_NAMES.sub("-", name)[:_MAX_NAME]


def wire_arguments(arguments: str | JsonObject) -> str:
    """Arguments as text that every provider can read again: a JSON object.

    What the model sent goes back untouched where it is a JSON object. Text that had to be repaired
    goes back repaired, unreadable text as ``{}`` (its error result quotes it): several servers
    parse the history and refuse the whole request otherwise.
    """
    if isinstance(arguments, str):
        try:
            parsed = parse_arguments(arguments)
        except ArgumentsProblem:
            return "{}"
        if _is_strict_object(arguments):
            return arguments
        arguments = parsed
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _is_strict_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _says_something(message: Message) -> bool:
    if message.role in (Role.USER, Role.TOOL) or message.tool_calls:
        return True
    return not isinstance(message.content, str | None) or not _is_blank(message.content)


def _is_blank(content: JsonValue) -> bool:
    return not content or (isinstance(content, str) and not content.strip())


def _content(message: Message, rules: WireRules) -> JsonValue:
    if not isinstance(message.content, tuple):
        if message.role is Role.TOOL and _is_blank(message.content):
            return NO_OUTPUT
        return message.content if message.content is not None else ""
    spoken = [part for part in message.content if not _is_blank(part.get("text", part))]
    parts = spoken or message.content
    if rules.vision:
        return list(parts)
    return [
        part if part.get("type") == "text" else {"type": "text", "text": f"[{part.get('type')}]"}
        for part in parts
    ]


def _picture_message(message: Message) -> JsonObject:
    """Pictures of a tool result: tool messages hold text only, so a user message shows them."""
    parts: list[JsonValue] = [
        {"type": "text", "text": f"Pictures returned by the tool call {message.tool_call_id}:"}
    ]
    parts += [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"},
        }
        for image in message.images
    ]
    return {"role": "user", "content": parts}


def _system_first(messages: Sequence[Message]) -> list[Message]:
    """One system message at the front; a correction notice goes into the failed results before
    it.
    """
    system = [m for m in messages if m.role is Role.SYSTEM and not m.is_notice]
    rest: list[Message] = []
    for message in messages:
        if message.is_notice:
            _add_notice(rest, text_of(message.content))
        elif message.role is not Role.SYSTEM:
            rest.append(message)
    if not system:
        return rest
    if len(system) == 1 and messages[0] is system[0]:
        return [system[0], *rest]
    text = "\n\n".join(text_of(message.content) for message in system)
    return [replace(system[0], content=text), *rest]


def _add_notice(messages: list[Message], notice: str) -> None:
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role is not Role.TOOL:
            return
        if message.failed:
            text = f"{text_of(message.content)}\n\n{notice}"
            messages[position] = replace(message, content=text)
