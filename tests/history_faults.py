"""What a strict provider refuses in a history: bad pairs, ids, names and shapes.

Used by ``tests.fake_provider``; written after the answers of OpenAI.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


def history_fault(messages: list[Json], *, id_pattern: str = "", system_first: bool = False) -> str:
    """What a provider would refuse in these messages, in one line; empty if nothing."""
    waiting: list[str] = []
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id not in waiting:
                return f"{where}: a tool message must follow a call with its id, got {call_id!r}"
            waiting.remove(call_id)
        elif waiting:
            return f"{where}: tool_calls without a tool message: {', '.join(waiting)}"
        if fault := _shape_fault(message, id_pattern):
            return f"{where}: {fault}"
        if role == "system" and position and system_first:
            return f"{where}: System message must be at the beginning."
        waiting.extend(item["id"] for item in message.get("tool_calls") or [])
    return f"the end: tool_calls without a tool message: {', '.join(waiting)}" if waiting else ""


def _shape_fault(message: Json, id_pattern: str) -> str:
    role, content = message.get("role"), message.get("content")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        return f"unknown role {role!r}"
    if not isinstance(content, (str, list)) and not (role == "assistant" and content is None):
        return f"content must be text or parts, got {content!r}"
    wanted = message.get("tool_calls")
    if role == "assistant" and not content and content != "" and not wanted:
        return "an assistant message needs content or tool_calls"
    if "tool_calls" in message and (
        role != "assistant" or not isinstance(wanted, list) or not wanted
    ):
        return "tool_calls must be a list that is not empty, in an assistant message"
    ids = [item.get("id") for item in wanted or []]
    if len(set(ids)) != len(ids):
        return f"duplicated tool call ids {ids}"
    return next(filter(None, (_call_fault(item, id_pattern) for item in wanted or [])), "")


def _call_fault(item: Json, id_pattern: str) -> str:
    call_id, function = item.get("id"), item.get("function")
    if not isinstance(call_id, str) or not call_id:
        return f"a tool call needs an id, got {call_id!r}"
    if id_pattern and not re.fullmatch(id_pattern, call_id):
        return f"tool call id was {call_id} but must match {id_pattern}"
    if item.get("type") != "function" or not isinstance(function, dict):
        return "a tool call needs type function and a function"
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return f"function.name must match ^[a-zA-Z0-9_-]{{1,64}}$, got {name!r}"
    return (
        "" if isinstance(arguments, str) else f"function.arguments must be text, got {arguments!r}"
    )
