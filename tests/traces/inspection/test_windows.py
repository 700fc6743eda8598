"""Large traces: what is folded, turns in windows, what is opened, the plain rail."""

from __future__ import annotations

import pytest

from tests.traces.large import SPANS_PER_TURN, large_trace, span_id, stored
from traces.inspection.page import page_view
from traces.inspection.reading import Reading, read_trace
from traces.inspection.tree import branch_lines, branch_spans, shown_spans, tree_view
from traces.inspection.view_models import LineView, RowView
from traces.inspection.windows import FOLD_OVER, WINDOW, WINDOW_OVER


def read(turns: int, **options: object) -> Reading:
    trace, spans = large_trace(turns, **options)  # type: ignore[arg-type]
    return read_trace(trace, stored(spans), {}, now_ns=(trace.end_ns or 0) + 1)


def rows_of(lines: tuple[LineView, ...]) -> list[RowView]:
    return [line.row for line in lines if line.row is not None]


def rows(reading: Reading, **options: object) -> dict[str, RowView]:
    """The rows by their titles; those of calls are told apart by their ids."""
    found = rows_of(tree_view(reading, **options).lines)  # type: ignore[arg-type]
    return {row.title if row.kind.name in ("turn", "agent") else row.id: row for row in found}


@pytest.mark.parametrize("turns", [FOLD_OVER // SPANS_PER_TURN + 1, WINDOW_OVER, 450, 1001])
def test_every_span_is_shown_or_counted_as_hidden(turns: int) -> None:
    reading = read(turns)
    tree = tree_view(reading, selected=span_id(turns // 2, 2))
    shown = [row for row in rows_of(tree.lines) if not row.is_window]
    assert len(shown) + tree.hidden == tree.spans == 1 + turns * SPANS_PER_TURN
    assert len(tree.lines) < 2 * WINDOW_OVER + 60
    ids = {span.id for span in shown_spans(reading, selected=span_id(turns // 2, 2))}
    assert ids == {row.id for row in shown}


def test_a_small_trace_is_not_folded_and_a_larger_one_is_but_for_what_is_selected() -> None:
    small = rows(read((FOLD_OVER - 1) // SPANS_PER_TURN))
    assert all(row.hidden == 0 for row in small.values())
    large = rows(read(FOLD_OVER // SPANS_PER_TURN), selected=span_id(7, 3))
    assert [
        title for title, row in large.items() if row.kind.name == "turn" and not row.hidden
    ] == ["Turn 7"]
    assert span_id(7, 3) in large


def test_many_turns_stand_in_windows_that_say_what_they_hold() -> None:
    found = rows(read(340), selected=span_id(205, 2))
    windows = [row for row in found.values() if row.is_window]
    assert [(row.title, row.note, row.hidden) for row in windows] == [
        ("Turns 0 to 49", "250 spans", 250),
        ("Turns 50 to 99", "250 spans", 250),
        ("Turns 100 to 149", "250 spans", 250),
        ("Turns 150 to 199", "250 spans", 250),
        ("Turns 200 to 249", "250 spans", 0),
        ("Turns 250 to 299", "250 spans", 250),
        ("Turns 300 to 339", "200 spans", 200),
    ]
    assert [(row.level, row.position, row.set_size) for row in windows] == [
        (2, place, 7) for place in range(1, 8)
    ]
    assert (windows[4].time, windows[4].tokens) == ("5.00 s", "16.2k")
    turn, call = found["Turn 205"], found[span_id(205, 2)]
    assert (turn.parent, turn.level, turn.position, turn.set_size) == (windows[4].id, 3, 6, 50)
    assert (call.parent, call.level) == (turn.id, 4)
    assert found["Turn 206"].hidden == 4


def test_a_turn_that_would_be_alone_in_a_window_stands_outside() -> None:
    found = list(rows(read(WINDOW * 4 + 1)).values())
    assert [row.title for row in found if row.level == 2] == [
        "Turns 0 to 49", "Turns 50 to 99", "Turns 100 to 149", "Turns 150 to 199", "Turn 200",
    ]  # fmt: skip


def test_a_window_opens_to_its_turns_and_a_turn_to_its_rows() -> None:
    reading = read(450)
    window = rows(reading)["Turns 100 to 149"]
    turns = branch_lines(reading, window.id)
    assert [row.title for row in rows_of(turns)] == [f"Turn {n}" for n in range(100, 150)]
    assert {row.level for row in rows_of(turns)} == {3}
    assert {row.parent for row in rows_of(turns)} == {window.id}
    assert sum(line.sentence is not None for line in turns) == 50
    below = rows_of(branch_lines(reading, span_id(120)))
    assert [(row.id, row.level) for row in below] == [(span_id(120, n), 4) for n in range(1, 5)]
    assert {span.id for span in branch_spans(reading, window.id)} == {
        span_id(n) for n in range(100, 150)
    }


def test_a_branch_can_be_had_whole() -> None:
    reading = read(450)
    window = rows(reading)["Turns 100 to 149"]
    whole = rows_of(branch_lines(reading, window.id, deep=True))
    assert len(whole) == len(branch_spans(reading, window.id, deep=True)) == 250
    assert not any(row.hidden for row in whole)


@pytest.mark.parametrize("unknown", ["", "w", "nothing", f"w{span_id(101)}", f"w{span_id(9999)}"])
def test_below_an_unknown_row_there_is_nothing(unknown: str) -> None:
    reading = read(450)
    assert branch_lines(reading, unknown) == ()
    assert branch_spans(reading, unknown) == []


def test_a_folded_row_says_how_many_failures_it_holds() -> None:
    found = rows(read(450, failed={3, 7, 120}), selected=span_id(40))
    assert found["Turns 100 to 149"].note == "250 spans, 1 error"
    assert found["Turns 100 to 149"].hidden_errors == 1
    assert found["Turn 3"].hidden_text == "4 rows more, 1 error"
    assert found["Turns 0 to 49"].note == "250 spans, 2 errors"
    assert found["Turns 0 to 49"].hidden_errors == 0


def test_what_was_opened_or_goes_on_stays_open() -> None:
    found = rows(read(450, is_running=True), opened={span_id(120), f"w{span_id(200)}"})
    shown = [row.title for row in found.values() if row.is_window and not row.hidden]
    assert shown == ["Turns 100 to 149", "Turns 200 to 249", "Turns 400 to 449"]
    assert found["Turn 120"].hidden == found["Turn 449"].hidden == 0
    assert found["Turn 121"].hidden == found["Turn 448"].hidden == 4


def test_many_turns_have_plain_blocks_and_very_many_share_them() -> None:
    rail = page_view(read(150, failed={4})).rail
    assert (len(rail.blocks), rail.is_plain, rail.note) == (150, True, "")
    assert [block.number for block in rail.blocks if block.is_bad] == ["4"]
    assert rail.blocks[4].label == "Turn 4: 0.10 s, 104 tokens of context, 3 tool calls"
    rail = page_view(read(450, failed={4}), selected=span_id(10, 3)).rail
    assert (len(rail.blocks), rail.note) == (150, "3 turns per block")
    assert rail.blocks[1].label == "Turns 3 to 5: 0.30 s, 105 tokens of context, 9 tool calls"
    assert [place for place, block in enumerate(rail.blocks) if block.is_bad] == [1]
    assert [place for place, block in enumerate(rail.blocks) if block.is_selected] == [3]
    assert [(block.first, block.last) for block in rail.blocks[:2]] == [(1, 11), (16, 26)]


def test_the_numbers_above_are_of_all_spans() -> None:
    page = page_view(read(450, failed={4, 5}))
    assert page.totals.calls == "1,350 tool calls"
    assert {count.name: count.count for count in page.verdict.counts}["errors"] == 2
    parts = {part.name: part.ns for part in page.totals.parts}
    assert sum(parts.values()) == page.totals.wall_ns == 45_000_000_000
    assert (parts["model"], parts["tools"]) == (18_000_000_000, 27_000_000_000)
