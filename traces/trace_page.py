"""One trace put together for its page: loaded once, shown whole or in pieces.

Place in the house: ``traces``; called by ``views`` and by the socket. ``traces.inspection`` decides
what is said, this module fetches what it needs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.utils.translation import gettext as _

from traces.inspection.build import (
    build_branch,
    build_details,
    build_page,
    build_panels,
    detail_hashes,
    page_hashes,
    panel_hashes,
)
from traces.inspection.detail_models import DetailView, TabView
from traces.inspection.panel_models import GrowthView, PanelsView
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
    """A trace with its spans as they were at ``now_ns``, nanoseconds since 1970."""

    record: TraceRecord
    spans: tuple[SpanRecord, ...]
    now_ns: int

    @property
    def is_running(self) -> bool:
        """Whether more will be recorded."""
        return self.record.end_ns is None

    def span(self, span_id: str) -> SpanRecord | None:
        """A span by its id."""
        return next((span for span in self.spans if span.id == span_id), None)


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
    return LoadedTrace(record=record, spans=tuple(spans), now_ns=time.time_ns())


def page_of(loaded: LoadedTrace, *, selected: str = "", turn: str = "") -> PageView:
    """Verdict, numbers, rail and tree."""
    payloads = load_payloads(page_hashes(loaded.spans))
    return build_page(
        loaded.record, loaded.spans, payloads, now_ns=loaded.now_ns, selected=selected, turn=turn
    )


def branch_of(loaded: LoadedTrace, span_id: str) -> tuple[LineView, ...]:
    """The lines of the tree below a row."""
    payloads = load_payloads(page_hashes(loaded.spans))
    return build_branch(
        loaded.record, loaded.spans, payloads, span_id=span_id, now_ns=loaded.now_ns
    )


def selected_span(loaded: LoadedTrace, span_id: str, tab: str = "") -> SelectedSpan | None:
    """The details of a span with the tab that is asked for, or its first one."""
    span = loaded.span(span_id)
    hashes = detail_hashes(loaded.spans, span_id)
    payloads = load_payloads([*hashes, *(raw_hashes(span) if span is not None else ())])
    detail = build_details(
        loaded.record, loaded.spans, payloads, span_id=span_id, now_ns=loaded.now_ns
    )
    if detail is None:
        return None
    raw = raw_view(span, payloads) if span is not None else None
    tabs = list(detail.tabs)
    if raw is not None:
        after = [i for i, known in enumerate(tabs) if known.key in ("summary", "messages")]
        tabs.insert(max(after, default=-1) + 1, TabView(key="raw", label=_("Raw")))
    is_known = any(known.key == tab for known in tabs)
    return SelectedSpan(
        detail=detail, tabs=tuple(tabs), tab=tab if is_known else detail.tab, raw=raw
    )


def panels_of(loaded: LoadedTrace) -> Panels:
    """Ledger, limits, what was sent again, context growth and smells."""
    payloads = load_payloads(panel_hashes(loaded.spans))
    view = build_panels(loaded.record, loaded.spans, payloads, now_ns=loaded.now_ns)
    groups = ledger_groups(view.ledger)
    return Panels(
        view=view,
        groups=groups,
        hidden_groups=len(view.ledger.groups) - len(groups),
        table=_growth_table(view.growth),
    )


def _growth_table(growth: GrowthView) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    rows = []
    for column in growth.columns:
        cells = {part.series: part.tokens for part in column.segments}
        row = tuple(cells.get(i, "") for i in range(len(growth.series)))
        rows.append((column.label, row, column.total))
    return tuple(rows)
