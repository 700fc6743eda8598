"""Judges what a model answered, and how a loop ended.

Place in the house: ``agents.runs.loop_checks``, pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.loop.arguments import (
    ArgumentsProblem,
    equal_key,
    parse_arguments,
    validate_arguments,
)
from agents.loop.catalog import ToolCatalog
from agents.loop.events import Event, ToolCallFinished
from agents.loop.interfaces import ModelAnswer
from agents.loop.limits import RunLimits
from agents.loop.messages import JsonObject, ToolCall
from agents.loop.request import RunOutcome
from agents.runs.loop_checks.tools import CODE_WORD, PlannedCall
from agents.runs.loop_checks.words import Cause

_CALL_MARKS = re.compile(
    r"<\|?/?(?:tool_call|function|tool_calls|python_tag|tool▁call)|\[TOOL_CALLS\]|"
    r"[\"']?(?:arguments|parameters|tool_calls?)[\"']?\s*:\s*[{\[\"]"
)

Found = tuple[Cause, JsonObject]


def judge_call(answer: ModelAnswer, catalog: ToolCatalog, asked: PlannedCall) -> Found:
    """Check 1: what the answer to a request for a call is."""
    facts: JsonObject = {"tool": asked.tool.name, "called": "", "said": said(answer.text)}
    if answer.finish_reason == "length":
        return Cause.CUT_OFF, facts
    if not answer.tool_calls:
        return _judge_text(answer.text, asked), facts
    for call in answer.tool_calls:
        facts["called"] = call.name
        tool = catalog.offered.get(call.name)
        if tool is None:
            return Cause.UNKNOWN_NAME, facts
        try:
            validate_arguments(parse_arguments(call.arguments), tool.validator)
        except ArgumentsProblem as problem:
            return Cause.BAD_ARGUMENTS, {**facts, "said": said(str(problem))}
    names = [call.name for call in answer.tool_calls]
    if asked.tool.name not in names:
        return Cause.CALLED_ANOTHER, facts
    return Cause.CALLED, facts


def _judge_text(text: str, asked: PlannedCall) -> Cause:
    if not text.strip():
        return Cause.EMPTY
    is_written = asked.tool.name in text and "{" in text and "}" in text
    return Cause.CALL_AS_TEXT if is_written or _CALL_MARKS.search(text) else Cause.NO_CALL


def judge_continuation(answer: ModelAnswer, made: Sequence[ToolCall]) -> Found:
    """Check 2: what the answer to a result is; ``made`` are the calls that it answers."""
    facts: JsonObject = {"called": "", "said": said(answer.text)}
    if answer.tool_calls:
        former = {(call.name, _equal(call)) for call in made}
        is_again = any((call.name, _equal(call)) in former for call in answer.tool_calls)
        facts["called"] = answer.tool_calls[0].name
        return (Cause.CALLED_AGAIN if is_again else Cause.CALLED_ON), facts
    if not answer.text.strip():
        return (Cause.CUT_OFF if answer.finish_reason == "length" else Cause.EMPTY), facts
    is_used = CODE_WORD in answer.text.replace("\u2011", "-").lower()
    return (Cause.RESULT_USED if is_used else Cause.RESULT_TAKEN), facts


_STOPS = {
    "repeats": Cause.REPEATS,
    "errors": Cause.ERRORS,
    "time": Cause.OUT_OF_TIME,
    "tokens": Cause.TOKENS,
    "truncated": Cause.TRUNCATED,
    "context": Cause.CONTEXT,
    "empty": Cause.EMPTY,
    "provider_error": Cause.MODEL_FAILED,
}


def judge_loop(
    outcome: RunOutcome, events: Sequence[Event], *, planned: int, limits: RunLimits
) -> Found:
    """Check 3: how the loop ended."""
    results = [event.result for event in events if isinstance(event, ToolCallFinished)]
    failed = [result for result in results if result.is_failure]
    facts: JsonObject = {
        "turns": outcome.turns,
        "calls": len(results),
        "planned": planned,
        "failed": len(failed),
        "said": said(outcome.answer),
        "max_turn": limits.max_turn,
        "seconds": f"{limits.run_timeout_seconds:g}",
        "reason": outcome.stop_reason,
        "error": outcome.error,
        "hint": "",
        "called": "",
    }
    if outcome.level == 1 and outcome.stop_reason == "answered":
        if not results:
            return Cause.NOT_BEGUN, facts
        is_whole = len(results) >= planned and not failed
        return (Cause.ENDED if is_whole else Cause.ENDED_EARLY), facts
    if outcome.stop_reason == "errors" and failed:
        facts["said"] = said(failed[-1].error)
    if outcome.stop_reason == "max_turns":
        cut = [result for result in results if result.is_truncated]
        facts["called"] = cut[-1].call.name if cut else ""
        return (Cause.CUT_RESULTS if cut else Cause.MAX_TURNS), facts
    return _STOPS.get(outcome.stop_reason, Cause.STOPPED), facts


def said(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _equal(call: ToolCall) -> str:
    try:
        return equal_key(parse_arguments(call.arguments))
    except ArgumentsProblem:
        return str(call.arguments)
