"""Timeline and flame: every span on the shared axis, in lanes or below what it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.inspection.recorded import Recorded, RunTeller, weather_call
from traces.inspection import build, pictures
from traces.inspection.picture_models import BlockView, FlameView, LaneView, TimelineView


def timeline(recorded: Recorded, **options: Any) -> TimelineView:
    assert recorded.trace is not None
    return build.build_timeline(
        recorded.trace, recorded.rows, recorded.payloads, now_ns=recorded.now_ns(), **options
    )


def flame(recorded: Recorded, **options: Any) -> FlameView:
    assert recorded.trace is not None
    return build.build_flame(
        recorded.trace, recorded.rows, recorded.payloads, now_ns=recorded.now_ns(), **options
    )


def two_at_once() -> Recorded:
    """A turn with two calls at the same time, then a turn with an answer, each 100 ms long."""
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    one, two = weather_call("a"), weather_call("b")
    run.say("", one, two, took=100)
    for call in (one, two):
        run.start_call(call, server="weather", tool="get", arguments={"city": "Lima"})
    run.wait(100)
    for call in (one, two):
        run.finish_call(call, server="weather", tool="get")
    run.close(0, "continued", calls=2)
    run.answer_in(1, took=100)
    return recorded


def fallen_back() -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.begin(max_turn=1)
    run.loop_turn(0)
    run.loop_turn(1, Outcome.TOOL_ERROR, decision="", error="down")
    run.give_up("max_turns", option="max_turn")
    run.fall_back("max_turns")
    return recorded, run


def share(text: str) -> float:
    return float(text.rstrip("%"))


def lane(view: TimelineView, title: str) -> LaneView:
    [found] = [lane for lane in view.lanes if lane.title == title]
    return found


def test_there_is_a_lane_per_kind_and_per_server() -> None:
    view = timeline(two_at_once())
    assert [(lane.kind.letter, lane.title, len(lane.blocks)) for lane in view.lanes] == [
        ("T", "turns", 2), ("P", "catalog", 1), ("M", "model", 2), ("C", "weather", 2),
    ]  # fmt: skip
    assert lane(view, "weather").note.startswith("2 calls, 0.2")
    assert view.note == ""


def test_what_happens_at_once_lies_in_rows_of_its_lane() -> None:
    weather = lane(timeline(two_at_once()), "weather")
    assert [block.y for block in weather.blocks] == ["0", "18"]
    assert weather.height == "46"
    model = lane(timeline(two_at_once()), "model")
    assert [block.y for block in model.blocks] == ["0", "0"]
    assert model.height == "28"


def test_bars_stand_where_the_trees_bars_stand() -> None:
    recorded = two_at_once()
    rows = {row.id: row.bars for row in recorded.row_views()}
    blocks = [block for lane in timeline(recorded).lanes for block in lane.blocks]
    assert len(blocks) == len(rows) - 1
    assert all(block.bars == rows[block.span] for block in blocks)
    assert timeline(recorded).axis == recorded.page().tree.axis


def test_each_block_leads_to_its_span_and_says_what_it_is() -> None:
    recorded = two_at_once()
    first = lane(timeline(recorded), "weather").blocks[0]
    assert first.href == f"?view=timeline&turn=0&span={first.span}"
    assert first.label.startswith("weather / get city=Lima, tool call, Turn 0, 0.1")
    assert first.label.endswith("after the start, done")


@pytest.mark.parametrize("draw", [timeline, flame])
def test_the_selected_span_is_told(draw: Any) -> None:
    recorded = two_at_once()
    chosen = recorded.span("turn 1").id
    view = draw(recorded, selected=chosen)
    blocks = view.blocks if isinstance(view, FlameView) else [
        block for lane in view.lanes for block in lane.blocks
    ]  # fmt: skip
    assert [block.span for block in blocks if block.is_selected] == [chosen]


def test_the_fallback_stands_among_the_turns_once() -> None:
    recorded, _run = fallen_back()
    turns = lane(timeline(recorded), "turns")
    assert len(turns.blocks) == 3
    kinds = {recorded.spans[block.span].kind for block in flame(recorded).blocks}
    assert "fallback" in kinds
    labels = [block.label for block in flame(recorded).blocks]
    assert sum("fallback" in label.lower() and "model" not in label for label in labels) == 1


def rows_of(view: FlameView) -> dict[str, float]:
    return {block.span: float(block.y) for block in view.blocks}


def test_in_the_flame_each_span_lies_below_its_parent_and_inside_of_it() -> None:
    recorded = two_at_once()
    view = flame(recorded)
    rows, places = rows_of(view), {block.span: block for block in view.blocks}
    assert len(view.blocks) == len(recorded.rows)
    for span in recorded.rows:
        if span.parent:
            above, below = places[span.parent], places[span.id]
            assert rows[span.parent] < rows[span.id]
            assert share(above.x) - 0.3 <= share(below.x)
            right = share(below.x) + share(below.width)
            assert right <= share(above.x) + share(above.width) + 0.3


def covers(one: BlockView, two: BlockView) -> bool:
    ends = share(one.x) + share(one.width), share(two.x) + share(two.width)
    return share(one.x) + 0.3 < ends[1] and share(two.x) + 0.3 < ends[0]


def test_in_the_flame_nothing_covers_anything() -> None:
    view = flame(two_at_once())
    pairs = [
        (one.label, two.label)
        for i, one in enumerate(view.blocks)
        for two in view.blocks[i + 1 :]
        if one.y == two.y and covers(one, two)
    ]
    assert pairs == []
    assert float(view.height) >= 4 * 24


def test_a_wide_block_has_its_name_and_a_narrow_one_none() -> None:
    view = flame(two_at_once())
    texts = {block.label.split(",")[0]: block.text for block in view.blocks}
    assert texts["weather / get city=Lima"] == "weather / get city=Lima"
    assert texts["catalog"] == ""


def test_a_child_run_has_a_lane_and_rows_of_its_own() -> None:
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    run.tell(events.Delegated, assistant="second")
    child = recorded.teller("r2")
    child.told = run.told
    child.start(parent_run="r1", assistant="second", assistant_name="Second", trace="t1")
    child.turn(0)
    child.say("Hm.")
    child.close(0, "answered")
    child.finish()
    view = timeline(recorded)
    assert len(lane(view, "child runs").blocks) == 1
    assert len(flame(recorded).blocks) == len(recorded.rows)


def test_of_a_large_trace_the_shortest_are_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pictures, "MAX_DRAWN", 5)
    recorded = two_at_once()
    view, drawn = timeline(recorded), flame(recorded)
    hidden = len(recorded.rows) - 5
    assert view.note == drawn.note
    assert view.note.startswith(
        f"The shortest of {len(recorded.rows)} spans are not drawn: {hidden}"
    )
    kept = {block.span for block in drawn.blocks}
    assert len(kept) == 5
    assert all(recorded.spans[id_].parent in kept | {""} for id_ in kept)


@pytest.mark.parametrize("draw", [timeline, flame])
def test_a_run_of_which_only_the_beginning_is_known_can_be_drawn(draw: Any) -> None:
    recorded = Recorded()
    run = recorded.teller()
    run.start()
    view = draw(recorded)
    assert view.note == ""
    run.turn(0)
    run.ask({"role": "user", "content": "Hi"})
    assert draw(recorded).axis.length_ns > 0
