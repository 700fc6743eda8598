"""The first turn: its calls, and the attempts to correct their arguments.

Place in the house: ``agents.loop``. Not the tool loop: here the model is asked again because it
filled in arguments wrongly, with a notice that says so; calls that succeeded are never executed
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.loop.answering import ask_model
from agents.loop.arguments import equal_key, parse_arguments
from agents.loop.endings import Failed
from agents.loop.events import ParameterRetry, ToolCallsObserved
from agents.loop.messages import Message, Role
from agents.loop.model_request import Answer
from agents.loop.prompts import correction_notice
from agents.loop.results import ToolResult
from agents.loop.state import RunState
from agents.loop.turn_calls import run_calls


@dataclass(slots=True, kw_only=True)
class FirstTurn:
    """Turn 0 after its attempts: the last answer and the results of all attempts."""

    answer: Answer
    results: list[ToolResult] = field(default_factory=list)

    @property
    def last_calls(self) -> bool:
        """Whether the last answer asked for tools."""
        return bool(self.answer.message.tool_calls)


async def run_first_turn(run: RunState, answer: Answer) -> FirstTurn:
    """Execute the first answer's calls, with up to ``parameter_attempts`` attempts.

    Raises ``Failed`` with the reason ``errors`` where the assistant fails on tool errors.
    """
    if run.assistant.sandbox:
        return await _observe_calls(run, answer)
    turn = FirstTurn(answer=answer)
    attempt = 1
    while turn.last_calls:
        results = await _run_attempt(run, turn, attempt)
        if not _asks_again(run, results, attempt):
            break
        attempt += 1
        await _add_notice(run, results, attempt)
        turn.answer = await ask_model(run, turn=0, attempt=attempt)
    if turn.results:
        run.guards.note_turn(turn.results)
    return turn


async def _observe_calls(run: RunState, answer: Answer) -> FirstTurn:
    """The provider ran its calls by itself: they are recorded and nothing else."""
    calls = answer.message.tool_calls
    if calls:
        await run.emit(ToolCallsObserved, turn=0, calls=calls)
    message = replace(answer.message, tool_calls=())
    return FirstTurn(answer=replace(answer, message=message))


async def _run_attempt(run: RunState, turn: FirstTurn, attempt: int) -> list[ToolResult]:
    answer = turn.answer
    run.messages.append(answer.message)
    run.guards.note_answer(is_truncated=answer.is_truncated)
    kept = {
        (result.call.name, equal_key(parse_arguments(result.call.arguments))): result
        for result in turn.results
        if result.is_ok
    }
    results = await run_calls(
        run,
        answer.message.tool_calls,
        turn=0,
        attempt=attempt,
        is_truncated=answer.is_truncated,
        kept=kept,
    )
    turn.results += results
    return results


def _asks_again(run: RunState, results: Sequence[ToolResult], attempt: int) -> bool:
    """Whether the model gets another attempt. Raises ``Failed`` under ``on_tool_error: fail``."""
    failed = [result for result in results if result.is_failure]
    correctable = [result for result in failed if result.is_correctable]
    is_last = attempt >= run.limits.parameter_attempts
    if run.assistant.fails_on_tool_error and failed and (is_last or len(correctable) < len(failed)):
        worst = next((result for result in failed if not result.is_correctable), failed[0])
        name = f"{worst.server}.{worst.tool}" if worst.tool else worst.call.name
        raise Failed("errors", error=f"{name}: {worst.error.splitlines()[0]}", detail=worst.error)
    if not correctable or is_last:
        return False
    return run.stop_reason() is None


async def _add_notice(run: RunState, results: Sequence[ToolResult], attempt: int) -> None:
    """Tell the model, for this run only, which calls failed and what to send again."""
    failed = [
        (run.call_ids[result.call.key], result)
        for result in results
        if result.is_failure and result.is_correctable and result.call.name.strip()
    ]
    notice = correction_notice(failed)
    run.messages.append(Message(role=Role.SYSTEM, content=notice, is_notice=True))
    await run.emit(
        ParameterRetry,
        attempt=attempt,
        calls=tuple(call_id for call_id, _ in failed),
        notice=notice,
        errors=tuple(result.error for _, result in failed),
    )
