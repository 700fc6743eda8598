"""The context of each request: what it was made of, and what results cost by being sent again.

Place in the house: ``traces.inspection``, pure. A part's tokens are estimated from its characters
and scaled so that the parts of a request add up to what the provider counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from traces.inspection.formats import about_tokens, clauses, count, json_text, place
from traces.inspection.links import span_href
from traces.inspection.message_views import Calls, calls_of_run
from traces.inspection.panel_models import (
    ColumnView,
    GrowthView,
    SegmentView,
    SentAgainView,
    SeriesView,
)
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    listed,
    new_hashes,
    tool_title,
)
from traces.inspection.repeats import main_run
from traces.inspection.row_texts import request_title
from traces.inspection.texts import content_text
from traces.records import SpanRecord

CHARS_PER_TOKEN = 4

MAX_COLUMNS = 60
"""Requests in the chart; of a longer run the last ones are shown."""

MAX_TOOLS = 5
"""Tools with a colour of their own; the others share one."""

COLUMN_SHARE = 0.74
"""How much of its place a column takes."""

HEADROOM = 1.12
"""The upper edge over the largest column: its number stands above it."""

_BASE = ("system", "tools", "user", "assistant")


@dataclass(slots=True)
class Request:
    """A request taken apart: estimated tokens by part, and by call those of its result."""

    span: SpanRecord
    parts: dict[str, float] = field(default_factory=dict)
    results: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The tokens of the whole."""
        return sum(self.parts.values())


def requests_of(reading: Reading, run: str) -> list[Request]:
    """The answered requests of a run, taken apart, in order."""
    spans = [s for s in reading.spans if asks_the_model(s) and s.run == run and s.status == "ok"]
    if not spans:
        return []
    calls, sizes = calls_of_run(reading, spans[0]), _Sizes(reading)
    return [_taken_apart(span, calls, sizes) for span in spans]


def growth_view(
    reading: Reading, requests: Sequence[Request], *, window: int | None = None
) -> GrowthView:
    """The stacked chart."""
    shown = list(requests[-MAX_COLUMNS:])
    series = _series(shown)
    largest = max((request.total for request in shown), default=0.0)
    top = max(largest * HEADROOM, float(window or 0), 1.0)
    columns = tuple(
        _column(request, place_, len(shown), top, series, reading)
        for place_, request in enumerate(shown)
    )
    note = _("Parts are estimated from their length and scaled to what the provider counted.")
    if len(shown) < len(requests):
        note += " " + _("The last %(n)d of %(all)d requests are shown.") % {
            "n": len(shown),
            "all": len(requests),
        }
    return GrowthView(
        columns=columns,
        series=tuple(dict.fromkeys(series.values())),
        top=count(round(top)),
        top_count=round(top),
        is_window=bool(window) and top == float(window or 0),
        note=note if columns else "",
    )


def sent_again_views(reading: Reading, requests: Sequence[Request]) -> tuple[SentAgainView, ...]:
    """What each result cost by being sent more than once, the dearest first."""
    found: list[tuple[int, SentAgainView]] = []
    costs: dict[str, list[float]] = {}
    for request in requests:
        for call, tokens in request.results.items():
            costs.setdefault(call, []).append(tokens)
    for call, tokens_of in costs.items():
        span, again = reading.by_id[call], tokens_of[1:]
        if not again:
            continue
        # Whole tokens, so that the product is what a reader would work out.
        once = max(1, round(sum(tokens_of) / len(tokens_of)))
        total = once * len(again)
        words = _("%(n)d × = %(total)s") % {"n": len(again), "total": count(total)}
        found.append(
            (
                -total,
                SentAgainView(
                    label=tool_title(span),
                    tokens=count(once),
                    times=len(again),
                    total=count(total),
                    total_count=total,
                    text=words,
                    span=span.id,
                    href=span_href(span),
                ),
            )
        )
    return tuple(view for _cost, view in sorted(found, key=lambda pair: pair[0]))


class _Sizes:
    """The characters of messages and definitions by hash, counted once each."""

    def __init__(self, reading: Reading) -> None:
        self._payloads = reading.payloads
        self._known: dict[str, tuple[str, str, int]] = {}

    def of(self, digest: str) -> tuple[str, str, int]:
        """Role, id of the call that it answers, and characters of a message."""
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = _measured(self._payloads.get(digest))
        return known

    def of_definition(self, digest: str) -> int:
        """The characters of a tool's definition."""
        known = self._known.get(digest)
        if known is None:
            value = self._payloads.get(digest)
            size = 0 if value is None else len(json_text(value, indent=None))
            known = self._known[digest] = "", "", size
        return known[2]


def _measured(message: object) -> tuple[str, str, int]:
    if not isinstance(message, dict):
        return "", "", 0
    calls = message.get("tool_calls")
    size = len(content_text(message.get("content")))
    size += len(json_text(calls, indent=None)) if calls else 0
    return str(message.get("role")), str(message.get("tool_call_id") or ""), size


def _taken_apart(span: SpanRecord, calls: Calls, sizes: _Sizes) -> Request:
    request = Request(span)
    for digest in map(str, listed(span, "gen_ai.tool.definitions")):
        _add(request.parts, "tools", sizes.of_definition(digest))
    for digest in map(str, listed(span, "gen_ai.input.messages")):
        role, call_id, size = sizes.of(digest)
        if role != "tool":
            _add(request.parts, role if role in _BASE else "user", size)
            continue
        known = [s for s in calls.get(call_id, ()) if s.position < span.position]
        name = f"result:{tool_title(known[-1])}" if known else "result:"
        _add(request.parts, name, size)
        if known:
            _add(request.results, known[-1].id, size)
    _scale(request)
    return request


def _add(parts: dict[str, float], name: str, chars: int) -> None:
    parts[name] = parts.get(name, 0.0) + chars / CHARS_PER_TOKEN


def _scale(request: Request) -> None:
    """Bring the estimates to what the provider counted."""
    counted, estimated = integer(request.span, "gen_ai.usage.input_tokens"), request.total
    if not counted or not estimated:
        return
    factor = counted / estimated
    for parts in (request.parts, request.results):
        for name in parts:
            parts[name] *= factor


def _series(requests: Sequence[Request]) -> dict[str, SeriesView]:
    """The colours: the fixed parts, then the tools that take most, then the others together."""
    words = {
        "system": _("system"),
        "tools": _("tools"),
        "user": _("user"),
        "assistant": _("assistant"),
    }
    used = {name for request in requests for name, tokens in request.parts.items() if tokens}
    series = {
        name: SeriesView(name=name, css=f"g-{name}", word=word)
        for name, word in words.items()
        if name in used
    }
    totals: dict[str, float] = {}
    for request in requests:
        for name, tokens in request.parts.items():
            if name.startswith("result:"):
                totals[name] = totals.get(name, 0.0) + tokens
    ranked = sorted(totals, key=lambda name: -totals[name])
    for place_, name in enumerate(ranked):
        tool = name.removeprefix("result:") or _("earlier results")
        series[name] = SeriesView(
            name="result",
            css=f"g-r{min(place_, MAX_TOOLS)}",
            word=_("other tools") if place_ >= MAX_TOOLS else tool,
        )
    return series


def _column(
    request: Request,
    place_: int,
    total: int,
    top: float,
    series: Mapping[str, SeriesView],
    reading: Reading,
) -> ColumnView:
    span = request.span
    left, width = place_ / total, COLUMN_SHARE / total
    title = request_title(reading, span)
    words = _("%(n)s tokens") % {"n": count(round(request.total))}
    return ColumnView(
        label=_label(span),
        title=clauses([title, words]),
        total=count(round(request.total)),
        total_count=round(request.total),
        x=place(left),
        width=place(width),
        y=place(1 - request.total / top),
        middle=place(left + width / 2),
        segments=tuple(_segments(request, top, series)),
        span=span.id,
        href=span_href(span),
        is_estimated="gen_ai.usage.input_tokens" not in span.attributes,
    )


def _label(span: SpanRecord) -> str:
    attempt = integer(span, "toolloop.attempt")
    return f"{span.turn}, R" if attempt > 1 else span.turn


def _segments(request: Request, top: float, series: Mapping[str, SeriesView]) -> list[SegmentView]:
    """The parts of a column from the ground up."""
    segments: list[SegmentView] = []
    order = list(dict.fromkeys(series.values()))
    below = 0.0
    for name, view in series.items():
        tokens = request.parts.get(name, 0.0)
        if not tokens:
            continue
        below += tokens
        segments.append(
            SegmentView(
                series=order.index(view),
                css=view.css,
                tokens=count(round(tokens)),
                token_count=round(tokens),
                y=place(1 - below / top),
                height=place(tokens / top),
                title=clauses([view.word, about_tokens(tokens)]),
            )
        )
    return segments


def growth_hashes(reading: Reading) -> list[str]:
    """The payloads that the chart needs: each message and definition once."""
    run = main_run(reading)
    names = ("gen_ai.input.messages", "gen_ai.tool.definitions")
    return list(
        dict.fromkeys(
            digest
            for span in reading.spans
            if asks_the_model(span) and span.run == run
            for name in names
            for digest in new_hashes(span, name)
        )
    )
