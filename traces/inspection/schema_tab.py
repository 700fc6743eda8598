"""The Schema tab of a tool call: the arguments as sent beside the schema that the model was given.

Place in the house: ``traces.inspection``, pure. Whether arguments fit is what the engine decided
when the call came; the faults are found again to be shown where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import json_repair
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.detail_models import FaultView, PieceView, SchemaView
from traces.inspection.formats import count, sentences
from traces.inspection.json_pieces import Place, json_pieces, text_pieces
from traces.inspection.marks import kind_view
from traces.inspection.neighbours import request_of_call
from traces.inspection.own_words import own_line
from traces.inspection.reading import Reading, hashes_of, integer, outcome_of, text
from traces.inspection.schema_faults import Fault, find_faults
from traces.records import SpanRecord

SHOWN_CHARS = 20_000
"""How much of each side is given to the page."""

SHOWN_FAULTS = 6
"""Faults in the sentence; all of them are marked."""

ARGUMENTS, RAW = "gen_ai.tool.call.arguments", "toolloop.call.raw_arguments"
DEFINITIONS = "gen_ai.tool.definitions"

_CHECKED = frozenset(
    {"ok", "tool_error", "timeout", "server_unavailable", "protocol_error", "denied", "skipped"}
    | {"running", "awaiting_approval"}
)
"""Outcomes of calls whose arguments had passed the engine's own check."""


_MISFIT = "do not fit the tool's schema"
"""What the engine writes of arguments that it could read but that the schema refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What a model sent: the value, or its text where that is no JSON object (``fault_at`` is then
    the place that could not be read)."""

    value: object = None
    text: str = ""
    fault_at: int | None = None

    @property
    def is_readable(self) -> bool:
        return self.fault_at is None


def schema_view(reading: Reading, span: SpanRecord) -> SchemaView:
    """Arguments and schema with their marks, and what is to say about them."""
    sent = _sent(reading, span)
    schema, missing = _schema(reading, span)
    outcome = outcome_of(span)
    is_refused = outcome == "invalid_arguments"
    faults = find_faults(sent.value, schema) if sent.is_readable and outcome not in _CHECKED else []
    fits = schema is not None and not faults and not is_refused
    arguments, cut = _argument_pieces(sent, faults)
    pieces, schema_cut = _schema_pieces(schema, faults)
    return SchemaView(
        arguments=arguments,
        schema=pieces,
        faults=tuple(_fault_views(faults)),
        sentence="" if faults else _sentence(reading, span, sent, fits=fits),
        after=_aftermath(reading, span) if is_refused else "",
        retry=kind_view("retry") if is_refused and _mended_in(reading, span) else None,
        told=text(span, "toolloop.error") if is_refused else "",
        fits=fits,
        missing=missing,
        more=sentences([cut, schema_cut]),
    )


def schema_hashes(reading: Reading, span: SpanRecord) -> list[str]:
    """The payloads that the tab needs."""
    request = request_of_call(reading, span)
    offered = hashes_of(request, DEFINITIONS) if request is not None else ()
    return [*hashes_of(span, ARGUMENTS, RAW), *offered]


def _sent(reading: Reading, span: SpanRecord) -> _Sent:
    raw = reading.payload(span, RAW)
    given = reading.payload(span, ARGUMENTS) if raw is None else raw
    if not isinstance(given, str):
        return _Sent(value=given)
    if not given.strip() or given.strip() == "null":
        return _Sent(value={})
    try:
        return _Sent(value=json.loads(given))
    except json.JSONDecodeError as fault:
        found = reading.payload(span, ARGUMENTS)
        if isinstance(found, str) and _MISFIT in text(span, "toolloop.error"):
            found = json_repair.loads(given)
        if isinstance(found, dict):
            # The engine could read it: what counts is what it read.
            return _Sent(value=found, text=given)
        return _Sent(text=given, fault_at=fault.pos)
    except (ValueError, RecursionError):
        return _Sent(text=given, fault_at=0)


def _schema(reading: Reading, span: SpanRecord) -> tuple[dict[str, object] | None, str]:
    """The schema that the model was given, or ``None`` and why it is not there."""
    request = request_of_call(reading, span)
    name = text(span, "toolloop.call.name")
    gone = False
    for digest in hashes_of(request, DEFINITIONS) if request is not None else ():
        definition = reading.payloads.get(digest)
        function = definition.get("function") if isinstance(definition, dict) else None
        gone = gone or definition is None
        if isinstance(function, dict) and function.get("name") == name:
            schema = function.get("parameters")
            return (schema if isinstance(schema, dict) else {}), ""
    if gone:
        return None, _("The schema is no longer stored.")
    if span.attributes.get("toolloop.run_by_provider"):
        return None, _("The provider ran this call by itself; its schema is not recorded.")
    return None, _("No tool of this name was offered with the request, so there is no schema.")


def _argument_pieces(sent: _Sent, faults: list[Fault]) -> tuple[tuple[PieceView, ...], str]:
    if not sent.is_readable:
        return text_pieces(sent.text, sent.fault_at, limit=SHOWN_CHARS), _cut_line(len(sent.text))
    marks = {fault.argument: "bad" for fault in faults if fault.argument is not None}
    return _pieces(sent.value, marks)


def _schema_pieces(
    schema: dict[str, object] | None, faults: list[Fault]
) -> tuple[tuple[PieceView, ...], str]:
    if schema is None:
        return (), ""
    marks = {fault.rule: "rule" for fault in faults if fault.rule is not None}
    return _pieces(schema, marks)


def _pieces(value: object, marks: Mapping[Place, str]) -> tuple[tuple[PieceView, ...], str]:
    pieces, whole = json_pieces(value, marks, limit=SHOWN_CHARS)
    return pieces, _cut_line(whole)


def _cut_line(whole: int) -> str:
    if whole <= SHOWN_CHARS:
        return ""
    return _("The first %(shown)s of %(whole)s characters are shown.") % {
        "shown": count(SHOWN_CHARS),
        "whole": count(whole),
    }


def _fault_views(faults: list[Fault]) -> Iterator[FaultView]:
    shown = faults[:SHOWN_FAULTS]
    rest = len(faults) - len(shown)
    for number, fault in enumerate(shown, start=1):
        is_last = number == len(shown) and not rest
        yield FaultView(
            pointer=fault.pointer or _("the whole"),
            text=fault.text,
            is_pointer=bool(fault.pointer),
            after=_("%(sentence)s.") % {"sentence": ""} if is_last else _(", "),
        )
    if rest:
        words = ngettext("and %(n)d more", "and %(n)d more", rest)
        end = _("%(sentence)s.") % {"sentence": ""}
        yield FaultView(pointer="", text=words % {"n": rest}, is_pointer=False, after=end)


def _sentence(reading: Reading, span: SpanRecord, sent: _Sent, *, fits: bool) -> str:
    """What is to say where no fault can be shown."""
    if fits:
        is_changed = sent.value != reading.payload(span, ARGUMENTS)
        return sentences(
            [
                _("The arguments fit the tool's schema"),
                _("Their JSON was mended first") if sent.text else "",
                _("A hook changed them before the call ran") if is_changed else "",
            ]
        )
    if not sent.is_readable:
        return _("The arguments are not one JSON object that can be read.")
    if outcome_of(span) == "invalid_arguments":
        return sentences([own_line(text(span, "toolloop.error"), 300)])
    return ""


def _aftermath(reading: Reading, span: SpanRecord) -> str:
    """What became of a call whose arguments did not fit."""
    asked = [
        s for s in reading.spans
        if s.kind == "model" and s.run == span.run and s.turn != "F" and s.position > span.position
    ]  # fmt: skip
    if not asked:
        return _("The model was not asked again.")
    mended = _mended_in(reading, span)
    if mended is not None and mended.turn == span.turn:
        return _("The model was told and mended it in attempt %(n)d.") % {
            "n": integer(mended, "toolloop.attempt")
        }
    if mended is not None:
        return _("The model was told and mended it in turn %(n)s.") % {"n": mended.turn}
    if any(True for _call in _later_calls(reading, span)):
        return _("The model was told; its next call of this tool did not fit either.")
    if asked[-1].end_ns is None:
        return _("The model was told; it is answering.")
    return _("The model was told and did not call this tool again.")


def _mended_in(reading: Reading, span: SpanRecord) -> SpanRecord | None:
    """The first later call of the same tool whose arguments fitted."""
    later = _later_calls(reading, span)
    return next((call for call in later if outcome_of(call) in _CHECKED), None)


def _later_calls(reading: Reading, span: SpanRecord) -> Iterator[SpanRecord]:
    """Calls of the same tool in later answers of the run."""
    name, answer = text(span, "toolloop.call.name"), _answer(span)
    for call in reading.spans:
        is_later = call.position > span.position and call.run == span.run
        is_same = call.kind == "tool_call" and text(call, "toolloop.call.name") == name
        if is_later and is_same and _answer(call) != answer:
            yield call


def _answer(call: SpanRecord) -> tuple[str, int]:
    """Which answer of the model asked for a call."""
    return call.turn, integer(call, "toolloop.attempt")
