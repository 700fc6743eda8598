"""Stores what was read: everything of a file, or nothing.

Place in the house: ``agents.transcripts``. Ids are made anew, so that a file can be imported where
it came from, and twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject
from agents.models import Assistant, Attachment, Conversation, Message, Run, new_id
from agents.runs.lifecycle import store_ended_runs
from agents.runs.stored_messages import COMPACTION
from agents.transcripts.records import (
    ConversationRecord,
    MessageRecord,
    RunRecord,
    TranscriptRefused,
)

BATCH = 500


def store_conversations(
    user: AbstractBaseUser,
    records: Sequence[ConversationRecord],
    assistants: QuerySet[Assistant],
    *,
    instead: Assistant | None = None,
) -> list[Conversation]:
    """The new conversations of this user, in the order of the file.

    ``assistants`` are those that the user may talk to; ``instead`` takes the place of the one that
    the file names. Raises ``TranscriptRefused`` where that is not among them.
    """
    by_id = {row.assistant_id: row for row in assistants}
    for record in records:
        if instead is None and record.assistant not in by_id:
            told = _(
                "the conversation is with the assistant %(assistant)s, which is not here: choose "
                "another one"
            )
            raise TranscriptRefused(record.line, told % {"assistant": record.assistant or "-"})
    with transaction.atomic():
        return [
            _Storing(user=user, assistant=instead or by_id[record.assistant], others=by_id).store(
                record
            )
            for record in records
        ]


@dataclass(slots=True, kw_only=True)
class _Storing:
    """One conversation on its way; the new ids by those of the file."""

    user: AbstractBaseUser
    assistant: Assistant
    others: Mapping[str, Assistant]
    runs: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)

    def store(self, record: ConversationRecord) -> Conversation:
        """Insert everything; the times are those of the file."""
        conversation = Conversation.objects.create(
            user=self.user,
            assistant=self.assistant,
            title=record.title,
            is_pinned=record.is_pinned,
        )
        self.runs = {run.id: new_id() for run in record.runs}
        self.messages = {message.id: new_id() for message in record.messages}
        rows = [self._message(conversation, message) for message in record.messages]
        runs = [self._run(conversation, run) for run in record.runs]
        self._insert(record, rows, runs)
        Conversation.objects.filter(pk=conversation.pk).update(
            leaf_id=self.messages.get(record.leaf),
            created_at=record.created_at or conversation.created_at,
            updated_at=record.updated_at or conversation.updated_at,
        )
        return conversation

    def _insert(
        self, record: ConversationRecord, rows: Sequence[Message], runs: Sequence[Run]
    ) -> None:
        """Runs and messages name each other: the runs' ends of it are set last."""
        named = [(run, run.message_id, run.answer_id) for run in runs]
        for run in runs:
            run.message_id = run.answer_id = None
        store_ended_runs(runs)
        Message.objects.bulk_create(rows, batch_size=BATCH)
        moments = zip(_times(rows, record.messages), rows, strict=True)
        _set_columns(Message._meta.db_table, ["created_at"], [(at, row.pk) for at, row in moments])
        ends = zip(_times(runs, record.runs), named, strict=True)
        _set_columns(
            Run._meta.db_table,
            ["created_at", "message_id", "answer_id"],
            [(at, message_id, answer_id, run.pk) for at, (run, message_id, answer_id) in ends],
        )
        Attachment.objects.bulk_create(
            (
                Attachment(
                    message_id=self.messages[message.id],
                    position=item.position,
                    kind=item.kind,
                    mime_type=item.mime_type,
                    content=item.content,
                )
                for message in record.messages
                for item in message.attachments
            ),
            batch_size=20,
        )

    def _message(self, conversation: Conversation, record: MessageRecord) -> Message:
        return Message(
            id=self.messages[record.id],
            conversation=conversation,
            parent_id=self.messages.get(record.parent),
            run_id=self.runs.get(record.run),
            role=record.role,
            content=record.content,
            tool_calls=[{**call, "key": self._key(str(call["key"]))} for call in record.tool_calls],
            tool_call_id=record.tool_call_id,
            call_key=self._key(record.call_key),
            outcome=record.outcome,
            duration_ms=record.duration_ms,
            details=self._details(record.details),
            extra=record.extra,
            provider=record.provider,
            turn=record.turn,
            level=record.level,
            is_aborted=record.is_aborted,
        )

    def _run(self, conversation: Conversation, record: RunRecord) -> Run:
        ended = record.finished_at or record.started_at or timezone.now()
        return Run(
            id=self.runs[record.id],
            conversation=conversation,
            assistant=self.others.get(record.assistant, self.assistant),
            user=self.user,
            parent_run_id=self.runs.get(record.parent_run),
            message_id=self.messages.get(record.message),
            answer_id=self.messages.get(record.answer),
            trace_id=self.traces.setdefault(record.trace or record.id, new_id()),
            configuration=_configuration(record),
            status=record.status,
            stop_reason=record.stop_reason,
            level=record.level,
            error=record.error,
            turns=record.turns,
            tool_calls=record.tool_calls,
            input_tokens=record.input_tokens,
            output_tokens=record.output_tokens,
            started_at=record.started_at,
            finished_at=ended,
        )

    def _key(self, key: str) -> str:
        """A call's key under the new id of its run."""
        run, colon, rest = key.partition(":")
        return f"{self.runs.get(run, run)}{colon}{rest}"

    def _details(self, details: JsonObject) -> JsonObject:
        folded = details.get(COMPACTION)
        if not isinstance(folded, dict):
            return details
        through = self.messages.get(str(folded.get("through") or ""), "")
        return {**details, COMPACTION: {**folded, "through": through}}


def _configuration(record: RunRecord) -> JsonObject:
    """What the chat shows of it."""
    shown: JsonObject = {"model": record.model, "limits": record.limits}
    return {name: value for name, value in shown.items() if value}


def _set_columns(table: str, columns: Sequence[str], values: Sequence[Sequence[object]]) -> None:
    """Update rows; each entry holds the columns' values and the row's id. The ORM would take a
    second for every thousand of them."""
    names = ", ".join(f"{column} = %s" for column in columns)
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET {names} WHERE id = %s", values)


def _times(
    rows: Sequence[Message] | Sequence[Run],
    records: Sequence[MessageRecord] | Sequence[RunRecord],
) -> list[object]:
    """When each came into being, as the database takes it; rows without a time keep their order."""
    last: datetime | None = None
    times: list[object] = []
    for row, record in zip(rows, records, strict=True):
        behind = last + timedelta(microseconds=1) if last is not None else row.created_at
        last = record.created_at or behind
        times.append(connection.ops.adapt_datetimefield_value(last))
    return times
