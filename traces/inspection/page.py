"""The page above its panels, put together; which span is selected when none was asked for.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from traces.inspection.causes import hook_error, last_failure
from traces.inspection.marks import kind_view, run_state
from traces.inspection.rail import rail_spans, rail_view
from traces.inspection.reading import Reading, integer, is_waiting
from traces.inspection.totals import counts, totals_view
from traces.inspection.tree import tree_view
from traces.inspection.verdicts import run_end, run_verdict
from traces.inspection.view_models import PageView, VerdictView
from traces.records import SpanRecord


def page_view(
    reading: Reading,
    *,
    selected: str = "",
    turn: str = "",
    window: int | None = None,
    opened: Collection[str] = (),
) -> PageView:
    """Verdict, totals, rail and tree; ``opened`` are the ids of rows that are not to be folded."""
    trace = reading.trace
    chosen = choose_span(reading, selected, turn)
    chosen_id = chosen.id if chosen is not None else ""
    return PageView(
        trace=trace.id,
        message=trace.message,
        assistant=trace.assistant_name or trace.assistant,
        started_ms=trace.start_ns // 1_000_000,
        verdict=verdict_view(reading),
        totals=totals_view(reading),
        rail=rail_view(reading, selected=chosen_id, window=window),
        tree=tree_view(reading, selected=chosen_id, opened=opened),
        selected=chosen_id,
        turn=chosen.turn if chosen is not None else "",
        error_spans=tuple(span.id for span in reading.failed),
        turn_spans=tuple(span.id for span in rail_spans(reading)),
        is_running=reading.is_running,
    )


def verdict_view(reading: Reading) -> VerdictView:
    """How the root run ended, or what it does."""
    agent = reading.root
    end, told = run_end(reading, agent), run_verdict(reading, agent)
    waits = [s for s in reading.spans if s.kind == "tool_call" and is_waiting(s)]
    is_fallback = end.status == "completed" and (end.level or 1) > 1
    level = _("answer level %(n)d of 3") % {"n": end.level} if (end.level or 0) > 1 else ""
    return VerdictView(
        headline=told.headline,
        why=told.why,
        advice=told.advice,
        status=run_state("waiting" if reading.is_running and waits else end.status),
        stop_reason=end.stop_reason,
        stop_kind=kind_view("fallback") if is_fallback else None,
        level=level,
        counts=counts(reading),
        is_running=reading.is_running,
    )


def choose_span(reading: Reading, selected: str, turn: str) -> SpanRecord | None:
    """The span asked for, else the turn asked for, else the one that tells most: what explains the
    verdict where something failed, the last answer where nothing did, or the run itself."""
    asked = reading.by_id.get(reading.aliases.get(selected, selected))
    if asked is not None:
        return asked
    for span in rail_spans(reading):
        is_own = span.run == reading.trace.run
        if turn and is_own and ("F" if span.kind == "fallback" else span.turn) == turn:
            return span
    telling = None if reading.is_running else _telling_failure(reading)
    if telling is not None:
        return telling
    answers = [s for s in reading.spans if s.kind == "model" and s.status == "ok"]
    if answers and not reading.is_running:
        return answers[-1]
    return reading.root or next(iter(reading.spans), None)


def _telling_failure(reading: Reading) -> SpanRecord | None:
    """The request or hook that ended a run, else the first call that did not do its work."""
    for run, agent in reading.agents.items():
        end = run_end(reading, agent)
        ended_by = None
        if end.stop_reason in ("provider_error", "context"):
            ended_by = last_failure(reading, run)
        elif end.stop_reason == "hook_error":
            ended_by = hook_error(reading, run)
        elif end.status == "failed":
            requests = [s for s in reading.spans if s.run == run and s.kind == "model"]
            ended_by = requests[-1] if requests and requests[-1].status == "error" else None
        if ended_by is not None:
            return ended_by
    if not reading.stops:
        return None
    calls = [span for span in reading.spans if span.kind == "tool_call"]
    attempts: dict[tuple[str, str], int] = {}
    for span in calls:
        key = span.run, span.turn
        attempts[key] = max(attempts.get(key, 0), integer(span, "toolloop.attempt"))
    # A call that was asked for anew explains nothing: its successor counts.
    last = (s for s in calls if integer(s, "toolloop.attempt") >= attempts[s.run, s.turn])
    return next((span for span in last if span.id in reading.stops), None)
