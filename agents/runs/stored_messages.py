"""The stored messages of a conversation as the loop's own.

Place in the house: ``agents.runs``; read by ``plans``.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import prefetch_related_objects

from agents.loop.compaction import summary_message
from agents.loop.messages import Image, JsonObject, Message, Role, ToolCall
from agents.loop.results import NOT_FAILURES, Outcome
from agents.models import Attachment, Run
from agents.models import Message as StoredMessage
from agents.runs.statements import fetch_rows

COMPACTION = "compaction"
"""Key in the details of a row that is a summary: ``through`` (id of the last folded message),
``reason``, ``messages``, ``tokens_before``, ``tokens_after``."""

STAND_IN = "stand_in"
"""Key in the details of an answer that another model gave than the assistant's first: ``model``,
and ``passed_over`` as a ``ModelTarget`` has it."""

COMMAND = "command"
"""Key in the details of a message that is a command: its name."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPath:
    """A conversation up to its leaf, split at the user's message of one run.

    ``history`` is what the model gets of what came before, a summary in the place of what was
    folded; ``own`` are the run's rows behind its message, which is ``asked``.
    """

    history: tuple[Message, ...]
    asked: StoredMessage | None = None
    own: tuple[StoredMessage, ...] = ()


def split_path(path: Sequence[StoredMessage], message_id: str | None) -> StoredPath:
    """The path, split at the message with that id; everything is history where it is not there."""
    place = next((at for at, row in enumerate(path) if row.pk == message_id), len(path))
    start, told_at = _last_summary(path, place)
    first = [] if told_at is None else [summary_message(str(path[told_at].content))]
    said = [
        loop_message(row) if told_at is None or at > told_at else _without_count(row)
        for at, row in enumerate(path[:place])
        if at >= start and not is_summary(row) and not is_command(row)
    ]
    own = tuple(row for row in path[place + 1 :] if not is_summary(row))
    asked = path[place] if place < len(path) else None
    return StoredPath(history=(*first, *said), asked=asked, own=own)


def is_summary(row: StoredMessage) -> bool:
    """Whether the row stands for folded messages: it is no message of anybody."""
    return isinstance(row.details, dict) and COMPACTION in row.details


def is_command(row: StoredMessage) -> bool:
    """Whether a person asked the application for something, not the model."""
    return isinstance(row.details, dict) and COMMAND in row.details


def _last_summary(path: Sequence[StoredMessage], place: int) -> tuple[int, int | None]:
    """Where the messages after the newest summary begin, and where it stands itself."""
    places = {row.pk: at for at, row in enumerate(path[:place])}
    for at in range(len(path) - 1, -1, -1):
        if is_summary(path[at]):
            through = places.get(str(path[at].details[COMPACTION].get("through") or ""))
            if through is not None:
                return through + 1, at
    return 0, None


def _without_count(row: StoredMessage) -> Message:
    return replace(loop_message(row), context_tokens=None)


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
        context_tokens=sum(usage_of(row)) or None,
        stored_id=row.pk,
    )


def usage_of(row: StoredMessage) -> tuple[int, int]:
    """Tokens in and out of the request that gave this answer, zeros where nobody counted them."""
    usage = row.details.get("usage") if isinstance(row.details, dict) else None
    if not (isinstance(usage, list) and len(usage) == 2):
        return 0, 0
    return int(usage[0]), int(usage[1])


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
