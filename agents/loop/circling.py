"""The guards around a call: refused before, counted after, each told to the trace.

Place in the house: ``agents.loop``; what a circle is stands in ``circles.py``.
"""

from __future__ import annotations

from dataclasses import replace

from agents.loop.arguments import ArgumentsProblem, equal_key, parse_arguments
from agents.loop.circles import with_warning
from agents.loop.events import LimitReached, Turn
from agents.loop.messages import ToolCall
from agents.loop.results import Outcome, ToolResult
from agents.loop.state import RunState
from agents.loop.tool_calls import PreparedCall, refused_result


async def refuse_excess(
    run: RunState, prepared: PreparedCall, turn: Turn
) -> PreparedCall | ToolResult:
    """The call, or its refusal where it goes in a circle, or where its tool was called as often as
    one run may."""
    name, most, option = prepared.call.name, prepared.tool.limits.calls, "repeat_limit"
    text = run.guards.circles.why_refused(name, prepared.equal, is_polling=_polls(run, name))
    if not text and not run.guards.take_call(name, most):
        option = "max_calls"
        text = (
            f"This call was not executed: {name} may be called {most} times in one run. Use the "
            "results that you have, or answer."
        )
    if not text:
        return prepared
    await run.emit(LimitReached, turn=turn, option=option, detail=f"{name}: not executed")
    refused = refused_result(run, prepared.call, Outcome.SKIPPED, text, prepared.tool)
    return replace(refused, arguments=prepared.arguments)


async def note_result(run: RunState, result: ToolResult, turn: Turn) -> ToolResult:
    """Count a call with what came of it; its result, with a warning where it goes in a circle."""
    warning = count_result(run, result)
    if not warning:
        return result
    detail = f"{result.call.name}: the model was warned"
    await run.emit(LimitReached, turn=turn, option="repeat_limit", detail=detail)
    return replace(result, text=with_warning(result.text, warning))


def count_result(run: RunState, result: ToolResult) -> str:
    """Count a call with what came of it; the warning that its result brings, or ``""``."""
    name = result.call.name
    return run.guards.circles.note(
        name, _equal_arguments(result.call), result, is_polling=_polls(run, name)
    )


def _equal_arguments(call: ToolCall) -> str:
    try:
        return equal_key(parse_arguments(call.arguments))
    except ArgumentsProblem:
        return str(call.arguments)


def _polls(run: RunState, name: str) -> bool:
    tool = run.catalog.offered.get(name)
    return tool is not None and tool.limits.is_polling
