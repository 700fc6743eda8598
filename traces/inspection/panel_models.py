"""What stands below the tree: closure ledger, limits, what was sent again, context growth, smells.

Place in the house: ``traces.inspection``, at the bottom beside ``view_models``; conventions as
there. Token numbers of parts are estimates (four characters a token, scaled to what the provider
counted) and marked so.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.inspection.view_models import StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagView:
    """A count of the ledger. ``name`` is ``unanswered``, ``orphan``, ``duplicate``,
    ``out_of_order`` or ``made_up``; ``is_bad`` where there is any."""

    name: str
    count: int
    text: str
    is_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLineView:
    """One call and its result, in the order asked; ``arrival`` is the place of its result in the
    order of arrival within the group (0 for the first, -1 for none). ``wire`` is the class of the
    connecting line: empty, ``bad`` or ``ord`` (odd in order or id). ``flags`` name what is odd."""

    call_id: str
    server: str
    tool: str
    argument: str
    span: str
    href: str
    arrival: int
    wire: str
    state: StateView
    result: str
    time: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerGroupView:
    """The calls of one answer: ``title`` "Turn 0, attempt 2", ``note`` what is odd about it."""

    title: str
    note: str
    lines: tuple[LedgerLineView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """Every tool call with its result. ``headline`` is "9 calls, 9 results"; ``is_closed`` where
    each call has exactly one. ``orphans`` are results of requests that answer no call."""

    headline: str
    is_closed: bool
    flags: tuple[FlagView, ...]
    groups: tuple[LedgerGroupView, ...]
    orphans: tuple[LedgerLineView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """A limit and what was used: ``value`` of ``limit`` (0 where there is none). ``ended`` marks
    the one that ended the run, ``acted`` one that acted; ``note`` says what it did."""

    name: str
    word: str
    used: str
    of: str
    value: float
    limit: float
    is_full: bool
    ended: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAgainView:
    """What one result cost by being sent again: ``tokens`` once, ``times`` more often, ``total``
    for those. Estimates."""

    label: str
    tokens: str
    times: int
    total: str
    total_count: int
    text: str
    span: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentView:
    """A part of a bar of the context chart; ``series`` is the index in ``GrowthView.series``.
    ``y`` and ``height`` are percentages of the picture."""

    series: int
    css: str
    tokens: str
    token_count: int
    y: str
    height: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One request in the context chart. ``label`` is "0", "0, R", "4", "F"; ``is_estimated`` where
    the provider counted nothing."""

    label: str
    title: str
    total: str
    total_count: int
    x: str
    width: str
    y: str
    middle: str
    segments: tuple[SegmentView, ...]
    span: str
    href: str
    is_estimated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """A colour of the context chart: ``name`` is ``system``, ``tools``, ``user``, ``assistant`` or
    ``result``; ``css`` is ``g-system`` ... or ``g-r0`` to ``g-r5`` for results per tool."""

    name: str
    css: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthView:
    """The context of each request, stacked; ``top`` is the number at the upper edge. ``note`` says
    what is estimated."""

    columns: tuple[ColumnView, ...]
    series: tuple[SeriesView, ...]
    top: str
    top_count: int
    is_window: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmellView:
    """Something odd in a run. ``name`` is ``same_call``, ``a_b_a``, ``errors_in_a_row``,
    ``unread`` or ``cut``; ``text`` tells where; ``spans`` are the calls."""

    name: str
    word: str
    text: str
    spans: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelsView:
    """The panels; ``ledger`` is ``None`` where it was not asked for. ``limits_title`` says when the
    limits were looked at."""

    ledger: LedgerView | None
    limits: tuple[LimitView, ...]
    limits_title: str
    sent_again: tuple[SentAgainView, ...]
    growth: GrowthView
    smells: tuple[SmellView, ...]
