"""Repairing a history, so that every request is well paired whatever a crash or a hook left behind.

Place in the house: ``agents.loop``, pure. Called before every request; what it changed is noted in
the trace. Pairs are matched within one turn: an assistant message and what follows it up to the
next assistant message with calls, because ids repeat in the wild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.loop.messages import Message, Role, ToolCall, text_of

INTERRUPTED_TEXT = (
    "Error: this call was interrupted before its result was stored. "
    "It may or may not have had an effect."
)


def repair_history(messages: Sequence[Message]) -> tuple[list[Message], list[str]]:
    """The messages, well paired, and a note for each change. A good history comes back as it is."""
    notes: list[str] = []
    repaired: list[Message] = []
    keys: set[str] = set()
    for head, tail in _segments(messages):
        if head is None:
            repaired += _without_results(tail, notes)
            continue
        opened = _clean_call_message(head, keys, notes)
        if opened is not None and opened.tool_calls:
            results, others = _answers(opened, tail, notes)
            repaired += [opened, *results, *others]
        else:
            repaired += [opened] if opened is not None else []
            repaired += _without_results(tail, notes)
    return repaired, notes


def interrupted_result(call: ToolCall) -> Message:
    """The tool message of a call whose result nobody knows."""
    return Message(
        role=Role.TOOL,
        content=INTERRUPTED_TEXT,
        tool_call_id=call.id,
        call_key=call.key,
        failed=True,
    )


def _segments(
    messages: Sequence[Message],
) -> Iterator[tuple[Message | None, list[Message]]]:
    """Each assistant message with calls, and all that follows up to the next one."""
    head: Message | None = None
    tail: list[Message] = []
    for message in messages:
        if message.role is Role.ASSISTANT and (message.tool_calls or message.aborted):
            if head is not None or tail:
                yield head, tail
            head, tail = message, []
        else:
            tail.append(message)
    if head is not None or tail:
        yield head, tail


def _clean_call_message(message: Message, keys: set[str], notes: list[str]) -> Message | None:
    """The message with the calls that can stand; ``None`` when nothing of it is left.

    Each call has a key that no other one of the history has; ``keys`` are those so far.
    """
    calls = [call for call in message.tool_calls if call.name.strip()]
    if message.aborted and message.tool_calls:
        notes.append(f"dropped {len(message.tool_calls)} half-streamed calls of an aborted answer")
        calls = []
    elif len(calls) < len(message.tool_calls):
        notes.append(f"dropped {len(message.tool_calls) - len(calls)} calls without a name")
    if not calls and not text_of(message.content).strip():
        if not message.tool_calls:
            notes.append("dropped an answer that was cut off before its first word")
        return None
    keyed = tuple(_with_own_key(call, keys) for call in calls)
    if keyed == message.tool_calls:
        return message
    return replace(message, tool_calls=keyed)


def _with_own_key(call: ToolCall, keys: set[str]) -> ToolCall:
    key = call.key
    while not key or key in keys:
        key = f"history:{len(keys)}" if not key.startswith("history:") else f"{key}+"
    keys.add(key)
    return call if key == call.key else replace(call, key=key)


def _answers(
    opened: Message, tail: Sequence[Message], notes: list[str]
) -> tuple[list[Message], list[Message]]:
    """One result per call in the order of the calls, and the messages that are no results.

    Results are stored as they come: another order among them is no fault.
    """
    found: dict[str, Message] = {}
    others: list[Message] = []
    is_apart = False
    for message in tail:
        if message.role is not Role.TOOL:
            others.append(message)
            continue
        is_apart = is_apart or bool(others)
        call = _call_answered(message, opened, found)
        if call is None:
            notes.append(f"dropped a result without a call (id {message.tool_call_id!r:.60})")
        else:
            if message.tool_call_id != call.id:
                notes.append(f"gave a result the id of its call ({call.id!r:.60})")
            found[call.key] = _bound_to(message, call)
    if is_apart and found:
        notes.append("moved results right behind their calls")
    for call in opened.tool_calls:
        if call.key not in found:
            notes.append(f"closed the call {call.name} ({call.id!r:.60}) as interrupted")
            found[call.key] = interrupted_result(call)
    return [found[call.key] for call in opened.tool_calls], others


def _call_answered(message: Message, opened: Message, found: dict[str, Message]) -> ToolCall | None:
    """The open call that a result belongs to: by our own key, else by id in order."""
    open_calls = [call for call in opened.tool_calls if call.key not in found]
    if message.call_key:
        by_key = [call for call in open_calls if call.key == message.call_key]
        if by_key or any(call.key == message.call_key for call in opened.tool_calls):
            return by_key[0] if by_key else None
    return next((call for call in open_calls if call.id == message.tool_call_id), None)


def _bound_to(message: Message, call: ToolCall) -> Message:
    if message.call_key == call.key and message.tool_call_id == call.id:
        return message
    return replace(message, call_key=call.key, tool_call_id=call.id)


def _without_results(messages: Sequence[Message], notes: list[str]) -> list[Message]:
    kept = [message for message in messages if message.role is not Role.TOOL]
    if len(kept) < len(messages):
        notes.append(f"dropped {len(messages) - len(kept)} results without a call")
    return kept
