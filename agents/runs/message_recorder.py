"""The required sink: stores a run's messages as they come into being.

Place in the house: ``agents.runs``. The assistant message with its calls is committed before the
first call is sent, each result as it comes, the answer together with the run's end. If storing
fails, the run fails.
"""

from __future__ import annotations

import asyncio
import base64
import binascii

from asgiref.sync import sync_to_async
from django.db import transaction

from agents.loop.events import (
    AnswerReady,
    Compacted,
    Event,
    ModelAnswered,
    ModelCancelled,
    RunFinished,
    ToolCallFinished,
)
from agents.loop.messages import JsonObject, Role, ToolCall
from agents.loop.messages import Message as LoopMessage
from agents.loop.results import PartKind, ToolResult
from agents.models import Attachment, Message, MessageRole
from agents.runs import lifecycle
from agents.runs.statements import insert_row, update_rows
from agents.runs.stored_messages import COMPACTION, STAND_IN
from agents.texts import storable

GATHER_SECONDS = 0.005
"""Results that come within this time are committed together."""

Rows = list[tuple[Message, tuple[Attachment, ...]]]


class MessageRecorder:
    """Writes the messages of one root run and its children to one conversation, in order.

    ``holder`` has the run's lease. Raises ``RunLost`` where the run was taken from this worker:
    nothing is written then. ``last_call_message`` is of a run that is resumed.
    """

    def __init__(
        self, holder: lifecycle.Holder, leaf_id: str | None, last_call_message: str = ""
    ) -> None:
        self._holder = holder
        self._conversation_id = holder.conversation
        self._leaf_id = leaf_id
        self._last_call_message = {holder.run: last_call_message} if last_call_message else {}
        self._answers: dict[str, AnswerReady] = {}
        self._usages: dict[str, JsonObject] = {}
        self._last_answer_id: str | None = None
        self._lock = asyncio.Lock()
        self._writes: list[asyncio.Task[None]] = []
        self._waiting: Rows = []
        self._timer: asyncio.TimerHandle | None = None
        self._write_behind = sync_to_async(self._write)

    async def handle(self, event: Event) -> None:
        """Store what the event brings.

        Returns when it is committed. Results are gathered for ``GATHER_SECONDS`` and committed
        together, beside the next request and before anything else is stored. A stop in the middle
        breaks off no write.
        """
        match event:
            case ModelAnswered(message=message) if message.tool_calls:
                row = self._assistant_row(event, message, str(event.turn))
                row.details = _usage_details(event)
                self._add(row)
                self._write_now()
            case ModelAnswered(is_final=True):
                self._usages[event.run] = {**_usage_details(event), **_stand_in(event)}
            case Compacted(summary=summary) if summary and event.run == self._holder.run:
                self._add(self._summary_row(event))
                self._write_now()
            case ModelCancelled(partial=partial) if partial.strip():
                message = LoopMessage(role=Role.ASSISTANT, content=partial)
                self._add(self._assistant_row(event, message, str(event.turn), is_aborted=True))
                self._write_now()
            case ToolCallFinished():
                self._add(*self._result_rows(event))
                self._write_soon()
                return
            case AnswerReady():
                self._answers[event.run] = event
            case RunFinished():
                self._write_now(event)
        await self._settle()

    async def flush(self) -> None:
        """Store what is still gathered. Raises what a write raised."""
        self._write_now()
        await self._settle()

    def _add(self, row: Message, attachments: tuple[Attachment, ...] = ()) -> None:
        self._waiting.append((row, attachments))
        if row.tool_calls and row.run_id is not None:
            self._last_call_message[row.run_id] = row.pk

    def _write_soon(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(GATHER_SECONDS, self._write_now)

    def _write_now(self, end: RunFinished | None = None) -> None:
        """Begin to write all that waits, and a run's end with it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows, self._waiting = self._waiting, []
        if rows or end is not None:
            self._writes.append(asyncio.create_task(self._write_in_turn(rows, end)))

    async def _settle(self) -> None:
        """Wait until all that has begun is written. Raises what a write raised."""
        begun = list(self._writes)
        if not begun:
            return
        await asyncio.wait(begun)
        # Not emptied: the timer may have begun another write meanwhile.
        self._writes = [task for task in self._writes if task not in begun]
        for task in begun:
            task.result()

    async def _write_in_turn(self, rows: Rows, end: RunFinished | None) -> None:
        async with self._lock:
            await self._write_behind(rows, end)

    def _write(self, rows: Rows, end: RunFinished | None) -> None:
        """The rows in order and the run's end, in one transaction."""
        with transaction.atomic():
            leaf_id = self._leaf_id
            for row, attachments in rows:
                row.parent_id, leaf_id = leaf_id, row.pk
                insert_row(row)
                for attachment in attachments:
                    attachment.save(force_insert=True)
            if rows and leaf_id is not None:
                lifecycle.append_leaf(self._holder, self._leaf_id, leaf_id)
            if end is not None:
                leaf_id = self._write_end(end, self._answers.pop(end.run, None), leaf_id)
        self._leaf_id = leaf_id

    def _write_end(
        self, event: RunFinished, answer: AnswerReady | None, leaf_id: str | None
    ) -> str | None:
        """The answer and the run's end; the conversation's end after it."""
        lifecycle.keep_run(self._holder.run, self._holder.owner)
        answer_id = self._last_answer_id
        if answer is not None and answer.is_stored:
            answer_id = self._last_call_message.get(event.run)
            update_rows(Message, {"id": answer_id}, {"level": answer.level})
        elif answer is not None:
            row = self._assistant_row(event, answer.message, level=answer.level)
            usage = self._usages.pop(event.run, {}) if answer.source == "model" else {}
            row.details = {
                "source": answer.source,
                "finish_reason": answer.finish_reason,
                **usage,
            }
            row.parent_id = leaf_id
            insert_row(row)
            lifecycle.append_leaf(self._holder, leaf_id, row.pk)
            leaf_id = answer_id = row.pk
        lifecycle.finish_run(event, answer_id)
        self._last_answer_id = answer_id
        return leaf_id

    def _assistant_row(
        self,
        event: Event,
        message: LoopMessage,
        turn: str = "",
        *,
        level: int | None = None,
        is_aborted: bool = False,
    ) -> Message:
        return Message(
            conversation_id=self._conversation_id,
            run_id=event.run,
            role=MessageRole.ASSISTANT,
            content=storable(message.content),
            tool_calls=[call_json(call) for call in message.tool_calls],
            extra=storable(message.extra),
            provider=message.provider,
            turn=turn,
            level=level,
            is_aborted=is_aborted,
        )

    def _summary_row(self, event: Compacted) -> Message:
        return Message(
            conversation_id=self._conversation_id,
            run_id=event.run,
            role=MessageRole.SYSTEM,
            content=storable(event.summary),
            turn=str(event.turn),
            details={
                COMPACTION: {
                    "through": event.through,
                    "reason": event.reason,
                    "messages": event.messages_before - event.messages_after + 1,
                    "tokens_before": event.tokens_before,
                    "tokens_after": event.tokens_after,
                }
            },
        )

    def _result_rows(self, event: ToolCallFinished) -> tuple[Message, tuple[Attachment, ...]]:
        result = event.result
        row = Message(
            conversation_id=self._conversation_id,
            run_id=event.run,
            role=MessageRole.TOOL,
            content=storable(result.text),
            tool_call_id=storable(result.call.id),
            call_key=result.call.key,
            outcome=result.outcome.value,
            duration_ms=result.duration_ms,
            details=result_details(result, event.attempt),
            turn=str(event.turn),
        )
        return row, tuple(_attachments(row, result))


def _usage_details(event: ModelAnswered) -> JsonObject:
    usage = event.answer.usage
    return {} if usage is None else {"usage": [usage.input_tokens, usage.output_tokens]}


def _stand_in(event: ModelAnswered) -> JsonObject:
    """Why another model answered than the assistant's first."""
    if not event.passed_over:
        return {}
    reasons = storable(list(event.passed_over))
    return {STAND_IN: {"model": storable(event.model), "passed_over": reasons}}


def call_json(call: ToolCall) -> JsonObject:
    """A call as it is stored on its message."""
    return {
        "id": storable(call.id),
        "name": storable(call.name),
        "arguments": storable(call.arguments),
        "key": call.key,
        "extra": storable(call.extra),
    }


def result_details(result: ToolResult, attempt: int) -> JsonObject:
    """What is stored about a result besides its text."""
    return {
        "server": result.server,
        "tool": result.tool,
        "arguments": storable(result.arguments),
        "chars": len(result.full_text),
        "error": storable(result.error[:2000]),
        "correctable": result.is_correctable,
        "truncated": result.is_truncated,
        "kept": result.is_kept,
        "attempt": attempt,
    }


def _attachments(row: Message, result: ToolResult) -> list[Attachment]:
    kinds = (PartKind.IMAGE, PartKind.AUDIO)
    found = []
    for part in result.parts:
        if part.kind not in kinds or not part.data:
            continue
        try:
            content = base64.b64decode(part.data, validate=False)
        except (binascii.Error, ValueError):
            continue
        found.append(
            Attachment(
                message=row,
                position=len(found),
                kind=part.kind.value,
                mime_type=part.mime_type[:100],
                content=content,
            )
        )
    return found
