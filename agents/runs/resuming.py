"""What was stored of a run that another process began, as the loop goes on with it.

Place in the house: ``agents.runs``; read by ``plans``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agents.loop.messages import JsonObject, Message, ToolCall, text_of
from agents.loop.request import Resume
from agents.loop.results import Outcome, ToolResult
from agents.models import Message as StoredMessage
from agents.models import MessageRole, Question, Run
from agents.runs.stored_messages import usage_of


def read_resume(
    run: Run, rows: Sequence[StoredMessage], read: Callable[[StoredMessage], Message]
) -> Resume | None:
    """Where the run goes on; ``None`` where it had no calls yet and simply begins anew.

    ``rows`` are the run's own messages in order, without the user's; ``read`` makes the loop's
    messages of them.
    """
    places = [place for place, row in enumerate(rows) if _has_calls(row)]
    if not places:
        return None
    messages = tuple(read(row) for row in rows)
    calls = {call.key: call for place in places for call in messages[place].tool_calls}
    last = rows[places[-1]]
    turn, attempt = _place_of(last)
    usage = [usage_of(row) for row in rows]
    return Resume(
        answer=messages[places[-1]],
        messages=messages,
        results=tuple(
            _result(calls[row.call_key], row, message)
            for row, message in zip(rows, messages, strict=True)
            if row.role == MessageRole.TOOL and row.call_key in calls
        ),
        turn=turn,
        attempt=attempt,
        unsent=frozenset(
            Question.objects.filter(run=run, is_allowed__isnull=True).values_list(
                "call_key", flat=True
            )
        ),
        takeover=max(run.takeovers, 1),
        started_ns=round(run.started_at.timestamp() * 1e9) if run.started_at else 0,
        elapsed_seconds=_elapsed_seconds(run, rows),
        input_tokens=sum(given for given, _ in usage),
        output_tokens=sum(made for _, made in usage),
    )


def last_call_row(rows: Sequence[StoredMessage]) -> str:
    """The id of the last message with calls, ``""`` where there is none."""
    return next((row.pk for row in reversed(rows) if _has_calls(row)), "")


def _has_calls(row: StoredMessage) -> bool:
    return row.role == MessageRole.ASSISTANT and bool(row.tool_calls) and not row.is_aborted


def _place_of(row: StoredMessage) -> tuple[int, int]:
    """Turn and attempt in the keys of a message's calls, ``run:turn:attempt:position``."""
    parts = str(row.tool_calls[0].get("key", "")).split(":")
    if len(parts) == 4 and parts[1].isdigit() and parts[2].isdigit():
        return int(parts[1]), int(parts[2])
    return int(row.turn) if row.turn.isdigit() else 0, 1


def _elapsed_seconds(run: Run, rows: Sequence[StoredMessage]) -> float:
    """How long the run had worked when it stored its last message; the time after that is lost."""
    if run.started_at is None or not rows:
        return 0.0
    return max(0.0, (rows[-1].created_at - run.started_at).total_seconds())


def _result(call: ToolCall, row: StoredMessage, message: Message) -> ToolResult:
    details: JsonObject = row.details if isinstance(row.details, dict) else {}
    text = text_of(message.content)
    return ToolResult(
        call=call,
        server=str(details.get("server") or ""),
        tool=str(details.get("tool") or ""),
        outcome=Outcome(row.outcome),
        text=text,
        full_text=text,
        error=str(details.get("error") or ""),
        is_correctable=details.get("correctable") is True,
        arguments=details.get("arguments"),
        is_truncated=details.get("truncated") is True,
        is_kept=details.get("kept") is True,
        duration_ms=row.duration_ms or 0.0,
        images=message.images,
    )
