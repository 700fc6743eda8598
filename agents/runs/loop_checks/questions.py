"""What the checks say to a model, in the language of models. Pure.

Place in the house: ``agents.runs.loop_checks``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agents.loop.messages import Message, Role, ToolCall
from agents.runs.loop_checks.tools import HAND_FED, PlannedCall

HAND_MADE_ID = "call_0123456789ab"


def question_for(call: PlannedCall) -> str:
    """Asks for one call, then for its result."""
    return (
        f"Call the tool `{call.tool.name}` with exactly these arguments: {_json(call)} Do not "
        "answer from memory. When the tool has returned, tell me word for word what it returned."
    )


def steps_for(calls: Sequence[PlannedCall]) -> str:
    """Asks for the calls, one after the other, then for the results."""
    steps = " ".join(
        f"{'First' if place == 0 else 'When it has returned,'} call the tool "
        f"`{call.tool.name}` with exactly these arguments: {_json(call)}"
        for place, call in enumerate(calls)
    )
    return (
        f"Work in steps, with one tool call in each answer, and do not answer from memory. {steps} "
        "When the last tool has returned, tell me in one sentence what was returned."
    )


def hand_made_call(call: PlannedCall) -> ToolCall:
    """The call as a model would have made it."""
    return ToolCall(id=HAND_MADE_ID, name=call.tool.name, arguments=_json(call))


def hand_made_result(call: ToolCall) -> Message:
    """The result of a call, made by hand."""
    return Message(role=Role.TOOL, content=HAND_FED, tool_call_id=call.id, call_key=call.key)


def _json(call: PlannedCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)
