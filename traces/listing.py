"""The rows of the list of traces, as ready-to-print values.

Place in the house: ``traces``, pure but for gettext. ``x`` and ``width`` are percentages as text,
``y`` and ``height`` pixels of a rail 26 pixels high.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.formats import count, duration, language, money, one_line
from traces.inspection.marks import kind_view, run_state
from traces.inspection.view_models import KindView, StateView
from traces.models import Trace
from traces.tallies import HEIGHT, NS_PER_MS, SHARE, RunSummary

GROUND, TOP = 23.0, 1.0
"""Where the blocks of the small rail stand and end, in pixels from the top."""

LANE_GAP = 1.0
WORDS = 160

_SCALES = (1, 2, 5, 10, 20, 30, 40, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBarView:
    """One bar of the small rail; filled with the hatch where ``css`` is empty."""

    css: str
    x: str
    width: str
    y: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRowView:
    """One trace in the list. ``stop`` is its stop reason (``stop_kind`` its mark, ``is_plain``
    where the run was simply answered) or what a running one does; ``lang`` a language tag.

    The tokens are a dash and nothing where a provider was asked and told no usage. ``parts`` are
    the bars of the duration on the axis that all rows share.
    """

    id: str
    href: str
    at_ns: int
    message: str
    lang: str
    who: str
    state: StateView
    stop: str
    stop_kind: KindView | None
    stop_state: StateView | None
    is_plain: bool
    rail: tuple[MiniBarView, ...]
    rail_label: str
    calls: int
    errors: int
    retries: int
    input_tokens: str
    output_tokens: str
    first_token: str
    cost: str
    parts: tuple[MiniBarView, ...]
    duration: str
    elapsed_ms: int | None
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetView:
    """A stop reason in the bar above the list. ``css`` are the classes of its colour."""

    reason: str
    count: str
    css: str
    x: str
    width: str


def axis_seconds(longest_ms: float) -> int:
    """The round number of seconds at the end of the axis of durations."""
    return next((s for s in _SCALES if longest_ms <= s * 1000), round(longest_ms / 1000) or 1)


def row_view(
    trace: Trace, summary: RunSummary | None, *, now_ns: int, axis: int, users: Mapping[str, str]
) -> ListRowView:
    """One row. ``summary`` is given where it is not stored: of a trace that goes on."""
    is_running = trace.end_ns is None
    rail = summary.rail if summary is not None else trace.summary or {}
    length_ms = ((trace.end_ns or now_ns) - trace.start_ns) / NS_PER_MS
    counted: Trace | RunSummary = summary or trace
    first = counted.first_token_ms
    waits = summary is not None and summary.is_waiting
    message = one_line(trace.message, WORDS)
    is_told = counted.input_tokens or counted.output_tokens or not _asks_model(rail)
    who = [trace.assistant_name or trace.assistant, users.get(trace.user, "")]
    fell_back = trace.status == "completed" and (trace.level or 1) > 1
    return ListRowView(
        id=trace.pk,
        href=reverse("trace", args=[trace.pk]),
        at_ns=trace.start_ns,
        message=message or _("(no words)"),
        lang=language(message),
        who=_(", ").join(text for text in who if text),
        state=run_state(trace.status),
        stop=_("turn %(n)d") % {"n": counted.turns} if is_running else trace.stop_reason,
        stop_kind=kind_view("fallback") if fell_back else None,
        stop_state=run_state("waiting") if is_running and waits else None,
        is_plain=trace.stop_reason == "answered" and not fell_back,
        rail=tuple(_rail_bars(rail)),
        rail_label=ngettext("%(n)d turn", "%(n)d turns", counted.turns + 1)
        % {"n": counted.turns + 1},
        calls=counted.tool_calls,
        errors=counted.errors,
        retries=counted.retries,
        input_tokens=count(counted.input_tokens) if is_told else "–",
        output_tokens=count(counted.output_tokens) if is_told else "",
        first_token=duration(first * NS_PER_MS) if first is not None else "",
        cost=money(counted.cost) if counted.cost is not None else "",
        parts=tuple(_duration_bars(rail, length_ms, axis)),
        duration=duration(length_ms * NS_PER_MS),
        elapsed_ms=round(length_ms) if is_running else None,
        is_running=is_running,
    )


def _asks_model(rail: Mapping[str, object]) -> bool:
    segments = rail.get("segments")
    return any(segment[0] == "M" for segment in segments) if isinstance(segments, list) else False


def facet_views(counts: Mapping[str, int]) -> tuple[FacetView, ...]:
    """The stop reasons in order of their number; the bar holds all but the plain answers."""
    others = {reason: n for reason, n in counts.items() if reason != "answered"}
    whole = sum(others.values())
    views, before = [], 0
    if "answered" in counts:
        views.append(
            FacetView(
                reason="answered", count=count(counts["answered"]), css="fb-ok", x="", width=""
            )
        )
    for reason, n in others.items():
        views.append(
            FacetView(
                reason=reason,
                count=count(n),
                css=_facet_css(reason),
                x=f"{before / whole:.2%}",
                width=f"{max(n / whole - 0.002, 0.002):.2%}",
            )
        )
        before += n
    return tuple(views)


def _facet_css(reason: str) -> str:
    if reason in ("cancelled", "worker_lost"):
        return "fb-off"
    if reason == "delegated":
        return "b kt"
    if reason in ("provider_error", "hook_error", "truncated", "error"):
        return "b-bad"
    return "b kf"


def _rail_bars(rail: Mapping[str, object]) -> Iterator[MiniBarView]:
    segments = rail.get("segments")
    for segment in segments if isinstance(segments, list) else ():
        yield from _segment_bars(segment)


def _segment_bars(segment: Sequence[int | str]) -> Iterator[MiniBarView]:
    kind, *numbers = segment
    start, width, height, lane, lanes, is_bad = (int(number) for number in numbers)
    x, wide = f"{start / SHARE:.2%}", f"{width / SHARE:.2%}"
    top = GROUND - (GROUND - TOP) * height / HEIGHT
    if kind == "R":
        yield MiniBarView(css="b kr", x=x, width=wide, y=f"{max(top - 2.5, 0):.1f}", height="1.5")
        return
    each = (GROUND - top - LANE_GAP * (lanes - 1)) / lanes
    each = max(each, 1.0)
    y = min(top + lane * (each + LANE_GAP), GROUND - 1)
    css = {"M": "b km", "C": "b kc", "F": "b kf", "O": "b-run kc", "W": ""}.get(str(kind), "b kt")
    yield MiniBarView(css=css, x=x, width=wide, y=f"{y:.1f}", height=f"{each:.1f}")
    if is_bad:
        cap = min(2.0, each)
        yield MiniBarView(css="b-bad", x=x, width=wide, y=f"{y:.1f}", height=f"{cap:.1f}")


def _duration_bars(
    rail: Mapping[str, object], length_ms: float, axis: int
) -> Iterator[MiniBarView]:
    """Model, tools, waiting and the rest behind one another."""
    whole = axis * 1000
    spent = [("b km", "model_ms"), ("b kc", "tools_ms"), ("", "waiting_ms")]
    before = 0.0
    for css, name in spent:
        value = rail.get(name)
        ms = min(float(value) if isinstance(value, int | float) else 0.0, length_ms - before)
        if ms > 0:
            yield _duration_bar(css, before, ms, whole)
            before += ms
    if length_ms - before > 0:
        yield _duration_bar("b kt", before, length_ms - before, whole)


def _duration_bar(css: str, start_ms: float, ms: float, whole_ms: float) -> MiniBarView:
    return MiniBarView(
        css=css,
        x=f"{start_ms / whole_ms:.2%}",
        width=f"{max(ms / whole_ms, 0.002):.2%}",
        y="0",
        height="8",
    )
