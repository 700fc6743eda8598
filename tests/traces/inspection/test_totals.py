"""The numbers of the header: parts that add up, tokens counted once, counts that lead somewhere."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop import events
from agents.loop.interfaces import Usage
from agents.loop.results import Outcome
from tests.traces.events import MS
from tests.traces.inspection.endings import ENDINGS, Ending
from tests.traces.inspection.recorded import PROMPT, QUESTION, Recorded, RunTeller, weather_call
from traces.inspection.view_models import PartView

NOT_RUN = (Outcome.DENIED, Outcome.SKIPPED, Outcome.NOT_ALLOWED)


def begun(**limits: Any) -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.begin(**limits)
    return recorded, run


def parts_of(recorded: Recorded) -> dict[str, PartView]:
    return {part.name: part for part in recorded.page().totals.parts}


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_the_parts_of_the_time_add_up_to_the_whole(ending: Ending) -> None:
    totals = ending.recorded().page().totals
    assert sum(part.ns for part in totals.parts) == totals.wall_ns
    assert all(part.ns >= 0 for part in totals.parts)


def test_calls_at_the_same_time_are_counted_once() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"), took=100)
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.start_call(weather_call("b"), server="weather", tool="get")
    run.wait(500)
    run.finish_call(weather_call("a"))
    run.finish_call(weather_call("b"))
    run.close(0, "continued", calls=2)
    run.answer_in(1)
    parts = parts_of(recorded)
    assert 500 * MS <= parts["tools"].ns <= 506 * MS
    assert parts["tools"].text == "0.50 s"


def test_waiting_is_what_nothing_else_fills_and_says_for_what() -> None:
    recorded, run = begun()
    run.turn(0)
    run.fail_request("Too many requests.", status=429)
    run.tell(
        events.ProviderRetry, turn=0, attempt=1, error="Too many requests.", delay_ms=1600,
        provider="main", model="m1",
    )  # fmt: skip
    run.wait(1600)
    run.say("", weather_call("a"), try_number=2)
    where = {"turn": 0, "attempt": 1, "call": weather_call("a")}
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.tell(events.ToolCallWaiting, server="weather", tool="get", arguments={}, **where)
    run.wait(3000)
    run.tell(events.ToolCallDecided, is_allowed=True, reason="", by="", **where)
    run.wait(200)
    run.finish_call(weather_call("a"))
    run.close(0, "continued", calls=1)
    run.answer_in(1)
    parts = parts_of(recorded)
    assert parts["waiting"].detail == "approval 3.00 s, back-off 1.60 s, tool lists of servers 1 ms"
    assert parts["waiting"].is_hatched
    assert 200 * MS <= parts["tools"].ns <= 205 * MS
    assert recorded.page().totals.first_token == "1.61 s"


def test_cached_and_reasoning_tokens_are_parts_and_child_runs_are_counted_once() -> None:
    recorded, run = begun()
    usage = Usage(input_tokens=1000, output_tokens=60, cached_tokens=700, reasoning_tokens=20)
    run.turn(0)
    run.say("", usage=usage)
    run.close(0, "delegated")
    run.tell(events.Delegated, assistant="billing")
    child = recorded.teller("r2")
    child.told = run.told
    child.start(parent_run="r1", assistant="billing", limits={})
    child.answer_in(0)
    run.told = child.told
    run.finish(stop_reason="delegated")
    tokens = recorded.page().totals.tokens
    assert (tokens.input, tokens.output) == ("1,100", "70")
    assert (tokens.cached, tokens.reasoning) == ("700 cached", "20 reasoning")
    assert tokens.children == "110 of them in 1 child run"
    assert not tokens.is_estimated


def test_a_request_that_was_not_counted_is_told() -> None:
    recorded, run = begun()
    run.answer_in(0, usage=None)
    tokens = recorded.page().totals.tokens
    assert tokens.is_estimated
    assert tokens.estimated == "1 request without a count from the provider"


def test_more_cached_tokens_than_were_read_are_cut_and_told() -> None:
    recorded, run = begun()
    run.answer_in(0, usage=Usage(input_tokens=100, output_tokens=10, cached_tokens=250))
    assert recorded.page().totals.tokens.cached == (
        "100 cached at most: the provider's counts contradict each other"
    )
    facts = {fact.name: fact.text for fact in recorded.details("chat m1").summary.facts}
    assert facts["tokens in"] == "100, 250 of them cached, as the provider says, which cannot be"


def test_a_count_of_nothing_is_no_count() -> None:
    recorded, run = begun()
    run.answer_in(0, usage=Usage(input_tokens=0, output_tokens=0))
    estimated = recorded.page().totals.tokens.estimated
    assert estimated == "1 request without a count from the provider"
    facts = {fact.name: fact.text for fact in recorded.details("chat m1").summary.facts}
    assert facts["tokens in"] == facts["tokens out"] == "without a count from the provider"


def test_an_answer_that_broke_off_tells_when_its_first_token_came() -> None:
    recorded, run = begun()
    run.turn(0)
    run.ask(PROMPT, QUESTION)
    run.wait(500)
    run.tell(
        events.ModelFailed, turn=0, attempt=1, provider="main", model="m1", error="Broke off.",
        kind="ModelUnreachable", partial="Sun", exchange={"chunks": [[120.0, "Sun"]]},
    )  # fmt: skip
    run.close(0, "failed", "provider_error")
    run.end_fixed("provider_error", "Broke off.")
    assert recorded.page().totals.first_token == "0.12 s"
    facts = {fact.name: fact.text for fact in recorded.details("chat m1").summary.facts}
    assert facts["first token"] == "0.12 s"


def test_calls_that_were_not_to_run_are_counted_and_lead_to_their_spans() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"), weather_call("c"))
    for key, outcome in zip("abc", NOT_RUN, strict=True):
        run.run_call(key, outcome, error="no", tool=key)
    run.close(0, "continued", calls=3)
    run.answer_in(1)
    page = recorded.page()
    counts = {count.name: (count.text, count.spans) for count in page.verdict.counts}
    for name, key in (("denied", "a"), ("skipped", "b"), ("not_allowed", "c")):
        words = name.replace("_", " ")
        assert counts[name] == (f"1 {words}", (recorded.span(f"weather.{key}").id,))
    assert [row.title for row in recorded.row_views() if row.is_stop] == [
        "weather / a", "weather / b", "weather / c",
    ]  # fmt: skip


def test_retries_of_arguments_and_of_the_provider_are_counted_apart_and_lead_to_their_spans() -> (
    None
):
    recorded, run = begun()
    run.turn(0)
    run.fail_request("Overloaded.", status=503)
    run.tell(
        events.ProviderRetry, turn=0, attempt=1, error="Overloaded.", delay_ms=10,
        provider="main", model="m1",
    )  # fmt: skip
    run.say("", weather_call("a"))
    run.run_call("a", Outcome.INVALID_ARGUMENTS, error="wrong", is_correctable=True)
    run.tell(events.ParameterRetry, attempt=2, calls=("call_a",), notice="Mend.", errors=("wrong",))
    run.say("", weather_call("b"), attempt=2)
    run.run_call("b", attempt=2)
    run.close(0, "continued", calls=2, failed=1)
    run.answer_in(1)
    counts = {count.name: count for count in recorded.page().verdict.counts}
    assert {name: count.text for name, count in counts.items() if count.count} == {
        "errors": "2 errors",
        "parameter_retries": "1 retry",
        "provider_retries": "1 provider retry",
    }
    failed = recorded.span("chat m1", status="error")
    retry = recorded.span("parameter retry, attempt 2")
    assert counts["provider_retries"].spans == (failed.id,)
    assert counts["parameter_retries"].href == f"?turn=0&span={retry.id}"
    assert recorded.page().error_spans == counts["errors"].spans
