"""The right side of the inspector for one selected span: its tabs and what they hold.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from traces.inspection.call_tab import call_hashes, call_view
from traces.inspection.detail_models import DetailView, MessagesView, TabView
from traces.inspection.formats import clauses, duration
from traces.inspection.marks import kind_view
from traces.inspection.messages_tab import message_hashes, messages_view
from traces.inspection.neighbours import calls_of_request
from traces.inspection.policy_tab import offered_count, policy_hashes, policy_view
from traces.inspection.reading import Reading, hashes_of, text
from traces.inspection.row_bars import broken_answer_hashes
from traces.inspection.row_texts import (
    request_title,
    row_argument,
    row_note,
    row_state,
    row_title,
    turn_title,
)
from traces.inspection.schema_tab import schema_hashes, schema_view
from traces.inspection.summaries import summary_view
from traces.records import SpanRecord

_FIRST_TAB = {"model": "messages", "tool_call": "call", "policy": "policy"}


def detail_view(reading: Reading, span_id: str) -> DetailView | None:
    """Everything about one span; ``None`` for an unknown id."""
    span = _span(reading, span_id)
    if span is None:
        return None
    messages = messages_view(reading, span) if span.kind == "model" else None
    call = call_view(reading, span) if span.kind == "tool_call" else None
    schema = schema_view(reading, span) if span.kind == "tool_call" else None
    policy = policy_view(reading, span.run)
    tabs = [TabView(key="summary", label=_("Summary"))]
    if messages is not None:
        tabs.append(TabView(key="messages", label=_("Messages"), badge=_badge(messages)))
    if call is not None:
        tabs.append(TabView(key="call", label=_("Input and output")))
    if schema is not None:
        badge = str(len(schema.faults)) if schema.faults else ""
        tabs.append(TabView(key="schema", label=_("Schema"), badge=badge))
    if policy is not None:
        badge = offered_count(reading, span.run)
        tabs.append(TabView(key="policy", label=_("Tools and policy"), badge=badge))
    is_refused = span.kind == "model" and span.status == "error"
    first = "summary" if is_refused else _FIRST_TAB.get(span.kind, "summary")
    return DetailView(
        span=span.id,
        kind=kind_view(span.kind),
        title=_title(reading, span),
        subtitle=_subtitle(reading, span),
        state=row_state(reading, span),
        tabs=tuple(tabs),
        tab=first if any(tab.key == first for tab in tabs) else "summary",
        summary=summary_view(reading, span),
        messages=messages,
        call=call,
        schema=schema,
        policy=policy,
    )


def hashes_for(reading: Reading, span_id: str) -> list[str]:
    """The payloads that ``detail_view`` needs of one span, each once."""
    span = _span(reading, span_id)
    return list(dict.fromkeys(_hashes(reading, span))) if span is not None else []


def _hashes(reading: Reading, span: SpanRecord) -> Iterator[str]:
    names = (
        "toolloop.message", "toolloop.answer", "toolloop.notice", "toolloop.catalog",
        "toolloop.compaction.summary",
    )  # fmt: skip
    yield from hashes_of(span, *names)
    yield from policy_hashes(reading, span.run)
    if span.kind == "tool_call":
        yield from call_hashes(span)
        yield from schema_hashes(reading, span)
    if span.kind == "model":
        yield from broken_answer_hashes([span])
        yield from message_hashes(reading, span)
        for call in calls_of_request(reading, span):
            yield from hashes_of(call, "gen_ai.tool.call.arguments")
    if span.kind == "retry":
        above = reading.by_id.get(span.parent)
        for call in reading.all_below(above) if above is not None else ():
            yield from hashes_of(call, "gen_ai.tool.call.arguments")


def _span(reading: Reading, span_id: str) -> SpanRecord | None:
    return reading.by_id.get(reading.aliases.get(span_id, span_id))


def _badge(messages: MessagesView) -> str:
    return f"+{messages.added}" if messages.previous is not None and messages.added else ""


def _title(reading: Reading, span: SpanRecord) -> str:
    """What is selected: "Turn 4, model request"."""
    if span.kind == "model":
        return clauses([request_title(reading, span), _("model request")])
    if span.kind == "policy":
        return _("Catalog of this run")
    return row_title(reading, span)


def _subtitle(reading: Reading, span: SpanRecord) -> str:
    """Where it belongs and when it was, counted from the trace's start."""
    begin, end = span.start_ns - reading.start_ns, reading.end_of(span) - reading.start_ns
    when = _("%(begin)s to %(end)s") % {"begin": duration(begin), "end": duration(end)}
    match span.kind:
        case "model":
            what = _("%(model)s at %(provider)s") % {
                "model": text(span, "gen_ai.request.model"),
                "provider": text(span, "gen_ai.provider.name"),
            }
        case "tool_call":
            what = clauses(
                [turn_title(span.turn) if span.turn else "", row_argument(reading, span)]
            )
        case _:
            what = row_note(reading, span)
    return clauses([what, when])
