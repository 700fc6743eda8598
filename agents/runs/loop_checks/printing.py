"""The checks as lines for a terminal.

Place in the house: ``agents.runs.loop_checks``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from agents.loop.messages import JsonObject, JsonValue
from agents.runs.loop_checks.outcomes import LoopCheck, LoopReport, Verdict


def check_lines(check: LoopCheck, *, is_raw: bool) -> Iterator[str]:
    """A check: its verdict, what was found, what to do, and with ``is_raw`` the raw exchange."""
    yield f"{check.check}. {check.title}: {check.verdict}"
    yield f"   {check.sentence}"
    if check.hint:
        yield f"   -> {check.hint}"
    if is_raw:
        for step in check.exchange:
            yield from (f"   | {line}" for line in step_text(step).splitlines())


def summary_line(report: LoopReport) -> str:
    """One line on all of it."""
    passed = sum(check.verdict is Verdict.PASSED for check in report.checks)
    asked = f"{report.provider} / {report.model}" if report.model else "no model"
    verdict = "The loop is closed" if report.is_closed else "The loop is not closed"
    return f"{verdict}: {passed} of 3 checks passed ({asked}, {report.seconds:.1f} s)"


def step_text(step: JsonObject) -> str:
    """One step of a raw exchange: what was sent, and what came back."""
    if "call" in step:
        sent = f"call {step['call']} {_compact(step['arguments'])}"
        return f"{sent}\n{step['outcome']}: {step['result']}"
    lines = [f"request {_indented(step['request'])}", f"status {step['status']}"]
    chunks = step.get("chunks")
    if isinstance(chunks, list):
        lines += [_chunk_text(chunk) for chunk in chunks]
    if step.get("left_out"):
        lines.append(f"and {step['left_out']} more chunks")
    if step.get("answer"):
        lines.append(f"put together {_indented(step['answer'])}")
    if step.get("error"):
        lines.append(f"error: {step['error']}")
    return "\n".join(lines)


def _chunk_text(chunk: JsonValue) -> str:
    if isinstance(chunk, list) and len(chunk) == 2:
        return f"{chunk[0]:>8} ms  {chunk[1]}"
    return str(chunk)


def _indented(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
