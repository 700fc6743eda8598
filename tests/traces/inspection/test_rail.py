"""The turn rail: width is time, height is context, lanes, marks, ways to the turns."""

from __future__ import annotations

from agents.loop import events
from agents.loop.interfaces import Usage
from agents.loop.results import Outcome
from tests.traces.inspection.endings import ENDINGS
from tests.traces.inspection.recorded import Recorded, RunTeller, weather_call
from traces.inspection.view_models import RailView


def begun() -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    return recorded, run


def rail(recorded: Recorded, **options: object) -> RailView:
    return recorded.page(**options).rail


def share(text: str) -> float:
    return float(text.rstrip("%"))


def two_turns() -> Recorded:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"), usage=Usage(input_tokens=2000, output_tokens=5), took=1000)
    run.run_call("a", took=1000)
    run.close(0, "continued", calls=1)
    run.answer_in(1, usage=Usage(input_tokens=4000, output_tokens=5), took=6000)
    return recorded


def test_a_block_is_as_wide_as_its_time_and_as_high_as_its_context() -> None:
    first, second = rail(two_turns()).blocks
    assert (first.number, second.number) == ("0", "1")
    assert 24 < share(first.width) < 26
    assert 74 < share(second.width) < 76
    assert 90 - float(first.top) == (90 - float(second.top)) / 2
    assert first.label == "Turn 0: 2.00 s, 2,000 tokens of context, 1 tool call"
    assert (first.time, first.tokens) == ("2.00 s", "2,000")


def test_the_height_is_measured_against_the_window_where_it_is_known() -> None:
    view = rail(two_turns(), window=8000)
    assert (view.cap, view.is_window, view.cap_y) == ("8,000", True, "14.5")
    assert view.blocks[1].top == "52"
    assert rail(two_turns()).cap == "4,000"


def test_calls_at_the_same_time_lie_in_lanes() -> None:
    recorded, run = begun()
    run.turn(0)
    calls = [weather_call(key) for key in "abc"]
    run.say("", *calls)
    for call in calls:
        run.start_call(call, server="weather", tool="get")
    run.wait(100)
    for call in calls:
        run.finish_call(call)
    run.close(0, "continued", calls=3)
    run.loop_turn(1)
    run.answer_in(2)
    first, second, _last = rail(recorded).blocks
    lanes = [bar for bar in first.bars if bar.css == "b kc"]
    assert len({bar.y for bar in lanes}) == 3
    assert len({bar.height for bar in lanes}) == 1
    [alone] = [bar for bar in second.bars if bar.css == "b kc"]
    assert float(alone.height) > 3 * float(lanes[0].height)


def test_marks_stand_above_their_blocks_and_never_on_one_another() -> None:
    recorded, run = begun()
    run.turn(0)
    run.fail_request("Overloaded.", status=503)
    run.tell(
        events.ProviderRetry, turn=0, attempt=1, error="Overloaded.", delay_ms=1, provider="main",
        model="m1",
    )  # fmt: skip
    run.say("", weather_call("a"), try_number=2)
    run.run_call("a", Outcome.TIMEOUT)
    run.give_up("errors", turn=0)
    run.wait(2000)
    run.fall_back("errors")
    first, last = rail(recorded).blocks
    assert [(mark.letter, mark.title) for mark in first.glyphs] == [
        ("!", "1 call failed"), ("R", "provider retry (503)"),
    ]  # fmt: skip
    assert len({mark.y for mark in first.glyphs}) == 2
    assert [mark.letter for mark in last.glyphs] == ["F"]
    assert last.number == "F"
    assert any(bar.look == "hatch" for bar in first.bars)
    assert first.is_bad


def test_a_block_leads_to_its_turn_and_the_selected_one_is_marked() -> None:
    recorded = two_turns()
    turn = recorded.span("turn 0")
    call = recorded.span("weather.get")
    blocks = rail(recorded, selected=call.id).blocks
    assert blocks[0].href == f"?turn=0&span={turn.id}"
    assert [block.is_selected for block in blocks] == [True, False]


def test_a_child_runs_turns_stand_among_the_others_under_its_name() -> None:
    [ending] = [ending for ending in ENDINGS if ending.name == "delegated"]
    own, child = rail(ending.recorded()).blocks
    assert own.label.startswith("Turn 0: ")
    assert child.label.startswith("Turn 0 of Billing: ")


def test_nothing_lies_outside_of_the_picture() -> None:
    for ending in ENDINGS:
        page = ending.recorded().page()
        bars = [bar for block in page.rail.blocks for bar in block.bars]
        bars += [bar for line in page.tree.lines if line.row for bar in line.row.bars]
        assert bars
        assert all(share(bar.x) + share(bar.width) < 100.02 for bar in bars), ending.name
