"""What the list of traces counts is what the page of a trace counts."""

from __future__ import annotations

import pytest

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.events import MS, Teller, tool_call
from tests.traces.stored import store_run, tell_failed_call, tell_fallback, tell_one_call
from traces.inspection_rows import load_spans
from traces.tallies import SHARE, tally_of
from traces.trace_page import find_trace, page_of

pytestmark = pytest.mark.django_db


def segments(rail: object) -> list[list[int | str]]:
    assert isinstance(rail, dict)
    return list(rail["segments"])


def tell_three_calls_at_once(teller: Teller) -> None:
    calls = [tool_call(f"r1:0:1:{place}") for place in range(3)]
    teller.tell(events.TurnStarted, turn=0)
    teller.ask({"role": "user", "content": "Hello"})
    teller.answer("", *calls)
    for call in calls:
        teller.start_call(call)
    for call in calls:
        teller.finish_call(call, Outcome.TIMEOUT if call is calls[1] else Outcome.OK)


def tell_everything(teller: Teller) -> None:
    tell_three_calls_at_once(teller)
    tell_failed_call(teller)
    tell_fallback(teller)


@pytest.mark.parametrize(
    "tell", [tell_one_call, tell_failed_call, tell_three_calls_at_once, tell_everything]
)
def test_errors_retries_and_times_are_those_of_the_page(tell: object) -> None:
    trace = store_run(tell=tell)  # type: ignore[arg-type]
    loaded = find_trace(trace.pk)
    assert loaded is not None
    page = page_of(loaded)
    counts = {count.name: count.count for count in page.verdict.counts}
    assert trace.errors == counts["errors"]
    assert trace.retries == counts["parameter_retries"] + counts["provider_retries"]
    assert trace.fell_back is (counts["fallbacks"] > 0)
    parts = {part.name: part.ns // MS for part in page.totals.parts}
    assert trace.summary is not None
    stored = {name: trace.summary[f"{name}_ms"] for name in ("model", "tools", "waiting")}
    assert stored == {name: parts[name] for name in stored}
    assert trace.duration_ms == page.totals.wall_ns // MS


def test_calls_at_once_lie_in_lanes_and_a_failure_is_marked() -> None:
    trace = store_run(tell=tell_three_calls_at_once)
    calls = [segment for segment in segments(trace.summary) if segment[0] == "C"]
    assert [segment[4:] for segment in calls] == [[0, 3, 0], [1, 3, 1], [2, 3, 0]]
    for _kind, start, width, *_rest in segments(trace.summary):
        assert 0 <= int(start) <= SHARE
        assert 0 < int(width) <= SHARE


def test_a_call_that_waits_for_a_person_is_seen_while_it_waits() -> None:
    call = tool_call("r1:0:1:0")

    def tell(teller: Teller) -> None:
        teller.tell(events.TurnStarted, turn=0)
        teller.tell(
            events.ToolCallWaiting, turn=0, attempt=1, call=call, server="notes", tool="delete",
            arguments={},
        )  # fmt: skip

    trace = store_run(tell=tell, is_ended=False)
    now_ns = trace.start_ns + 60_000 * MS
    summary = tally_of(load_spans(trace.pk)).sum_up(trace.start_ns, now_ns)
    assert summary.is_waiting
    assert [segment[0] for segment in segments(summary.rail)] == ["O", "W"]
    assert int(str(summary.rail["waiting_ms"])) > 59_000


def test_of_a_very_long_run_the_widest_bars_are_kept() -> None:
    def tell(teller: Teller) -> None:
        for turn in range(400):
            teller.tell(events.TurnStarted, turn=turn)
            teller.ask({"role": "user", "content": "Hello"}, turn=turn)
            teller.answer("x", turn=turn)

    trace = store_run(tell=tell)
    assert len(segments(trace.summary)) == 150
