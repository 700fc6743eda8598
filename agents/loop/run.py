"""One run, from the user's message to the answer: the tool loop on one screen.

Place in the house: the heart of ``agents.loop``. Read ``_answer`` from top to bottom; each step is
a module of its own. What it decides, and why, stands in ``docs/tool-loop.md``.
"""

from __future__ import annotations

import asyncio

from agents.loop.answering import ask_model
from agents.loop.beginning import announce_run, ask_create_hook, open_run
from agents.loop.endings import Failed, GaveUp
from agents.loop.errors import HookError, ModelError
from agents.loop.events import Emit
from agents.loop.fallback import end_otherwise
from agents.loop.finishing import (
    accept_answer,
    apply_next_hook,
    finish_cancelled,
    finish_run,
    hand_over,
    standard_response,
)
from agents.loop.interfaces import Clock, SystemClock
from agents.loop.parameter_retry import FirstTurn
from agents.loop.request import Outside, RunOutcome, RunRequest
from agents.loop.resume import begin_turns, tell_resumed
from agents.loop.room import compact_all
from agents.loop.state import RunState
from agents.loop.turns import enters_loop, out_of_time, run_loop_turn


async def run_loop(
    request: RunRequest, *, outside: Outside, emit: Emit, clock: Clock | None = None
) -> RunOutcome:
    """Bring one run to its end and tell everything to ``emit``.

    Raises ``CancelledError`` when the run is stopped (after its open calls got their results and
    ``RunFinished`` was told); every other end is a ``RunOutcome``.
    """
    run = open_run(request, outside, emit, clock or SystemClock())
    try:
        await tell_resumed(run)
        await announce_run(run)
        outcome = await _outcome(run)
    except asyncio.CancelledError:
        await finish_cancelled(run)
        raise
    return await finish_run(run, outcome)


async def _outcome(run: RunState) -> RunOutcome:
    """The model's answer, or what takes its place: the fallback's, or the fixed text."""
    cause: GaveUp | Failed
    try:
        async with run.timer:
            return await _answer(run)
    except (GaveUp, Failed) as ending:
        cause = ending
    except TimeoutError:
        cause = await out_of_time(run)
    except ModelError as error:
        kind = GaveUp if run.results else Failed
        cause = kind("provider_error", error=error.message, hint=error.hint, detail=error.detail)
    except HookError as error:
        cause = Failed("hook_error", error=str(error), detail=error.traceback)
    return await end_otherwise(run, cause)


async def _answer(run: RunState) -> RunOutcome:
    """Section 2 of the contract: create hook, first answer, parameter retry, three ways, tool
    loop.
    """
    if run.request.only_compacts:
        return await compact_all(run)

    decision = await ask_create_hook(run)
    if decision.delegation is not None:
        return await hand_over(run, decision.delegation)

    begun = await begin_turns(run, decision)
    if isinstance(begun, RunOutcome):
        return begun
    if isinstance(begun, FirstTurn):
        replaced = await apply_next_hook(run, first_turn=begun)
        if replaced is not None:
            return replaced
        if not await enters_loop(run, begun):
            return await standard_response(run, begun)

    for turn in range(run.turns, run.limits.max_turn + 1):
        answer = await ask_model(run, turn=turn)
        if not answer.message.tool_calls:
            return await accept_answer(run, answer, turn)
        await run_loop_turn(run, turn, answer)
    raise GaveUp("max_turns")
