"""The stored messages of a conversation as the loop's own.

Place in the house: ``agents.runs``; read by ``plans``.
"""

from __future__ import annotations

import base64

from django.db.models import prefetch_related_objects

from agents.loop.messages import Image, JsonObject, Message, Role, ToolCall
from agents.loop.results import NOT_FAILURES, Outcome
from agents.models import Attachment, Run
from agents.models import Message as StoredMessage
from agents.runs.statements import fetch_rows


def read_path(run: Run) -> list[StoredMessage]:
    """The messages from the root to the conversation's leaf."""
    found = fetch_rows(StoredMessage, {"conversation_id": run.conversation_id})
    rows = {row.pk: row for row in found}
    path: list[StoredMessage] = []
    current = rows.get(run.conversation.leaf_id or "")
    while current is not None and len(path) <= len(rows):
        path.append(current)
        current = rows.get(current.parent_id or "")
    # Only results have attachments: a new conversation needs no query for them.
    prefetch_related_objects([row for row in path if row.role == Role.TOOL], "attachments")
    return path[::-1]


def loop_message(row: StoredMessage) -> Message:
    """A row as the loop's message, with its images."""
    content = row.content
    return Message(
        role=Role(row.role),
        content=tuple(content) if isinstance(content, list) else content,
        tool_calls=tuple(_loop_call(call) for call in row.tool_calls),
        tool_call_id=row.tool_call_id,
        call_key=row.call_key,
        provider=row.provider,
        extra=row.extra,
        images=_images(row) if row.role == Role.TOOL else (),
        failed=bool(row.outcome) and Outcome(row.outcome) not in NOT_FAILURES,
        aborted=row.is_aborted,
    )


def _loop_call(call: JsonObject) -> ToolCall:
    arguments = call.get("arguments", "")
    return ToolCall(
        id=str(call.get("id", "")),
        name=str(call.get("name", "")),
        arguments=arguments if isinstance(arguments, str | dict) else "",
        key=str(call.get("key", "")),
        extra=call.get("extra") or {},  # type: ignore[arg-type]  # stored by ``call_json``
    )


def _images(row: StoredMessage) -> tuple[Image, ...]:
    return tuple(_image(item) for item in row.attachments.all() if item.kind == "image")


def _image(item: Attachment) -> Image:
    content = bytes(item.content)
    return Image(
        data=base64.b64encode(content).decode(),
        mime_type=item.mime_type,
    )
