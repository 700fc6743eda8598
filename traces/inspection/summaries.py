"""The Summary tab: what a span was, how it went, its key numbers, its neighbours.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from agents.loop.own_words import is_own
from traces.inspection.detail_models import ErrorView, NoteView, SummaryView
from traces.inspection.formats import duration, json_text, sentences
from traces.inspection.neighbours import neighbour_links
from traces.inspection.own_words import own_line, quoted
from traces.inspection.reading import Reading, listed, number, text
from traces.inspection.summary_facts import facts_of, sentence_for
from traces.inspection.texts import optional_text
from traces.records import SpanRecord

_WHOLE = 2000
"""Characters of an error that stands by itself."""


def summary_view(reading: Reading, span: SpanRecord) -> SummaryView:
    """The summary of any span."""
    below = reading.below.get(span.id)
    return SummaryView(
        sentence=sentence_for(reading, span),
        facts=facts_of(reading, span),
        error=_error(span),
        approval=_approval(reading, span),
        limits=tuple(_limits(span)) + (tuple(_limits(below)) if below else ()),
        history=tuple(str(note) for note in listed(span, "toolloop.history.notes")),
        notes=_notes(reading, span) + (_notes(reading, below) if below else ()),
        returned=tuple(str(key) for key in listed(span, "toolloop.hook.returned")),
        traceback=optional_text(text(span, "toolloop.hook.traceback")),
        partial=optional_text(text(span, "toolloop.error.partial")),
        question=optional_text(reading.payload(span, "toolloop.message")),
        answer=optional_text(reading.payload(span, "toolloop.answer")),
        compacted=optional_text(reading.payload(span, "toolloop.compaction.summary")),
        notice=optional_text(reading.payload(span, "toolloop.notice")),
        links=neighbour_links(reading, span),
    )


def _error(span: SpanRecord) -> ErrorView | None:
    error = text(span, "toolloop.error")
    if not error:
        return None
    return ErrorView(
        text=own_line(error, _WHOLE) if is_own(error) else error,
        hint=own_line(text(span, "toolloop.error.hint"), _WHOLE),
        detail=text(span, "toolloop.error.detail"),
    )


def _approval(reading: Reading, span: SpanRecord) -> str:
    """Who decided on a call, what, and how long that took."""
    attributes = span.attributes
    allowed = attributes.get("toolloop.approval.allowed")
    if allowed is None:
        if "toolloop.approval.asked_ns" not in attributes:
            return ""
        return _("A person was asked.") if span.end_ns else _("A person is asked now.")
    wait = duration(number(attributes.get("toolloop.approval.wait_ms")) * 1e6)
    by, reason = text(span, "toolloop.approval.by"), text(span, "toolloop.approval.reason")
    if by == "nobody":
        return sentences([_("Refused without a person"), own_line(reason)])
    who = _("The person at the terminal") if by == "terminal" else by or _("A person")
    words = (
        _("%(who)s allowed it after %(time)s")
        if allowed
        else _("%(who)s refused it after %(time)s")
    )
    decided = words % {"who": who, "time": wait}
    if not reason or is_own(reason):
        return sentences([decided, own_line(reason)])
    given = {"what": decided, "reason": quoted(reason)}
    return sentences([_("%(what)s: %(reason)s") % given])


def _limits(span: SpanRecord) -> Iterator[str]:
    """The limits that acted: "tool_result_max_chars: weather__get: kept 7,990 of ..."."""
    for entry in listed(span, "toolloop.limits_reached"):
        if isinstance(entry, dict):
            yield f"`{entry.get('option')}`: {entry.get('detail')}"


def _notes(reading: Reading, span: SpanRecord) -> tuple[NoteView, ...]:
    return tuple(
        NoteView(
            level=str(note.get("level") or ""),
            text=str(note.get("text") or ""),
            fields=json_text(note["fields"], indent=None) if note.get("fields") else "",
            time=duration(number(note.get("at_ns")) - reading.start_ns),
        )
        for note in listed(span, "toolloop.notes")
        if isinstance(note, dict)
    )
