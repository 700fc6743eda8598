"""Events as the lines of ``run_assistant --json``: one JSON object each, fields fixed for scripts.

Place in the house: ``agents.runs``, pure. Events that scripts have no use for give no line.
"""

from __future__ import annotations

from agents.loop.events import (
    Compacted,
    Event,
    FallbackStarted,
    HistoryRepaired,
    ModelRequestStarted,
    ParameterRetry,
    ProviderRetry,
    RunFinished,
    RunStarted,
    ToolCallDecided,
    ToolCallFinished,
    ToolCallStarted,
    ToolCallWaiting,
)
from agents.loop.messages import JsonObject


def event_line(event: Event) -> JsonObject | None:
    """The line of an event, or ``None``."""
    found = _line(event)
    if found is None:
        return None
    name, fields = found
    return {"event": name, "run": event.run, **fields}


def _line(event: Event) -> tuple[str, JsonObject] | None:
    match event:
        case RunStarted():
            return "run_started", {
                "conversation": event.conversation,
                "trace": event.trace,
                "assistant": event.assistant,
                "parent_run": event.parent_run,
            }
        case ModelRequestStarted(try_number=1):
            return "model_request", {
                "turn": event.turn,
                "attempt": event.attempt,
                "model": event.model,
                "tools": list(event.tool_names),
            }
        case ProviderRetry():
            return "provider_retry", {
                "turn": event.turn,
                "error": event.error,
                "delay_ms": event.delay_ms,
                "model": event.model,
            }
        case ParameterRetry():
            return "parameter_retry", {"attempt": event.attempt, "calls": list(event.calls)}
        case FallbackStarted():
            return "fallback", {"level": event.level, "reason": event.reason}
        case Compacted():
            return "compacted", {
                "reason": event.reason,
                "messages_before": event.messages_before,
                "messages_after": event.messages_after,
                "error": event.error,
            }
        case HistoryRepaired():
            return "history_repaired", {"notes": list(event.notes)}
        case RunFinished():
            return "run_finished", _finished(event)
    return _tool_call_line(event)


def _tool_call_line(event: Event) -> tuple[str, JsonObject] | None:
    match event:
        case ToolCallStarted():
            return "tool_call_started", {
                "id": event.call_id,
                "key": event.call.key,
                "turn": event.turn,
                "attempt": event.attempt,
                "server": event.server,
                "tool": event.tool,
                "name": event.call.name,
                "arguments": event.arguments,
            }
        case ToolCallWaiting():
            return "approval_asked", {
                "key": event.call.key,
                "turn": event.turn,
                "server": event.server,
                "tool": event.tool,
            }
        case ToolCallDecided():
            return "approval_decided", {
                "key": event.call.key,
                "turn": event.turn,
                "allowed": event.is_allowed,
                "reason": event.reason,
                "by": event.by,
            }
        case ToolCallFinished():
            result = event.result
            return "tool_call_finished", {
                "id": event.call_id,
                "key": result.call.key,
                "turn": event.turn,
                "attempt": event.attempt,
                "server": result.server,
                "tool": result.tool,
                "name": result.call.name,
                "outcome": result.outcome.value,
                "correctable": result.is_correctable,
                "truncated": result.is_truncated,
                "kept": result.is_kept,
                "chars": len(result.full_text),
                "duration_ms": round(result.duration_ms, 1),
                "error": result.error or None,
            }
    return None


def _finished(event: RunFinished) -> JsonObject:
    return {
        "status": event.status,
        "stop_reason": event.stop_reason,
        "level": event.level,
        "answer": event.answer,
        "turns": event.turns,
        "tool_calls": event.tool_calls,
        "usage": {"input_tokens": event.input_tokens, "output_tokens": event.output_tokens},
        "error": event.error or None,
    }
