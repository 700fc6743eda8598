"""The tree: rows in order with their words and bars, sentences that belong to their turns."""

from __future__ import annotations

import time
from typing import Any

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.events import MS, START_NS
from tests.traces.inspection.recorded import Recorded, RunTeller, weather_call
from traces.inspection import build
from traces.inspection.view_models import RowView
from traces.inspection.windows import FOLD_OVER
from traces.records import SpanRecord, TraceRecord


def begun(**limits: Any) -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.begin(**limits)
    return recorded, run


def outline(recorded: Recorded) -> list[str]:
    """The tree as text: letter, title, argument, note; sentences behind a dash."""
    lines = []
    for line in recorded.page().tree.lines:
        if line.sentence is not None:
            lines.append(f"{'  ' * line.sentence.level}- {line.sentence.text}")
        if line.row is not None:
            row = line.row
            words = [row.kind.letter, row.title, row.argument, row.note]
            lines.append("  " * row.level + " ".join(filter(None, words)))
    return lines


def row(recorded: Recorded, title: str) -> RowView:
    found = [view for view in recorded.row_views() if view.title == title]
    assert len(found) == 1, [view.title for view in recorded.row_views()]
    return found[0]


def corrected_run() -> Recorded:
    recorded, run = begun(max_turn=1)
    error = (
        "Invalid arguments for weather__get: the arguments do not fit the tool's schema: "
        'the required property "city" is missing; unknown properties ["town"]; allowed are '
        '["city"]. Received: {"town": "Lima"}'
    )
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"))
    run.run_call("a", arguments={"city": "Oslo"})
    run.run_call(
        "b", Outcome.INVALID_ARGUMENTS, arguments={"town": "Lima"}, error=error,
        is_correctable=True, duration_ms=0,
    )  # fmt: skip
    run.tell(events.ParameterRetry, attempt=2, calls=("call_b",), notice="Mend.", errors=(error,))
    run.say("", weather_call("c"), attempt=2)
    run.run_call(
        "c", Outcome.TOOL_ERROR, attempt=2, error="connection to station feed 84628 refused"
    )
    run.close(0, "continued", calls=3, failed=2)
    run.loop_turn(
        1, decision="", full_text="x" * 18_204, text="x" * 8_000, is_truncated=True, tool="history"
    )
    run.give_up("max_turns", turn=1)
    run.fall_back("max_turns")
    return recorded


def test_a_run_reads_from_top_to_bottom() -> None:
    assert outline(corrected_run()) == [
        "  A helper run",
        "    P catalog 0 offered",
        "    T Turn 0 first answer, 2 attempts",
        "      M m1 asked for 2 calls",
        "      C weather / get city=Oslo",
        "      C weather / get town=Lima",
        "      - retried: `city` is required, attempt 2 of 3",
        "      R attempt 2 of 3 correction notice added",
        "        M m1 asked for 1 call",
        "        C weather / get city=Lima",
        "    - continued: 3 tool calls answered, 1 with an error that new arguments cannot mend "
        "(weather / get: “connection to station feed 84628 refused”)",
        "    T Turn 1 last one allowed",
        "      M m1 asked for 1 call",
        "      C weather / history city=Lima",
        "    - fell back: 1 of 1 turns used and the model still asked for 1 tool",
        "    F toolloop.loop_fallback level 2, no tools",
        "      M m1 answered",
        "    - stopped: no tool calls, answer level 2",
    ]


def test_a_sentence_belongs_to_its_turn() -> None:
    recorded = corrected_run()
    described = {view.sentence: view.id for view in recorded.row_views() if view.sentence}
    assert described == {view.id: view.of for view in recorded.sentence_views()}
    marks = [view.kind.letter if view.kind else view.icon for view in recorded.sentence_views()]
    assert marks == ["R", "loop", "F", "stop"]


def test_calls_tell_their_state_and_what_was_not_sent() -> None:
    recorded = corrected_run()
    calls = [view for view in recorded.row_views() if view.kind.letter == "C"]
    states = [(view.state.name, view.time) for view in calls if view.state is not None]
    assert states == [
        ("ok", "0.01 s"), ("invalid_arguments", "not sent"), ("tool_error", "0.01 s"),
        ("truncated", "0.01 s"),
    ]  # fmt: skip
    assert [view.is_bad for view in calls] == [False, True, True, False]
    assert [view.argument_is_bad for view in calls] == [False, True, False, False]
    assert calls[3].tokens == "2,000"
    assert calls[3].tokens_estimated


def test_what_was_cut_is_told_in_the_turns_sentence() -> None:
    recorded, run = begun()
    run.loop_turn(0, full_text="x" * 18_204, text="x" * 8_000, is_truncated=True)
    run.answer_in(1)
    assert recorded.sentences()[0] == (
        "continued: 1 tool call answered, cut from 18,204 to 8,000 characters"
    )


def test_bars_lie_on_one_axis_with_round_ticks() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("Sunny.", took=30_000)
    run.close(0, "answered")
    run.deliver("Sunny.")
    run.finish()
    tree = recorded.page().tree
    assert [tick.text for tick in tree.axis.ticks] == [
        "0 s", "5 s", "10 s", "15 s", "20 s", "25 s",
    ]  # fmt: skip
    model = row(recorded, "m1")
    assert [bar.look for bar in model.bars] == ["soft", "solid"]
    assert sum(float(bar.width.rstrip("%")) for bar in model.bars) > 99


def test_a_back_off_is_hatched_and_named() -> None:
    recorded, run = begun()
    run.turn(0)
    run.fail_request("Too many requests.", status=429)
    run.tell(
        events.ProviderRetry, turn=0, attempt=1, error="Too many requests.", delay_ms=1600,
        provider="main", model="m1",
    )  # fmt: skip
    run.wait(1600)
    run.say("Sunny.", try_number=2)
    run.close(0, "answered")
    run.deliver("Sunny.")
    run.finish()
    first, second = [view for view in recorded.row_views() if view.kind.letter == "M"]
    assert (first.note, second.note) == ("429, waited 1.60 s", "answered, try 2")
    assert [(bar.look, bar.title) for bar in first.bars] == [
        ("solid", ""), ("bad", "failed"), ("hatch", "back-off 1.60 s"),
    ]  # fmt: skip
    assert recorded.sentences() == ["stopped: no tool calls, after 1 provider retry (429)"]


def test_a_failover_names_both_models() -> None:
    recorded, run = begun()
    run.turn(0)
    run.fail_request("The provider refused the key.", status=401)
    run.tell(
        events.ProviderRetry, turn=0, attempt=1, error="refused", delay_ms=0, provider="other",
        model="m2", is_failover=True,
    )  # fmt: skip
    run.say("Sunny.", model="m2", try_number=2)
    run.close(0, "answered")
    run.deliver("Sunny.")
    run.finish()
    assert recorded.sentences() == [
        "stopped: no tool calls, with m2 at other in place of m1 at main (401)"
    ]
    assert row(recorded, "m1").note == "401, then m2 was asked"


def test_a_refused_and_a_kept_call_are_told() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"))
    where = {"turn": 0, "attempt": 1, "call": weather_call("a")}
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.tell(events.ToolCallWaiting, server="weather", tool="get", arguments={}, **where)
    run.wait(2000)
    run.tell(events.ToolCallDecided, is_allowed=False, reason="Not today.", by="", **where)
    run.finish_call(weather_call("a"), Outcome.DENIED, error="Not today.", server="weather",
                    tool="get")  # fmt: skip
    run.run_call("b", is_kept=True, duration_ms=0)
    run.close(0, "continued", calls=2)
    run.answer_in(1)
    assert recorded.sentences()[0] == (
        "continued: 2 tool calls answered, 1 denied (weather / get), "
        "1 with the result of an earlier attempt"
    )
    refused, kept = [view for view in recorded.row_views() if view.kind.letter == "C"]
    assert refused.note == "waited 2.00 s for a person"
    assert [bar.look for bar in refused.bars] == ["hatch"]
    assert (kept.note, kept.time) == ("earlier result used again", "not sent")
    assert recorded.details("weather.get", id=refused.id).summary.approval == (
        "A person refused it after 2.00 s: “Not today”."
    )


def test_a_running_trace_ends_at_now_and_says_so() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    run.start_call(weather_call("a"), server="weather", tool="get")
    page = recorded.page(now_ns=START_NS + 5000 * MS)
    assert page.is_running
    assert page.verdict.headline == "Running: turn 0, weather / get is at work."
    call = next(line.row for line in page.tree.lines if line.row and line.row.kind.letter == "C")
    assert call.is_running
    assert call.state is not None
    assert call.state.name == "running"
    assert [bar.look for bar in call.bars] == ["run"]
    assert call.bars[0].x.rstrip("%") < "2"
    assert page.totals.wall == "5.00 s"


def test_a_call_that_waits_for_a_person_is_told_while_it_waits() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    where = {"turn": 0, "attempt": 1, "call": weather_call("a")}
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.tell(events.ToolCallWaiting, server="weather", tool="get", arguments={}, **where)
    page = recorded.page(now_ns=START_NS + 5000 * MS)
    assert page.verdict.headline == "Waits for a person: weather / get needs approval."
    assert page.verdict.status.name == "waiting"
    assert recorded.sentences() == ["waiting: 1 call needs approval (weather / get)"]
    assert {part.name for part in page.totals.parts if part.ns > 4_000 * MS} == {"waiting"}


def test_a_span_without_its_parent_is_kept_and_marked() -> None:
    recorded, run = begun()
    run.loop_turn(0)
    run.answer_in(1)
    del recorded.spans[recorded.span("turn 0").id]
    call = row(recorded, "weather / get")
    assert call.is_orphan
    assert call.level == 1
    assert call.note == "its parent is missing"


def test_spans_in_a_circle_are_kept_and_marked() -> None:
    recorded, run = begun()
    run.loop_turn(0)
    run.answer_in(1)
    turn, call = recorded.span("turn 0"), recorded.span("weather.get")
    turn.parent = call.id
    rows = {view.id: view for view in recorded.row_views()}
    assert len(rows) == len(recorded.rows)
    assert rows[turn.id].is_orphan


def test_an_empty_trace_says_that_nothing_is_recorded() -> None:
    trace = TraceRecord(
        id="t1", run="r1", conversation="", assistant="helper", assistant_name="", user="",
        message="Hello", start_ns=START_NS,
    )  # fmt: skip
    page = build.build_page(trace, [], {}, now_ns=START_NS + MS)
    assert page.tree.lines == ()
    assert page.tree.empty == "Nothing is recorded of this run yet."
    assert page.verdict.headline == "Running."
    assert page.selected == ""
    panels = build.build_panels(trace, [], {}, now_ns=START_NS + MS)
    assert panels.ledger.headline == "0 calls, 0 results"
    assert panels.growth.columns == ()


def large_trace(turns: int) -> tuple[TraceRecord, list[SpanRecord]]:
    recorded, run = begun(max_turn=turns)
    for turn in range(turns):
        run.loop_turn(turn)
    run.answer_in(turns)
    assert recorded.trace is not None
    return recorded.trace, recorded.rows


def test_a_large_trace_gives_its_turns_first_and_the_rest_on_demand() -> None:
    trace, spans = large_trace(FOLD_OVER // 3 + 1)
    page = build.build_page(trace, spans, {}, now_ns=0, turn="7")
    rows = {line.row.title: line.row for line in page.tree.lines if line.row}
    assert rows["Turn 7"].hidden == 0
    assert rows["Turn 8"].hidden == 2
    assert rows["Turn 8"].hidden_text == "2 rows more"
    shown = sum(line.row is not None for line in page.tree.lines)
    assert shown + page.tree.hidden == page.tree.spans == len(spans)
    branch = build.build_branch(trace, spans, {}, span_id=rows["Turn 8"].id, now_ns=0)
    assert [(line.row.title, line.row.level) for line in branch if line.row] == [
        ("m1", 3), ("weather / get", 3),
    ]  # fmt: skip


def test_ten_thousand_spans_take_time_in_proportion() -> None:
    def seconds(turns: int) -> float:
        trace, spans = large_trace(turns)
        began = time.process_time()
        build.build_page(trace, spans, {}, now_ns=0)
        return time.process_time() - began

    seconds(50)
    small, large = seconds(330), seconds(3300)
    assert large < 40 * small
    assert large < 8
