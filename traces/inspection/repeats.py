"""Calls of a run that are the same: compared as the engine compares them.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

import json

from traces.inspection.reading import Reading, text
from traces.records import SpanRecord

NOT_EXECUTED = frozenset(
    {
        "invalid_arguments",
        "unknown_tool",
        "not_allowed",
        "denied",
        "skipped",
        "cancelled",
        "interrupted",
        "",
    }
)
"""Outcomes that the engine's repeat guard does not count."""


def main_run(reading: Reading) -> str:
    """The run that did the work: the root run, or where that had no turn, the last that had."""
    runs = [span.run for span in reading.spans if span.kind == "turn"]
    root = reading.trace.run
    return root if root in runs or not runs else runs[-1]


def calls_of(reading: Reading, run: str) -> list[SpanRecord]:
    """The calls of a run in order."""
    return [span for span in reading.spans if span.kind == "tool_call" and span.run == run]


def is_executed(span: SpanRecord) -> bool:
    """Whether a call was sent, as the repeat guard sees it."""
    kept = bool(span.attributes.get("toolloop.kept"))
    return text(span, "toolloop.outcome") not in NOT_EXECUTED and not kept


def call_identity(reading: Reading, span: SpanRecord) -> tuple[str, str]:
    """Tool and arguments as one value; equal for equal calls (1 and 1.0 are equal, as is any order
    of keys)."""
    arguments = reading.payload(span, "gen_ai.tool.call.arguments")
    if arguments is None:
        known = str(span.attributes.get("gen_ai.tool.call.arguments"))
    else:
        known = json.dumps(_canonical(arguments), sort_keys=True, default=str)
    return text(span, "toolloop.call.name"), known


def same_calls(reading: Reading, run: str) -> list[list[SpanRecord]]:
    """Executed calls with the same tool, arguments, outcome and result; each list has two or
    more."""
    groups: dict[tuple[object, ...], list[SpanRecord]] = {}
    for span in calls_of(reading, run):
        if is_executed(span):
            result = span.attributes.get("gen_ai.tool.call.result")
            key = (*call_identity(reading, span), text(span, "toolloop.outcome"), str(result))
            groups.setdefault(key, []).append(span)
    return [spans for spans in groups.values() if len(spans) > 1]


def _canonical(value: object) -> object:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
