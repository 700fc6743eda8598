"""How a run ends in its own words: the model's answer, a hook's, another assistant's, or a stop.

Place in the house: ``agents.loop``; levels 2 and 3 are in ``fallback.py``.
"""

from __future__ import annotations

import json
from dataclasses import replace

from agents.loop.events import AnswerReady, Delegated, RunFinished, TurnFinished
from agents.loop.hook_context import build_context
from agents.loop.hooks import Delegation, call_hook, read_next
from agents.loop.messages import JsonObject, JsonValue, Message, Role, message_to_dict, text_of
from agents.loop.model_request import Answer
from agents.loop.parameter_retry import FirstTurn
from agents.loop.prompts import language_of, results_line
from agents.loop.request import RunOutcome
from agents.loop.results import ToolResult
from agents.loop.state import RunState


async def accept_answer(run: RunState, answer: Answer, turn: int) -> RunOutcome:
    """The model's text is the run's answer (level 1)."""
    await _close_open_turn(run, "answered")
    message = replace(answer.message, tool_calls=())
    await run.emit(
        AnswerReady,
        message=message,
        level=1,
        source="model",
        finish_reason=answer.answer.finish_reason,
    )
    return _answered(answer.text)


async def standard_response(run: RunState, first_turn: FirstTurn) -> RunOutcome:
    """The first turn's text, or a line that lists its results where the loop is off and none
    came.
    """
    answer = first_turn.answer
    if not first_turn.last_calls:
        return await accept_answer(run, answer, 0)
    await _close_open_turn(run, "answered", first_turn.results)
    if answer.text.strip():
        message = replace(answer.message, tool_calls=())
        await run.emit(AnswerReady, message=message, level=1, source="model", is_stored=True)
        return _answered(answer.text)
    text = results_line(first_turn.results, language_of(_last_question(run)))
    message = Message(role=Role.ASSISTANT, content=text)
    await run.emit(AnswerReady, message=message, level=1, source="results")
    return _answered(text)


async def apply_next_hook(
    run: RunState, *, first_turn: FirstTurn | None = None, error: str = ""
) -> RunOutcome | None:
    """What the next hook makes of the first turn, or of its failure; ``None`` to go on."""
    hook = run.assistant.hooks.next
    if hook is None:
        return None
    payload = _next_payload(run, first_turn, error)
    returned = await call_hook(run, "next", hook, build_context(run), payload)
    if returned is None:
        return None
    decision = read_next(returned, hook.path)
    results = first_turn.results if first_turn is not None else []
    if isinstance(decision, Delegation):
        await _close_open_turn(run, "delegated", results)
        return await hand_over(run, decision)
    await _close_open_turn(run, "answered", results)
    [value] = decision
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    message = Message(role=Role.ASSISTANT, content=text)
    await run.emit(AnswerReady, message=message, level=1, source="hook")
    return _answered(text)


async def hand_over(run: RunState, delegation: Delegation) -> RunOutcome:
    """Another assistant answers as a child run. Raises ``DelegationRefused``."""
    await run.emit(Delegated, assistant=delegation.assistant)
    own = [message for message in run.messages if not message.is_notice]
    conversation = own if delegation.messages is None else delegation.messages
    child = await run.outside.delegate(delegation, conversation, run.timer)
    is_completed = child.status == "completed"
    return RunOutcome(
        status=child.status,
        stop_reason="delegated" if is_completed else child.stop_reason,
        level=child.level,
        answer=child.answer,
        error=child.error,
    )


async def finish_run(run: RunState, outcome: RunOutcome) -> RunOutcome:
    """Tell the end, with the run's counts; the outcome with them."""
    outcome = replace(
        outcome,
        turns=run.turns,
        tool_calls=run.call_count,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
    )
    await run.emit(
        RunFinished,
        status=outcome.status,
        stop_reason=outcome.stop_reason,
        level=outcome.level,
        answer=outcome.answer,
        turns=outcome.turns,
        tool_calls=outcome.tool_calls,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        error=outcome.error,
        detail=run.failure_detail,
    )
    return outcome


async def finish_cancelled(run: RunState) -> None:
    """Tell that a person stopped the run; what was written so far stays.

    Nothing where the process ends: another one goes on with the run.
    """
    if run.outside.is_ending:
        return
    await _close_open_turn(run, "cancelled")
    outcome = RunOutcome(
        status="cancelled", stop_reason="cancelled", level=None, answer=run.partial_text
    )
    await finish_run(run, outcome)


async def _close_open_turn(
    run: RunState, decision: str, results: list[ToolResult] | None = None
) -> None:
    turn, run.open_turn = run.open_turn, None
    if turn is None:
        return
    results = results or []
    await run.emit(
        TurnFinished,
        turn=turn,
        decision=decision,
        calls=len(results),
        failed_calls=sum(result.is_failure for result in results),
    )


def _answered(text: str) -> RunOutcome:
    return RunOutcome(status="completed", stop_reason="answered", level=1, answer=text)


def _next_payload(run: RunState, first_turn: FirstTurn | None, error: str) -> JsonObject:
    messages: list[JsonValue] = [message_to_dict(m) for m in run.messages if not m.is_notice]
    completion: JsonObject | None = None
    results: list[JsonValue] = []
    if first_turn is not None:
        completion = message_to_dict(first_turn.answer.message)
        completion["finish_reason"] = first_turn.answer.answer.finish_reason
        results = [_result_for_hook(result) for result in first_turn.results]
    return {
        "messages": messages,
        "completion": completion,
        "tool_results": results,
        "error": error or None,
    }


def _result_for_hook(result: ToolResult) -> JsonObject:
    return {
        "id": result.call.id,
        "name": result.call.name,
        "server": result.server,
        "tool": result.tool,
        "arguments": result.arguments,
        "outcome": result.outcome.value,
        "text": result.full_text,
        "structured": result.structured,
        "error": result.error or None,
    }


def _last_question(run: RunState) -> str:
    asked = [text_of(m.content) for m in run.messages if m.role is Role.USER]
    return asked[-1] if asked else ""
