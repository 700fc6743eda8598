"""Which spans belong together: a request and its calls, a retry and what it corrects.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from traces.inspection.formats import telling_argument
from traces.inspection.links import link_to
from traces.inspection.reading import Reading, listed, text, tool_title
from traces.inspection.row_texts import attempt_title, request_title, row_title, turn_title
from traces.inspection.view_models import LinkView
from traces.records import SpanRecord

MAX_LINKS = 40
"""Links of one span; more are found in the tree."""


def neighbour_links(reading: Reading, span: SpanRecord) -> tuple[LinkView, ...]:
    """Where to go on from a span, the nearest first."""
    return tuple(
        link for _place, link in zip(range(MAX_LINKS), _links(reading, span), strict=False)
    )


def request_of_call(reading: Reading, call: SpanRecord) -> SpanRecord | None:
    """The request whose answer asked for a call."""
    before = [
        s for s in _company(reading, call) if s.kind == "model" and s.position < call.position
    ]
    answered = [span for span in before if span.status == "ok"]
    return answered[-1] if answered else None


def calls_of_request(reading: Reading, request: SpanRecord) -> list[SpanRecord]:
    """The calls that an answer asked for, in order."""
    found: list[SpanRecord] = []
    for span in _company(reading, request):
        if span.position > request.position and span.kind == "model":
            break
        if span.position > request.position and span.kind == "tool_call":
            found.append(span)
    return found


def _company(reading: Reading, span: SpanRecord) -> Sequence[SpanRecord]:
    """The spans beside one, itself included."""
    parent = reading.aliases.get(span.parent, span.parent)
    return reading.children.get("" if span.id in reading.orphans else parent, ())


def _links(reading: Reading, span: SpanRecord) -> Iterator[LinkView]:
    match span.kind:
        case "tool_call":
            asked = request_of_call(reading, span)
            if asked is not None:
                title = _("asked for in %(request)s") % {"request": request_title(reading, asked)}
                yield link_to(asked, title)
            yield from _reading_requests(reading, span)
        case "model":
            for call in calls_of_request(reading, span):
                yield link_to(call, _call_text(reading, call))
        case "retry":
            for call in _corrected(reading, span):
                yield link_to(call, _("corrects %(call)s") % {"call": _call_text(reading, call)})
        case "hook":
            above = reading.by_id.get(span.parent)
            if above is not None and above.kind == "tool_call":
                yield link_to(above, _call_text(reading, above))
        case "agent":
            above = reading.by_id.get(span.parent)
            if above is not None:
                yield link_to(above, _("handed over by %(name)s") % {"name": above.name})
    for child in reading.below_of(span):
        if child.kind in ("turn", "retry", "fallback", "agent"):
            yield link_to(child, _child_text(reading, child))


def _reading_requests(reading: Reading, call: SpanRecord) -> Iterator[LinkView]:
    """The first request of the run that read a call's result."""
    end = reading.end_of(call)
    for span in reading.spans:
        if span.kind == "model" and span.run == call.run and span.start_ns >= end:
            title = _("read first in %(request)s") % {"request": request_title(reading, span)}
            yield link_to(span, title)
            return


def _corrected(reading: Reading, retry: SpanRecord) -> list[SpanRecord]:
    """The calls of the turn that a retry is about, by their ids on the wire."""
    ids = set(map(str, listed(retry, "toolloop.calls")))
    turn = reading.by_id.get(retry.parent)
    below = reading.all_below(turn) if turn is not None else iter(())
    return [
        span
        for span in below
        if span.kind == "tool_call"
        and span.position < retry.position
        and text(span, "gen_ai.tool.call.id") in ids
    ]


def _call_text(reading: Reading, call: SpanRecord) -> str:
    argument = telling_argument(reading.payload(call, "gen_ai.tool.call.arguments"))
    return f"{tool_title(call)} {argument}".strip()


def _child_text(reading: Reading, child: SpanRecord) -> str:
    if child.kind == "turn":
        return turn_title(child.turn)
    return attempt_title(reading, child) if child.kind == "retry" else row_title(reading, child)
