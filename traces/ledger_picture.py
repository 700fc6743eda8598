"""The closure ledger as a picture: calls left as asked, results right as they came, wires between.

Place in the house: ``traces``, pure. Every line is 28 pixels high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traces.inspection.panel_models import LedgerGroupView, LedgerLineView, LedgerView

ROW, LEFT, RIGHT = 28, 6, 82

MAX_GROUPS = 400
"""Answers whose calls are shown; the counts above them are of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireView:
    """A line from a call to its result; ``css`` is empty, ``bad`` or ``ord``."""

    css: str
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerGroupPicture:
    """The calls of one answer, their results in order of arrival, and the wires."""

    title: str
    note: str
    asked: tuple[LedgerLineView, ...]
    results: tuple[LedgerLineView, ...]
    wires: tuple[WireView, ...]
    height: int


def ledger_groups(ledger: LedgerView) -> tuple[LedgerGroupPicture, ...]:
    """The first groups of a ledger with their wires."""
    return tuple(_group(group) for group in ledger.groups[:MAX_GROUPS])


def _group(group: LedgerGroupView) -> LedgerGroupPicture:
    order = sorted(range(len(group.lines)), key=lambda i: _place(group.lines, i))
    wires = [
        _wire(group.lines[asked], asked, place)
        for place, asked in enumerate(order)
        if group.lines[asked].arrival >= 0
    ]
    return LedgerGroupPicture(
        title=group.title,
        note=group.note,
        asked=group.lines,
        results=tuple(group.lines[i] for i in order),
        wires=tuple(wires),
        height=ROW * len(group.lines),
    )


def _place(lines: Sequence[LedgerLineView], index: int) -> tuple[bool, int, int]:
    """Results in order of arrival; what has none stands at the end."""
    arrival = lines[index].arrival
    return arrival < 0, arrival, index


def _wire(line: LedgerLineView, asked: int, place: int) -> WireView:
    start, end = asked * ROW + ROW // 2, place * ROW + ROW // 2
    path = f"M{LEFT} {start} C 40 {start} 48 {end} {RIGHT} {end}"
    return WireView(css=line.wire, path=path, start=start, end=end)
