"""The Input / Output tab of a tool call.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from traces.inspection.detail_models import CallView, FactView
from traces.inspection.formats import byte_size, characters, count, object_in
from traces.inspection.reading import Reading, hashes_of, integer, listed, number
from traces.inspection.texts import optional_text
from traces.records import SpanRecord

ARGUMENTS, RAW = "gen_ai.tool.call.arguments", "toolloop.call.raw_arguments"
RESULT, SEEN = "gen_ai.tool.call.result", "toolloop.result.text"
STRUCTURED = "toolloop.structured"


def call_view(reading: Reading, span: SpanRecord) -> CallView:
    """Arguments, result, what the model saw of it, structured content and other parts."""
    arguments = reading.payload(span, ARGUMENTS)
    raw = reading.payload(span, RAW)
    gone = [digest for digest in call_hashes(span) if digest not in reading.payloads]
    return CallView(
        arguments=optional_text(arguments),
        raw=None if object_in(raw) == arguments else optional_text(raw),
        result=optional_text(reading.payload(span, RESULT)),
        seen=optional_text(reading.payload(span, SEEN)),
        seen_line=_seen_line(span),
        structured=optional_text(reading.payload(span, STRUCTURED)),
        parts=_parts(span),
        missing=_("A part of this call is no longer stored.") if gone else "",
    )


def call_hashes(span: SpanRecord) -> list[str]:
    """The payloads that the tab needs."""
    return list(hashes_of(span, ARGUMENTS, RAW, RESULT, SEEN, STRUCTURED))


def _seen_line(span: SpanRecord) -> str:
    whole, kept = integer(span, "toolloop.chars"), integer(span, "toolloop.seen_chars")
    if not span.attributes.get("toolloop.truncated"):
        if not whole:
            return ""
        return _("The model saw the whole: %(n)s.") % {"n": characters(whole)}
    return _("The model saw %(kept)s of %(whole)s.") % {
        "kept": count(kept),
        "whole": characters(whole),
    }


def _parts(span: SpanRecord) -> tuple[FactView, ...]:
    """Content other than text: kind, type and size."""
    return tuple(
        FactView(
            name=str(part.get("kind")),
            text=f"{part.get('type') or '?'}, {byte_size(int(number(part.get('bytes'))))}",
        )
        for part in listed(span, "toolloop.result.parts")
        if isinstance(part, dict)
    )
