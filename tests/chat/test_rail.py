"""The turn rail: width is time, calls at the same time lie in lanes."""

from __future__ import annotations

from typing import Any

import pytest

from agents.chat.rail import rail_view
from agents.chat.rail_bars import Bar, lanes, live_bars
from agents.chat.rows import read_conversation
from agents.loop.events import ToolCallDecided, ToolCallFinished, ToolCallStarted, ToolCallWaiting
from agents.loop.messages import Message, Role, ToolCall
from agents.loop.results import Outcome, ToolResult
from agents.models import Conversation
from agents.runs.live import LiveRun
from tests.chat.factory import Talk, running_talk, three_cities


def bar(start: float, end: float | None) -> Bar:
    return Bar(kind="C", label="", detail="", turn="0", start=start, end=end)


@pytest.mark.parametrize(
    ("spans", "placed"),
    [
        ([(0, 10), (10, 20)], [(0, 1), (0, 1)]),
        ([(0, 10), (5, 20)], [(0, 2), (1, 2)]),
        ([(0, 10), (0, 10), (0, 5), (6, 9)], [(0, 3), (1, 3), (2, 3), (2, 3)]),
        ([(0, 5), (1, None), (30, 40)], [(0, 2), (1, 2), (0, 2)]),
    ],
)
def test_what_overlaps_lies_in_lanes(
    spans: list[tuple[float, float | None]], placed: list[tuple[int, int]]
) -> None:
    found = lanes([bar(start, end) for start, end in spans], now=50)
    assert [(lane, of) for _, lane, of in found] == placed


def test_the_turns_fill_the_axis_in_order(talk: Talk) -> None:
    three_cities(talk)
    rows = read_conversation(Conversation.objects.get(pk=talk.conversation.pk))
    rail = rail_view(rows.runs, {}).now
    assert rail is not None
    assert [turn.node for turn in rail.turns] == ["0", "1", "F"]
    ends = [float(turn.x.rstrip("%")) + float(turn.width.rstrip("%")) for turn in rail.turns]
    starts = [float(turn.x.rstrip("%")) for turn in rail.turns]
    assert starts == sorted(starts)
    assert ends[-1] == pytest.approx(100, abs=0.1)
    assert rail.running_ms == 0
    assert rail.ending == "Turn limit 5 reached"


def test_a_live_rail_says_what_it_waits_for(talk: Talk) -> None:
    three_cities(talk)
    live = running_talk(talk)
    rows = read_conversation(Conversation.objects.get(pk=talk.conversation.pk))
    view = rail_view(rows.runs, {live.run: live})
    assert view.now is not None
    assert [past.ending for past in view.past] == ["Turn limit 5 reached"]
    texts = [line.text for line in view.now.lines]
    assert "continued: 1 tool call answered" in texts
    assert texts[-1] == "waiting: 1 call needs approval"
    assert [turn.is_now for turn in view.now.turns] == [False, True]
    patterns = [shape.pattern for shape in view.now.turns[1].bars]
    assert patterns == ["b", "b-run", "wait"]
    budget = {line.name: line.text for line in view.now.budget}
    assert budget["turns"] == "1 of 5"
    assert budget["tokens"] == "10,130 in, 118 out"


def test_the_wait_for_a_person_is_not_the_calls_own_time() -> None:
    live = LiveRun(run="r", started_ns=0)
    call = ToolCall(id="c1", name="notes__delete", arguments="{}", key="k1")
    place: dict[str, Any] = {"run": "r", "turn": 0, "attempt": 1, "call": call}
    asked: dict[str, Any] = {**place, "server": "notes", "tool": "delete", "arguments": {}}
    live.apply(ToolCallStarted(at_ns=0, call_id="c1", **asked))
    live.apply(ToolCallWaiting(at_ns=0, **asked))
    live.apply(ToolCallDecided(at_ns=3_000_000_000, is_allowed=True, reason="", by="ada", **place))
    result = ToolResult(call=call, outcome=Outcome.OK, server="notes", tool="delete", text="done")
    message = Message(role=Role.TOOL, content="done")
    live.apply(
        ToolCallFinished(
            run="r", turn=0, attempt=1, at_ns=3_500_000_000, call_id="c1", result=result,
            message=message,
        )
    )  # fmt: skip
    bars = [(bar.start, bar.end, bar.is_waiting, bar.key) for bar in live_bars(live)]
    assert bars == [(0, 3000, True, "k1"), (3000, 3500, False, "k1")]
