"""One trace put together for its page: loaded once, shown whole or in pieces.

Place in the house: ``traces``; called by ``views`` and by the socket. ``traces.inspection`` decides
what is said, this module fetches what it needs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from traces.inspection.build import page_hashes, panel_hashes, panels_view
from traces.inspection.detail_models import DetailView, TabView
from traces.inspection.details import detail_view, hashes_for
from traces.inspection.page import choose_span, page_view
from traces.inspection.panel_models import GrowthView, PanelsView
from traces.inspection.reading import Reading, read_trace, window_of
from traces.inspection.row_bars import broken_answer_hashes
from traces.inspection.tree import branch_lines, branch_spans, shown_spans
from traces.inspection.view_models import LineView, PageView
from traces.inspection_rows import load_trace
from traces.ledger_picture import LedgerGroupPicture, ledger_groups
from traces.raw_view import RawView, raw_hashes, raw_view
from traces.records import SpanRecord, TraceRecord
from traces.storage import load_payloads

PANELS_WITH_PAGE = 300
"""Spans up to which the panels come with the page; of larger traces they are fetched after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTrace:
    """A trace with its spans as they were at ``now_ns``, nanoseconds since 1970; ``reading`` is the
    trace laid out, without payloads."""

    record: TraceRecord
    spans: tuple[SpanRecord, ...]
    now_ns: int
    reading: Reading

    @property
    def is_running(self) -> bool:
        """Whether more will be recorded."""
        return self.record.end_ns is None

    def span(self, span_id: str) -> SpanRecord | None:
        """A span by its id."""
        return self.reading.by_id.get(span_id)

    def with_payloads(self, hashes: Iterable[str]) -> Reading:
        """The trace laid out, with these payloads."""
        return replace(self.reading, payloads=load_payloads(hashes))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedSpan:
    """The right side: the span with its tabs; ``tab`` is the one that is open."""

    detail: DetailView
    tabs: tuple[TabView, ...]
    tab: str
    raw: RawView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """What stands below the tree, the ledger as a picture (``hidden_groups`` are left out), and the
    context chart as a table: label, tokens by series, sum."""

    view: PanelsView
    groups: tuple[LedgerGroupPicture, ...]
    hidden_groups: int
    table: tuple[tuple[str, tuple[str, ...], str], ...]


def find_trace(trace_id: str) -> LoadedTrace | None:
    """A trace as it is stored now; ``None`` where there is none. Who may read it was asked."""
    found = load_trace(trace_id)
    if found is None:
        return None
    record, spans = found
    now_ns = time.time_ns()
    reading = read_trace(record, spans, {}, now_ns=now_ns)
    return LoadedTrace(record=record, spans=tuple(spans), now_ns=now_ns, reading=reading)


def page_of(
    loaded: LoadedTrace, *, selected: str = "", turn: str = "", opened: Collection[str] = ()
) -> PageView:
    """Verdict, numbers, rail and tree; rows in ``opened`` are not folded."""
    reading = loaded.reading
    chosen = choose_span(reading, selected, turn)
    selected = chosen.id if chosen is not None else ""
    shown = shown_spans(reading, selected=selected, opened=opened)
    return page_view(
        loaded.with_payloads([*page_hashes(shown), *broken_answer_hashes(reading.spans)]),
        selected=selected,
        window=window_of(reading),
        opened=opened,
    )


def branch_of(loaded: LoadedTrace, item_id: str, *, deep: bool = False) -> tuple[LineView, ...]:
    """The lines of the tree below a row; with all that is below its turns where ``deep``."""
    shown = branch_spans(loaded.reading, item_id, deep=deep)
    return branch_lines(loaded.with_payloads(page_hashes(shown)), item_id, deep=deep)


def selected_span(loaded: LoadedTrace, span_id: str, tab: str = "") -> SelectedSpan | None:
    """The details of a span with the tab that is asked for, or its first one."""
    span = loaded.span(span_id)
    hashes = hashes_for(loaded.reading, span_id)
    reading = loaded.with_payloads([*hashes, *(raw_hashes(span) if span is not None else ())])
    detail = detail_view(reading, span_id)
    if detail is None:
        return None
    payloads = reading.payloads
    raw = raw_view(span, payloads) if span is not None else None
    tabs = list(detail.tabs)
    if raw is not None:
        after = [i for i, known in enumerate(tabs) if known.key in ("summary", "messages")]
        tabs.insert(max(after, default=-1) + 1, TabView(key="raw", label=_("Raw")))
    is_known = any(known.key == tab for known in tabs)
    return SelectedSpan(
        detail=detail, tabs=tuple(tabs), tab=tab if is_known else detail.tab, raw=raw
    )


def panels_of(loaded: LoadedTrace, *, has_ledger: bool = True) -> Panels:
    """Limits, what was sent again, context growth, smells, and where wished the ledger."""
    reading = loaded.with_payloads(panel_hashes(loaded.spans))
    view = panels_view(reading, window=window_of(reading), has_ledger=has_ledger)
    groups = ledger_groups(view.ledger) if view.ledger is not None else ()
    return Panels(
        view=view,
        groups=groups,
        hidden_groups=len(view.ledger.groups) - len(groups) if view.ledger is not None else 0,
        table=_growth_table(view.growth),
    )


def _growth_table(growth: GrowthView) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    rows = []
    for column in growth.columns:
        cells = {part.series: part.tokens for part in column.segments}
        row = tuple(cells.get(i, "") for i in range(len(growth.series)))
        rows.append((column.label, row, column.total))
    return tuple(rows)
