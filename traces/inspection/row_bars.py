"""The bar of one row: its pieces on the shared time axis, in a lane of 28 pixels.

Place in the house: ``traces.inspection``, pure. Solid worked, soft until the first token, hatched
waited or left the provider alone, dashed is going on, a red cap failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from traces.inspection.axis import share
from traces.inspection.formats import NS_PER_MS, duration, place
from traces.inspection.intervals import approval_wait, back_off_end
from traces.inspection.marks import kind_view
from traces.inspection.reading import Reading, hashes_of, is_failed_call, is_waiting, number
from traces.inspection.view_models import BarView
from traces.records import SpanRecord

MIN_SHARE = 0.002
"""The least width of a bar: what took no time can still be seen."""


def row_bars(reading: Reading, span: SpanRecord) -> tuple[BarView, ...]:
    """The pieces of a span's bar, from the ground up."""
    css = kind_view(span.kind).css
    start, end = span.start_ns, reading.end_of(span)
    if span.end_ns is None and span.kind not in ("tool_call", "model"):
        return (bar(reading, start, end, look="run", css=f"b-run {css}", y="8", height="12"),)
    match span.kind:
        case "agent":
            return (bar(reading, start, end, css=f"b {css}", y="11", height="6"),)
        case "turn":
            return stretch_bars(reading, start, end)
        case "retry" | "fallback":
            return (
                bar(reading, start, end, look="soft", css=f"b-soft {css}", y="8", height="12"),
                bar(reading, start, end, look="base", css=f"b {css}", y="18", height="2"),
            )
        case "model":
            return tuple(_model_bars(reading, span, css))
        case "tool_call":
            return tuple(_call_bars(reading, span, css))
    return (bar(reading, start, end, css=f"b {css}", y="8", height="12"),)


def stretch_bars(reading: Reading, start: int, end: int) -> tuple[BarView, ...]:
    """The ground and the line of a turn, or of several in a row."""
    css = kind_view("turn").css
    return (
        bar(reading, start, end, look="tint", css=f"b-tint {css}", y="5", height="18"),
        bar(reading, start, end, look="base", css=f"b {css}", y="21", height="2"),
    )


def bar(
    reading: Reading,
    start: float,
    end: float,
    *,
    css: str,
    y: str,
    height: str,
    look: str = "solid",
    title: str = "",
) -> BarView:
    """One piece from one moment to another."""
    left = share(reading, start)
    width = max(share(reading, end) - left, MIN_SHARE)
    left = min(left, 1 - width)
    return BarView(
        look=look, css=css, x=place(left), width=place(width), y=y, height=height, title=title
    )


def first_token_ns(span: SpanRecord) -> int | None:
    """When the first chunk of an answer came; ``None`` where none did."""
    seconds = span.attributes.get("gen_ai.response.time_to_first_chunk")
    return None if seconds is None else span.start_ns + round(number(seconds) * 1e9)


def first_token_in(reading: Reading, span: SpanRecord) -> int | None:
    """When the first chunk came, also of an answer that broke off; needs its exchange."""
    known = first_token_ns(span)
    exchange = reading.payload(span, "toolloop.exchange") if known is None else None
    chunks = exchange.get("chunks") if isinstance(exchange, dict) else None
    first = chunks[0] if isinstance(chunks, list) and chunks else None
    if not isinstance(first, list) or not first or not isinstance(first[0], int | float):
        return known
    return span.start_ns + round(first[0] * NS_PER_MS)


def broken_answer_hashes(spans: Iterable[SpanRecord]) -> Iterator[str]:
    """The exchanges of answers that broke off after some text."""
    for span in spans:
        if first_token_ns(span) is None and "toolloop.error.partial" in span.attributes:
            yield from hashes_of(span, "toolloop.exchange")


def _model_bars(reading: Reading, span: SpanRecord, css: str) -> Iterator[BarView]:
    start, end = span.start_ns, reading.end_of(span)
    first = first_token_in(reading, span)
    if span.end_ns is None:
        yield bar(reading, start, end, look="run", css=f"b-run {css}", y="8", height="12")
        return
    if first is not None and start < first <= end:
        title = _("%(time)s to the first token") % {"time": duration(first - start)}
        yield bar(
            reading, start, first, look="soft", css=f"b-soft {css}", y="8", height="12", title=title
        )
        start = first
    yield bar(reading, start, end, css=f"b {css}", y="8", height="12")
    if span.status == "error":
        yield _cap(reading, span.start_ns, end)
    until = back_off_end(reading, span)
    if until is not None and until > end:
        yield _hatch(reading, end, until, _("back-off %(time)s"))


def _call_bars(reading: Reading, span: SpanRecord, css: str) -> Iterator[BarView]:
    start, end = span.start_ns, reading.end_of(span)
    waited = approval_wait(reading, span)
    if waited is not None:
        yield _hatch(reading, waited[0], waited[1], _("waited %(time)s for a person"))
        start = waited[1]
    if span.end_ns is None:
        if not is_waiting(span):
            yield bar(reading, start, end, look="run", css=f"b-run {css}", y="8", height="12")
        return
    if waited is None or span.attributes.get("toolloop.approval.allowed"):
        yield bar(reading, start, end, css=f"b {css}", y="8", height="12")
    if is_failed_call(span):
        yield _cap(reading, start, end)


def _cap(reading: Reading, start: int, end: int) -> BarView:
    return bar(reading, start, end, look="bad", css="b-bad", y="8", height="3.5", title=_("failed"))


def _hatch(reading: Reading, start: int, end: int, words: str) -> BarView:
    title = words % {"time": duration(end - start)}
    return bar(reading, start, end, look="hatch", css="", y="8", height="12", title=title)
