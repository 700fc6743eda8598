"""Below the tree: the ledger closes, limits are counted as the engine counts, smells are true."""

from __future__ import annotations

from typing import Any

from agents.loop import events
from agents.loop.interfaces import Usage
from agents.loop.messages import JsonObject, ToolCall
from agents.loop.results import Outcome
from tests.traces.inspection.endings import ENDINGS
from tests.traces.inspection.recorded import PROMPT, QUESTION, Recorded, RunTeller, weather_call
from traces.inspection.panel_models import PanelsView


def begun(**limits: Any) -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.begin(**limits)
    return recorded, run


def flags(panels: PanelsView) -> dict[str, int]:
    return {flag.name: flag.count for flag in panels.ledger.flags if flag.count}


def smells(panels: PanelsView) -> list[tuple[str, str]]:
    return [(smell.name, smell.text) for smell in panels.smells]


def ended(name: str) -> PanelsView:
    [ending] = [ending for ending in ENDINGS if ending.name == name]
    return ending.recorded().panels()


def test_every_call_stands_in_the_ledger_with_its_result() -> None:
    recorded, run = begun()
    run.loop_turn(0)
    run.loop_turn(1, Outcome.TIMEOUT, error="No answer within 30 seconds.")
    run.answer_in(2)
    ledger = recorded.panels().ledger
    assert ledger.headline == "2 calls, 2 results"
    assert ledger.is_closed
    lines = [(group.title, line.wire, line.result) for group in ledger.groups
             for line in group.lines]  # fmt: skip
    assert lines == [
        ("Turn 0", "", "5 characters"), ("Turn 1", "bad", "No answer within 30 seconds"),
    ]  # fmt: skip


def test_results_that_arrive_in_another_order_are_flagged() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"))
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.start_call(weather_call("b"), server="weather", tool="get")
    run.finish_call(weather_call("b"))
    run.finish_call(weather_call("a"))
    run.close(0, "continued", calls=2)
    run.answer_in(1)
    panels = recorded.panels()
    [group] = panels.ledger.groups
    assert [line.arrival for line in group.lines] == [1, 0]
    assert flags(panels) == {"out_of_order": 1}
    assert group.note == "sent back in the order of the calls"


def test_one_early_result_is_the_only_one_out_of_order() -> None:
    recorded, run = begun()
    keys = "abcdef"
    run.turn(0)
    run.say("", *(weather_call(key) for key in keys))
    for key in keys:
        run.start_call(weather_call(key), server="weather", tool="get")
    for key in "eabcdf":
        run.finish_call(weather_call(key))
    panels = recorded.panels()
    assert flags(panels) == {"out_of_order": 1}
    [group] = panels.ledger.groups
    assert [line.call_id for line in group.lines if line.flags] == ["call_e"]


def test_an_id_that_a_provider_used_twice_is_flagged() -> None:
    recorded, run = begun()
    run.loop_turn(0)
    again = ToolCall(id="call_r1:0:1:0", name="weather__get", arguments="{}", key="r1:1:1:0")
    run.turn(1)
    run.say("", again, turn=1)
    run.start_call(again, turn=1, server="weather", tool="get", call_id="call_r1:0:1:0~2")
    run.finish_call(again, turn=1)
    run.close(1, "continued", calls=1)
    run.answer_in(2)
    assert flags(recorded.panels()) == {"duplicate": 1}


def test_a_call_without_a_result_is_flagged() -> None:
    panels = ended("lost")
    assert flags(panels) == {"unanswered": 1}
    assert not panels.ledger.is_closed
    assert panels.ledger.headline == "2 calls, 1 result"


def test_repairs_of_the_history_and_orphans_in_what_was_sent_are_counted() -> None:
    recorded, run = begun()
    run.turn(0)
    notes = (
        "closed the call weather__get ('c1') as interrupted",
        "dropped 2 results without a call",
    )
    run.tell(events.HistoryRepaired, turn=0, notes=notes)
    orphan: JsonObject = {"role": "tool", "tool_call_id": "nobody", "content": "sunny"}
    run.say("Sunny.", messages=(PROMPT, QUESTION, orphan))
    run.close(0, "answered")
    run.deliver("Sunny.")
    run.finish()
    panels = recorded.panels()
    assert flags(panels) == {"orphan": 3, "made_up": 1}
    assert [line.call_id for line in panels.ledger.orphans] == ["nobody"]


def test_limits_show_what_was_used_and_which_ended_the_run() -> None:
    limits = {limit.name: limit for limit in ended("max turns").limits}
    turns = limits["max_turn"]
    assert (turns.used, turns.of, turns.is_full, turns.note) == (
        "2", "of 2", True, "ended the run",
    )  # fmt: skip
    assert limits["repeat_limit"].used == "3"
    assert limits["max_run_tokens"].of == "no limit"
    assert [limit.name for limit in limits.values() if limit.ended] == ["max_turn"]


def test_errors_in_a_row_are_counted_by_turns_in_which_all_failed() -> None:
    limits = {limit.name: limit for limit in ended("errors").limits}
    assert (limits["max_consecutive_errors"].used, limits["max_consecutive_errors"].of) == (
        "2", "of 2",
    )  # fmt: skip


def test_waiting_for_a_person_is_no_time_of_the_run() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    where = {"turn": 0, "attempt": 1, "call": weather_call("a")}
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.tell(events.ToolCallWaiting, server="weather", tool="get", arguments={}, **where)
    run.wait(60_000)
    run.tell(events.ToolCallDecided, is_allowed=True, reason="", by="", **where)
    run.finish_call(weather_call("a"))
    run.close(0, "continued", calls=1)
    run.answer_in(1, took=2000)
    limits = {limit.name: limit for limit in recorded.panels().limits}
    assert limits["run_timeout_seconds"].used == "2 s"


def messages_after(*results: tuple[str, str]) -> tuple[JsonObject, ...]:
    """What is sent when these calls have these results."""
    sent: list[JsonObject] = [PROMPT, QUESTION]
    for call_id, text in results:
        function: JsonObject = {"name": "weather__get", "arguments": "{}"}
        calls: Any = [{"id": call_id, "type": "function", "function": function}]
        sent.append({"role": "assistant", "content": "", "tool_calls": calls})
        sent.append({"role": "tool", "tool_call_id": call_id, "content": text})
    return tuple(sent)


def growing() -> PanelsView:
    recorded, run = begun()
    text = "x" * 4000
    usage = Usage(input_tokens=1100, output_tokens=5)
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", text=text)
    run.close(0, "continued", calls=1)
    for turn, key in ((1, "b"), (2, "c")):
        run.turn(turn)
        sent = messages_after(("call_a", text), *((("call_b", "hot"),) if turn > 1 else ()))
        run.say("", weather_call(key), turn=turn, messages=sent, usage=usage)
        run.run_call(key, turn=turn, arguments={"city": key})
        run.close(turn, "continued", calls=1)
    sent = messages_after(("call_a", text), ("call_b", "hot"), ("call_c", "hot"))
    run.answer_in(3, messages=sent, usage=usage)
    return recorded.panels()


def test_what_a_result_cost_by_being_sent_again_is_told() -> None:
    panels = growing()
    dearest = panels.sent_again[0]
    assert (dearest.label, dearest.times) == ("weather / get", 2)
    assert 1800 < dearest.total_count < 2200
    assert dearest.text == f"2 × = {dearest.total}"


def test_the_parts_of_a_request_add_up_to_what_the_provider_counted() -> None:
    growth = growing().growth
    assert [column.label for column in growth.columns] == ["0", "1", "2", "3"]
    for column in growth.columns[1:]:
        assert column.total == "1,100"
        heights = sum(float(segment.height.rstrip("%")) for segment in column.segments)
        assert abs(heights - (100 - float(column.y.rstrip("%")))) < 0.05
    assert [series.name for series in growth.series] == ["system", "user", "assistant", "result"]
    assert growth.note


def test_the_same_call_with_the_same_result_is_a_smell() -> None:
    assert smells(ended("max turns")) == [
        ("same_call", "weather / get, city=Lima, turns 0, 1 and 2"),
        ("unread", "weather / get, read by the fallback only"),
    ]


def test_a_b_a_is_a_smell() -> None:
    recorded, run = begun()
    for turn, (tool, text) in enumerate((("get", "a"), ("history", "b"), ("get", "c"))):
        run.loop_turn(turn, tool=tool, text=text)
    run.answer_in(3)
    assert smells(recorded.panels()) == [
        ("a_b_a", "weather / get, weather / history, weather / get"),
    ]


def test_errors_in_a_row_and_cut_results_are_smells() -> None:
    recorded, run = begun()
    run.loop_turn(0, Outcome.TOOL_ERROR, error="no station")
    run.loop_turn(1, Outcome.TIMEOUT, error="No answer within 30 seconds.")
    run.loop_turn(2, full_text="x" * 18_204, text="x" * 8_000, is_truncated=True)
    run.answer_in(3)
    assert smells(recorded.panels()) == [
        (
            "errors_in_a_row",
            "2 calls failed, turns 0 and 1, the last one weather / get: "
            "No answer within 30 seconds",
        ),
        ("cut", "weather / get, 10,204 characters left out"),
    ]


def test_a_single_failed_call_and_half_an_answer_are_smells() -> None:
    recorded, run = begun()
    run.loop_turn(0, Outcome.SERVER_UNAVAILABLE, error="The server ended.")
    run.loop_turn(1)
    run.answer_in(2, finish="length")
    assert smells(recorded.panels()) == [
        ("failed_call", "weather / get, server unavailable, turn 0, “The server ended”"),
        ("cut_answer", "turn 2, the answer was cut off at the length limit"),
    ]


def test_a_plain_run_has_no_smell() -> None:
    assert smells(ended("after tools")) == []
