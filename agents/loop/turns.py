"""The steps of the loop: the first answer, the way into the loop, one turn of it.

Place in the house: ``agents.loop``; ``run.py`` puts these together.
"""

from __future__ import annotations

from agents.loop.answering import ask_model
from agents.loop.beginning import build_request
from agents.loop.endings import Failed, GaveUp, HandedBack
from agents.loop.errors import ModelError
from agents.loop.events import LimitReached, TurnFinished, TurnStarted
from agents.loop.finishing import apply_next_hook
from agents.loop.hooks import CreateDecision
from agents.loop.limits import LIMIT_OF_REASON
from agents.loop.model_request import Answer
from agents.loop.parameter_retry import FirstTurn
from agents.loop.request import RunOutcome
from agents.loop.results import ToolResult
from agents.loop.state import RunState
from agents.loop.turn_calls import run_calls


async def first_answer(run: RunState, decision: CreateDecision) -> Answer | RunOutcome:
    """The model's first answer, or what the next hook makes of its failure.

    Raises ``ModelError`` or ``Failed`` where no hook steps in.
    """
    try:
        await build_request(run, decision)
        await start_turn(run, 0)
        return await ask_model(run, turn=0)
    except (ModelError, Failed) as error:
        replaced = await apply_next_hook(run, error=str(error))
        if replaced is None:
            raise
        return replaced


async def enters_loop(run: RunState, first_turn: FirstTurn) -> bool:
    """Whether the tool loop follows. Raises ``GaveUp`` where a guard ends the run right here."""
    if not first_turn.last_calls or not run.assistant.tool_loop:
        return False
    await close_turn(run, 0, first_turn.results)
    await start_turn(run, 1)
    return True


async def run_loop_turn(run: RunState, turn: int, answer: Answer) -> None:
    """Execute a turn's calls and go on. Raises ``GaveUp`` with the stop reason where a limit
    acts.
    """
    run.messages.append(answer.message)
    run.guards.note_answer(is_truncated=answer.is_truncated)
    results = await run_calls(
        run, answer.message.tool_calls, turn=turn, is_truncated=answer.is_truncated
    )
    run.guards.note_turn(results)
    await close_turn(run, turn, results, is_last_turn=turn >= run.limits.max_turn)
    await start_turn(run, turn + 1)


async def start_turn(run: RunState, turn: int) -> None:
    """Begin a turn. Raises ``HandedBack`` where the process ends."""
    if run.outside.is_ending:
        raise HandedBack("the process ends")
    run.turns = turn
    run.open_turn = turn
    await run.emit(TurnStarted, turn=turn)


async def close_turn(
    run: RunState, turn: int, results: list[ToolResult], *, is_last_turn: bool = False
) -> None:
    """End a turn whose calls are answered. Raises ``GaveUp`` where a limit or guard says stop."""
    reason = run.stop_reason(is_last_turn=is_last_turn)
    run.open_turn = None
    if reason is not None:
        option = LIMIT_OF_REASON[reason]
        detail = _limit_detail(run, reason)
        await run.emit(LimitReached, turn=turn, option=option, detail=detail)
    await run.emit(
        TurnFinished,
        turn=turn,
        decision="stopped" if reason else "continued",
        reason=reason or "",
        calls=len(results),
        failed_calls=sum(result.is_failure for result in results),
    )
    if reason is not None:
        raise GaveUp(reason)


async def out_of_time(run: RunState) -> GaveUp:
    """Tell that the run's time limit acted; the ending that follows."""
    detail = _limit_detail(run, "time")
    turn = run.open_turn if run.open_turn is not None else run.turns
    await run.emit(LimitReached, turn=turn, option=LIMIT_OF_REASON["time"], detail=detail)
    return GaveUp("time")


def _limit_detail(run: RunState, reason: str) -> str:
    limits = run.limits
    return {
        "time": f"the run took {limits.run_timeout_seconds:g} seconds",
        "tokens": f"the run used {limits.max_run_tokens} tokens",
        "truncated": "tool calls were cut off twice in a row",
        "repeats": "the same call was refused twice",
        "errors": f"every call failed in {limits.max_consecutive_errors} turns in a row",
        "max_turns": f"{limits.max_turn} of {limits.max_turn} turns used",
    }[reason]
