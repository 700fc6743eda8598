"""One message of a request for the page: role, text, calls, where a result comes from.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from traces.inspection.detail_models import CallLineView, MessageView
from traces.inspection.formats import about_tokens, count, json_text, one_line
from traces.inspection.links import span_href
from traces.inspection.reading import Reading, integer, text, tool_title
from traces.inspection.texts import SHORT_CHARS, SHOWN_CHARS, content_text, optional_text
from traces.records import SpanRecord

Calls = Mapping[str, Sequence[SpanRecord]]
"""The call spans of a run by their id on the wire, in order; ids may repeat."""

ARGUMENTS_SHOWN = 2_000


def calls_of_run(reading: Reading, span: SpanRecord) -> Calls:
    """The calls of a span's run by id: before it those that it may send, after it those that its
    answer asked for."""
    found: dict[str, list[SpanRecord]] = {}
    for other in reading.spans:
        if other.kind == "tool_call" and other.run == span.run:
            for name in ("gen_ai.tool.call.id", "toolloop.call.given_id"):
                if text(other, name):
                    found.setdefault(text(other, name), []).append(other)
    return found


def message_view(
    message: object,
    *,
    number: int,
    change: str,
    calls: Calls,
    before: object = None,
) -> MessageView:
    """A message in the shape of chat completions; one that is no longer stored is empty."""
    value = message if isinstance(message, dict) else {}
    limit = SHORT_CHARS if change == "same" else SHOWN_CHARS
    body = content_text(value.get("content"))
    asked = [_call_line(call, calls) for call in _calls(value)]
    answered = _answered(value, calls)
    size = len(body) + sum(len(line.arguments) + len(line.name) for line in asked)
    old = content_text(before.get("content")) if isinstance(before, dict) else None
    return MessageView(
        number=number,
        role=str(value.get("role") or ""),
        label=tool_title(answered) if answered is not None else "",
        change=change,
        note=_note(change, body, old, answered),
        text=optional_text(body, limit=limit),
        calls=tuple(asked),
        tool_call_id=str(value.get("tool_call_id") or ""),
        tokens=about_tokens(-(-size // 4)),
        parts=tuple(_parts(value.get("content"))),
        before=optional_text(old, limit=SHORT_CHARS),
    )


def shortening(whole: int, kept: int) -> str:
    """How a text was cut: "1 cut from 18,204 to 8,000 characters"."""
    return _("1 cut from %(whole)s to %(kept)s characters") % {
        "whole": count(whole),
        "kept": count(kept),
    }


def _note(change: str, body: str, old: str | None, answered: SpanRecord | None) -> str:
    if change == "changed" and old is not None and len(body) < len(old):
        return shortening(len(old), len(body))
    if change == "added" and answered is not None and answered.attributes.get("toolloop.truncated"):
        return shortening(integer(answered, "toolloop.chars"), len(body))
    return ""


def _calls(message: Mapping[str, object]) -> list[dict[str, object]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _call_line(call: Mapping[str, object], calls: Calls) -> CallLineView:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    raw = function.get("arguments")
    call_id = str(call.get("id") or "")
    known = calls.get(call_id, ())
    arguments = raw if isinstance(raw, str) else json_text(raw, indent=None)
    return CallLineView(
        id=call_id,
        name=str(function.get("name") or ""),
        arguments=one_line(arguments, ARGUMENTS_SHOWN),
        span=known[-1].id if known else "",
        href=span_href(known[-1]) if known else "",
    )


def _answered(message: Mapping[str, object], calls: Calls) -> SpanRecord | None:
    """The call that a tool message answers."""
    known = calls.get(str(message.get("tool_call_id") or ""), ())
    return known[-1] if known and message.get("role") == "tool" else None


def _parts(content: object) -> list[str]:
    """Content other than text, named."""
    if not isinstance(content, list):
        return []
    kinds = [str(part.get("type")) for part in content if isinstance(part, dict)]
    return [kind for kind in kinds if kind != "text"]
