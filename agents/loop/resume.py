"""Going on with a run that another process began and did not finish.

Place in the house: ``agents.loop``. What was stored is taken as it is; the run goes on behind it. A
call whose result nobody knows is not sent again: it gets the outcome ``interrupted`` and the model
decides, unless the tool says that running it twice does no harm, or the call still waited for a
person.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from agents.loop.beginning import build_request
from agents.loop.circles import NOT_EXECUTED
from agents.loop.circling import count_result
from agents.loop.events import RunResumed, ToolCallFinished, ToolCallStarted, TurnStarted
from agents.loop.hooks import CreateDecision
from agents.loop.interfaces import ModelAnswer
from agents.loop.messages import ToolCall, text_of
from agents.loop.model_request import Answer
from agents.loop.parameter_retry import FirstTurn, run_first_turn
from agents.loop.request import Resume, RunOutcome
from agents.loop.results import ToolResult
from agents.loop.state import RunState
from agents.loop.tool_calls import result_message, unfinished_result
from agents.loop.turn_calls import run_calls
from agents.loop.turns import close_turn, first_answer, start_turn
from agents.loop.wire import WireRules, call_ids


async def begin_turns(run: RunState, decision: CreateDecision) -> FirstTurn | RunOutcome | int:
    """The first turn, or what takes its place; the number of the next turn for a run that is
    resumed behind its first one.
    """
    if run.request.resume is not None:
        return await _go_on(run, decision, run.request.resume)
    answer = await first_answer(run, decision)
    return answer if isinstance(answer, RunOutcome) else await run_first_turn(run, answer)


async def tell_resumed(run: RunState) -> None:
    """Tell the sinks that this process goes on with a run of another one."""
    resume = run.request.resume
    if resume is not None:
        await run.emit(
            RunResumed,
            turn=resume.turn,
            takeover=resume.takeover,
            started_ns=resume.started_ns,
        )


async def _go_on(run: RunState, decision: CreateDecision, resume: Resume) -> FirstTurn | int:
    await build_request(run, decision)
    _restore(run, resume)
    run.turns = run.open_turn = resume.turn
    await run.emit(TurnStarted, turn=resume.turn)
    known = {result.call.key for result in resume.results}
    own = {call.key for call in resume.answer.tool_calls}
    before = [result for result in resume.results if result.call.key in own]
    missing = [call for call in resume.answer.tool_calls if call.key not in known]
    results = [*before, *await _settle(run, resume, missing)]
    if resume.turn == 0:
        run.guards.note_turn(run.results)
        return FirstTurn(answer=_answer(resume), results=list(run.results))
    run.guards.note_turn(results)
    await close_turn(run, resume.turn, results, is_last_turn=resume.turn >= run.limits.max_turn)
    await start_turn(run, resume.turn + 1)
    return resume.turn + 1


def _restore(run: RunState, resume: Resume) -> None:
    """The run's messages, results and counts as they were."""
    run.messages += resume.messages
    run.results, run.call_count = list(resume.results), len(resume.results)
    run.input_tokens, run.output_tokens = resume.input_tokens, resume.output_tokens
    turns = [
        (turn, list(group))
        for turn, group in groupby(resume.results, key=lambda result: _turn_of(result.call))
    ]
    for turn, results in turns:
        for result in results:
            count_result(run, result)
            if result.outcome not in NOT_EXECUTED:
                run.guards.take_call(result.call.name, None)
        if turn != str(resume.turn):
            run.guards.note_turn(results)


def _turn_of(call: ToolCall) -> str:
    """The turn in a call's key, ``run:turn:attempt:position``."""
    return call.key.split(":")[1] if call.key.count(":") == 3 else ""


def _answer(resume: Resume) -> Answer:
    message = resume.answer
    answer = ModelAnswer(text=text_of(message.content), tool_calls=message.tool_calls)
    return Answer(message=message, answer=answer)


async def _settle(run: RunState, resume: Resume, missing: Sequence[ToolCall]) -> list[ToolResult]:
    """A result for each call that has none: executed where that is safe, else interrupted."""
    again = [call for call in missing if _may_run(run, resume, call)]
    lost = [call for call in missing if call not in again]
    results = [await _interrupt(run, resume, call) for call in lost]
    if again:
        results += await run_calls(run, again, turn=resume.turn, attempt=resume.attempt)
    return results


def _may_run(run: RunState, resume: Resume, call: ToolCall) -> bool:
    tool = run.catalog.offered.get(call.name)
    return call.key in resume.unsent or (tool is not None and tool.spec.is_repeatable)


async def _interrupt(run: RunState, resume: Resume, call: ToolCall) -> ToolResult:
    """The result of a call that may have had an effect, told and kept."""
    result = unfinished_result(run, call, None, is_interrupted=True)
    rules = run.wire.rules if run.wire is not None else WireRules(provider="")
    run.call_ids.update(call_ids(run.messages, rules))
    place = {"turn": resume.turn, "attempt": resume.attempt, "call_id": run.call_ids[call.key]}
    named = {"server": result.server, "tool": result.tool}
    await run.emit(ToolCallStarted, call=call, arguments=call.arguments, **named, **place)
    await run.emit(ToolCallFinished, result=result, message=result_message(result), **place)
    run.messages.append(result_message(result))
    run.results.append(result)
    run.call_count += 1
    return result
