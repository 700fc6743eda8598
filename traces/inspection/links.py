"""Ways from one span to another on the page of a trace.

Place in the house: ``traces.inspection``, pure. An address is a query on the page itself.
"""

from __future__ import annotations

from urllib.parse import quote_plus

from traces.inspection.marks import kind_view
from traces.inspection.view_models import LinkView
from traces.records import SpanRecord


def span_href(span: SpanRecord, *, tab: str = "") -> str:
    """The address that selects a span: ``?turn=3&span=ab12``."""
    query = (("turn", span.turn), ("span", span.id), ("tab", tab))
    return "?" + "&".join(f"{name}={quote_plus(value)}" for name, value in query if value)


def link_to(span: SpanRecord, text: str) -> LinkView:
    """A link to a span with its mark."""
    return LinkView(text=text, span=span.id, href=span_href(span), kind=kind_view(span.kind))
