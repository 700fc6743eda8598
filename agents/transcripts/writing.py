"""A stored conversation as lines.

Place in the house: ``agents.transcripts``. Prompts, limits and other settings of an operator are
not part of a conversation and are left out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from agents.loop.messages import JsonObject, JsonValue
from agents.models import FINAL_STATUSES, Attachment, Conversation, Message, Run
from agents.transcripts.records import FORMAT, VERSION


class RunGoesOn(ValueError):
    """Raised when a conversation has a run that has not ended."""


def conversation_lines(conversation: Conversation) -> Iterator[str]:
    """The lines of a conversation, each with its newline: itself, its runs, its messages, parents
    first. Raises ``RunGoesOn`` before the first.
    """
    runs = list(
        Run.objects.filter(conversation=conversation)
        .select_related("assistant")
        .order_by("created_at", "pk")
    )
    if any(run.status not in FINAL_STATUSES for run in runs):
        raise RunGoesOn(
            f"A run is going on in the conversation {conversation.pk}: stop it or wait for its end."
        )
    messages = _in_order(list(Message.objects.filter(conversation=conversation)))
    return _lines(conversation, runs, messages)


def _lines(
    conversation: Conversation, runs: Sequence[Run], messages: Sequence[Message]
) -> Iterator[str]:
    yield _line(_conversation(conversation))
    for run in runs:
        yield _line(_run(run))
    # Read one message at a time: together they may be larger than memory.
    found = Attachment.objects.filter(message__conversation=conversation)
    with_files = set(found.values_list("message_id", flat=True))
    for message in messages:
        files = message.attachments.order_by("position") if message.pk in with_files else ()
        yield _line(_message(message, [_attachment(row) for row in files]))


def _in_order(rows: list[Message]) -> list[Message]:
    """Parents before children, brothers in the order in which they came; what is not reached from a
    root is left out."""
    children: dict[str | None, list[Message]] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.pk), reverse=True):
        children.setdefault(row.parent_id, []).append(row)
    ordered: list[Message] = []
    waiting = children.get(None, [])
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting.extend(children.get(row.pk, ()))
    return ordered


def _conversation(row: Conversation) -> JsonObject:
    return {
        "type": "conversation",
        "format": FORMAT,
        "version": VERSION,
        "id": row.pk,
        "title": row.title,
        "assistant": row.assistant.assistant_id,
        "is_pinned": row.is_pinned,
        "leaf": row.leaf_id,
        "created_at": _moment(row.created_at),
        "updated_at": _moment(row.updated_at),
    }


def _run(row: Run) -> JsonObject:
    return {
        "type": "run",
        "id": row.pk,
        "parent_run": row.parent_run_id,
        "message": row.message_id,
        "answer": row.answer_id,
        "trace": row.trace_id,
        "assistant": row.assistant.assistant_id if row.assistant else None,
        "model": _shown(row, "model", str),
        "limits": _shown(row, "limits", dict),
        "status": row.status,
        "stop_reason": row.stop_reason,
        "level": row.level,
        "error": row.error,
        "turns": row.turns,
        "tool_calls": row.tool_calls,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "created_at": _moment(row.created_at),
        "started_at": _moment(row.started_at),
        "finished_at": _moment(row.finished_at),
    }


def _shown(row: Run, name: str, kind: type) -> JsonValue:
    """What the chat shows of a run's configuration; nothing else of it is the person's own."""
    value = row.configuration.get(name) if isinstance(row.configuration, dict) else None
    return value if isinstance(value, kind) else None


def _message(row: Message, attachments: list[JsonObject]) -> JsonObject:
    """What every message has, and of the rest what this one has."""
    line: JsonObject = {
        "type": "message",
        "id": row.pk,
        "parent": row.parent_id,
        "run": row.run_id,
        "role": row.role,
        "content": row.content,
        "created_at": _moment(row.created_at),
    }
    others: JsonObject = {
        "tool_calls": row.tool_calls,
        "tool_call_id": row.tool_call_id,
        "call_key": row.call_key,
        "outcome": row.outcome,
        "details": row.details,
        "extra": row.extra,
        "provider": row.provider,
        "turn": row.turn,
        "is_aborted": row.is_aborted,
        "attachments": list[JsonValue](attachments),
    }
    line |= {name: value for name, value in others.items() if value}
    numbers: JsonObject = {"duration_ms": row.duration_ms, "level": row.level}
    line |= {name: value for name, value in numbers.items() if value is not None}
    if row.role == "tool":
        line["tool_call_id"] = row.tool_call_id
    return line


def _attachment(row: Attachment) -> JsonObject:
    return {
        "position": row.position,
        "kind": row.kind,
        "mime_type": row.mime_type,
        "data": base64.b64encode(bytes(row.content)).decode(),
    }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _line(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
