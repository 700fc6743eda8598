"""The way in: what a page of the inspector needs, from rows and payloads.

Place in the house: ``traces.inspection``. Pure but for gettext: the texts are in the language that
is active. ``spans`` are all spans of a trace in any order; attributes that are payloads hold
hashes, ``payloads`` the values by hash (one that is missing is said to be no longer stored).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traces.inspection.detail_models import DetailView
from traces.inspection.details import detail_view, hashes_for
from traces.inspection.flame import flame_view
from traces.inspection.growth import growth_hashes, growth_view, requests_of, sent_again_views
from traces.inspection.ledger import ledger_hashes, ledger_view
from traces.inspection.limits import limit_views, limits_title
from traces.inspection.page import page_view
from traces.inspection.panel_models import PanelsView
from traces.inspection.picture_models import FlameView, TimelineView
from traces.inspection.reading import Reading, hashes_of, read_trace, window_of
from traces.inspection.repeats import main_run
from traces.inspection.row_bars import broken_answer_hashes
from traces.inspection.smells import smell_views
from traces.inspection.timeline import timeline_view
from traces.inspection.tree import branch_lines
from traces.inspection.view_models import LineView, PageView
from traces.records import SpanRecord, TraceRecord

Payloads = Mapping[str, object]
"""Payloads by hash."""


def page_hashes(spans: Sequence[SpanRecord]) -> list[str]:
    """The payloads that ``build_page`` needs: the arguments of calls, the catalogs, and of answers
    that broke off the exchange, which tells when their first token came."""
    names = ("gen_ai.tool.call.arguments", "toolloop.catalog")
    kinds = ("tool_call", "policy")
    found = {digest for s in spans if s.kind in kinds for digest in hashes_of(s, *names)}
    return list(found.union(broken_answer_hashes(spans)))


def detail_hashes(spans: Sequence[SpanRecord], span_id: str) -> list[str]:
    """The payloads that ``build_details`` needs of one span."""
    reading = read_trace(_trace_of(spans), spans, {}, now_ns=0)
    return hashes_for(reading, span_id)


def panel_hashes(spans: Sequence[SpanRecord]) -> list[str]:
    """The payloads that ``build_panels`` needs: arguments, and each message and tool sent, once."""
    reading = read_trace(_trace_of(spans), spans, {}, now_ns=0)
    arguments = (
        digest
        for span in spans
        if span.kind == "tool_call"
        for digest in hashes_of(span, "gen_ai.tool.call.arguments")
    )
    return list(dict.fromkeys([*arguments, *growth_hashes(reading), *ledger_hashes(reading)]))


def build_page(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    now_ns: int,
    selected: str = "",
    turn: str = "",
    window: int | None = None,
) -> PageView:
    """Verdict, totals, rail and tree. ``selected`` is a span's id, ``turn`` a turn of the root run;
    ids that are unknown fall back to the span that tells most. ``window`` is the model's; without
    it the one that was recorded with the run's limits.

    A trace of more than ``traces.inspection.windows.FOLD_OVER`` spans has the turns that are not
    selected folded, and many turns in windows: ``RowView.hidden`` counts their rows.
    """
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    known = window or window_of(reading)
    return page_view(reading, selected=selected, turn=turn, window=known)


def build_branch(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    span_id: str,
    now_ns: int,
) -> tuple[LineView, ...]:
    """The lines below one row, a span's or a window's; empty for an unknown id."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return branch_lines(reading, span_id)


def build_timeline(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    now_ns: int,
    selected: str = "",
) -> TimelineView:
    """One lane per kind and server; needs the payloads of the page."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return timeline_view(reading, selected=selected)


def build_flame(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    now_ns: int,
    selected: str = "",
) -> FlameView:
    """Every span below its parent; needs the payloads of the page."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return flame_view(reading, selected=selected)


def build_details(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    span_id: str,
    now_ns: int,
) -> DetailView | None:
    """The right side for one span; ``None`` for an unknown one."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return detail_view(reading, span_id)


def build_panels(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Payloads,
    *,
    now_ns: int,
    window: int | None = None,
) -> PanelsView:
    """Ledger, limits, what was sent again, context growth and smells of the root run."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    return panels_view(reading, window=window or window_of(reading))


def panels_view(reading: Reading, *, window: int | None, has_ledger: bool = True) -> PanelsView:
    """The panels of a trace that is laid out; the ledger, which may be long, where wished."""
    requests = requests_of(reading, main_run(reading))
    return PanelsView(
        ledger=ledger_view(reading) if has_ledger else None,
        limits=limit_views(reading, window=window),
        limits_title=limits_title(reading),
        sent_again=sent_again_views(reading, requests),
        growth=growth_view(reading, requests, window=window),
        smells=smell_views(reading),
    )


def _trace_of(spans: Sequence[SpanRecord]) -> TraceRecord:
    """A trace as its spans tell it, where only the spans are at hand."""
    root = next((s for s in spans if s.kind == "agent" and not s.parent), None)
    return TraceRecord(
        id=root.trace if root else "",
        run=root.run if root else "",
        conversation="",
        assistant="",
        assistant_name="",
        user="",
        message="",
        start_ns=root.start_ns if root else 0,
    )
