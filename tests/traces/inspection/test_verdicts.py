"""One sentence for every way in which a run and a turn can end, with the concrete reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from agents.loop import fixed_texts
from agents.loop.catalog import LeftOut
from agents.loop.limits import LIMIT_OF_REASON
from agents.loop.results import NOT_FAILURES, Outcome
from agents.models import RunStatus
from tests.traces.inspection.endings import ENDINGS, Ending
from tests.traces.inspection.recorded import Recorded, weather_call
from traces.inspection import marks
from traces.inspection.policy_tab import RULES
from traces.inspection.summary_facts import CALL_SENTENCES
from traces.inspection.turn_verdicts import DECISIONS
from traces.inspection.verdicts import STATUSES
from traces.models import SpanKind, SpanStatus

ENGINE = Path(__file__).parents[3] / "agents"


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_the_end_of_a_run_is_told_with_its_reason(ending: Ending) -> None:
    recorded = ending.recorded()
    assert recorded.trace is not None
    trace = recorded.trace
    assert (trace.status, trace.stop_reason, trace.level) == (
        ending.status, ending.reason, ending.level,
    )  # fmt: skip
    assert recorded.headline() == ending.headline
    if ending.sentence:
        assert ending.sentence in recorded.sentences()


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_an_ended_trace_shows_nothing_that_runs(ending: Ending) -> None:
    recorded = ending.recorded()
    assert not recorded.page().is_running
    assert not any(row.is_running for row in recorded.row_views())
    assert not any(text.startswith("running") for text in recorded.sentences())


def emitted_literals(*functions: str, keyword: str = "", position: int = 0) -> set[str]:
    """The text literals that the engine passes to functions: by keyword, else by position."""
    return {
        str(node.value)
        for path in sorted(ENGINE.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and _name_of(call) in functions
        for argument in _arguments(call, keyword, position)
        for node in ast.walk(argument)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    }


def _name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _arguments(call: ast.Call, keyword: str, position: int) -> Iterator[ast.expr]:
    if keyword:
        yield from (given.value for given in call.keywords if given.arg == keyword)
    elif len(call.args) > position:
        yield call.args[position]


def test_every_decision_of_the_engine_has_its_sentence() -> None:
    told = emitted_literals("emit", keyword="decision") | emitted_literals(
        "_close_open_turn", position=1
    )
    told.discard("reason")
    assert {"answered", "continued", "stopped", "delegated", "cancelled"} <= told
    assert told | {"failed"} == DECISIONS.keys()


def test_every_stop_reason_of_the_engine_is_among_the_tested_endings() -> None:
    given_up = set(LIMIT_OF_REASON) | emitted_literals("GaveUp") | {"provider_error"}
    failed = emitted_literals("Failed") | set(fixed_texts._REASONS["en"]) - {"worker_lost"}
    tested = {(ending.reason, ending.level) for ending in ENDINGS}
    assert {(reason, 2) for reason in given_up} <= tested
    assert {(reason, 3) for reason in failed - given_up} <= tested
    assert {("errors", 3), ("max_turns", 3), ("provider_error", 3), ("worker_lost", 3)} <= tested
    assert {("answered", 1), ("delegated", 1), ("cancelled", None)} <= tested


def test_every_stop_reason_has_a_word_of_its_own() -> None:
    assert {ending.reason for ending in ENDINGS} == marks.stop_reasons()


def test_every_status_of_a_run_has_its_sentence_and_mark() -> None:
    statuses = set(RunStatus.values)
    assert statuses - {"queued"} == STATUSES.keys()
    assert all(marks.run_state(status).icon != "unknown" for status in statuses)


def test_every_outcome_of_a_call_has_its_state_and_sentence() -> None:
    outcomes = {str(outcome) for outcome in Outcome}
    assert outcomes <= marks.call_outcomes()
    assert outcomes <= CALL_SENTENCES.keys()
    assert {str(outcome) for outcome in NOT_FAILURES} | {""} == marks.NOT_FAILURES


def test_every_reason_to_leave_a_tool_out_is_explained() -> None:
    assert {str(reason) for reason in LeftOut} == RULES.keys()


def test_every_kind_and_status_of_a_span_has_its_mark() -> None:
    assert all(marks.kind_view(kind).letter != "?" for kind in SpanKind.values)
    assert all(marks.span_state(status).icon != "unknown" for status in SpanStatus.values)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_the_verdict_is_there_in_chinese(ending: Ending) -> None:
    recorded = ending.recorded()
    with translation.override("zh-hans"):
        headline = recorded.headline()
        sentences = recorded.sentences()
    assert headline != ending.headline
    assert any("\u4e00" <= char <= "\u9fff" for char in headline)
    for sentence in sentences:
        assert any("\u4e00" <= char <= "\u9fff" for char in sentence), sentence


def after(*outcomes: Outcome) -> str:
    """The verdict of a run that answered after calls with these outcomes."""
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    run.say("", *(weather_call(str(place)) for place, _ in enumerate(outcomes)))
    for place, outcome in enumerate(outcomes):
        run.run_call(str(place), outcome, error="no")
    run.close(0, "continued", calls=len(outcomes))
    run.answer_in(1)
    return recorded.headline().removeprefix("Answered by the model in turn 1, ")


def test_calls_that_did_no_work_are_told_in_the_verdict() -> None:
    assert after(Outcome.OK) == "after 1 tool call."
    assert after(Outcome.TIMEOUT) == "after 1 tool call, which failed."
    assert after(Outcome.DENIED) == "after 1 tool call, which was denied."
    assert after(Outcome.NOT_ALLOWED) == "after asking for 1 tool that was not allowed."
    assert after(Outcome.UNKNOWN_TOOL) == "after asking for 1 tool that does not exist."
    assert after(Outcome.OK, Outcome.TOOL_ERROR, Outcome.DENIED) == (
        "after 3 tool calls, of which 1 failed, 1 denied."
    )


def test_an_error_and_its_hint_are_each_said_once() -> None:
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    run.fail_request("fake error 429", hint="Wait and try again")
    run.close(0, "failed", "provider_error")
    run.end_fixed("provider_error", "fake error 429", "Wait and try again")
    verdict = recorded.page().verdict
    said = (verdict.headline, verdict.why, verdict.advice)
    assert said == ("No answer: fake error 429.", "", "Wait and try again.")


def test_a_trace_opens_on_what_explains_its_verdict() -> None:
    recorded = ending("key refused").recorded()
    assert recorded.page().selected == recorded.span("chat m1").id
    assert recorded.details("chat m1").tab == "summary"
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.loop_turn(0, tool="fine")
    run.loop_turn(1, Outcome.DENIED, tool="refused", error="no")
    run.loop_turn(2, Outcome.TIMEOUT, tool="late", error="no")
    run.answer_in(3)
    assert recorded.page().selected == recorded.span("weather.refused").id


def ending(name: str) -> Ending:
    return next(found for found in ENDINGS if found.name == name)
