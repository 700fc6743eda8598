"""What the checks say to a model, in the language of models. Pure.

Place in the house: ``agents.runs.loop_checks``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agents.loop.messages import ToolCall
from agents.runs.loop_checks.tools import PlannedCall

HAND_MADE_ID = "call_0123456789ab"


def question_for(call: PlannedCall) -> str:
    """Asks for one call, then for a sentence."""
    return (
        f"This is a test of your tools. Call the tool `{call.tool.name}` once, with exactly these "
        f"arguments: {_json(call)} When you have its result, say in one short sentence what it "
        "was, word for word, and do nothing else."
    )


def steps_for(calls: Sequence[PlannedCall]) -> str:
    """Asks for the calls, one in each answer, then for a sentence."""
    steps = " ".join(
        f"{'First' if place == 0 else 'When you have that result,'} call the tool "
        f"`{call.tool.name}` with exactly these arguments: {_json(call)}"
        for place, call in enumerate(calls)
    )
    return (
        "This is a test of your tools. Work in steps, with one tool call in each answer. "
        f"{steps} When you have the last result, say in one short sentence what you got, and do "
        "nothing else."
    )


def hand_made_call(call: PlannedCall) -> ToolCall:
    """The call as a model would have made it."""
    return ToolCall(id=HAND_MADE_ID, name=call.tool.name, arguments=_json(call))


def _json(call: PlannedCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)
