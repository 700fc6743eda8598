"""The page on which an operator calls a tool by hand.

Place in the house: ``agents.admin``. The form comes from the tool's schema; JSON stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.translation import gettext as _

from agents.admin.marks import json_text
from agents.admin.schema_form import (
    FieldFault,
    FormField,
    form_fields,
    read_arguments,
    start_values,
)
from agents.chat.states import call_state
from agents.loop.arguments import ArgumentsProblem, parse_arguments
from agents.loop.messages import JsonObject
from agents.models import Tool
from agents.runs.tool_trial import Trial, try_tool
from agents.texts import show_hidden

SHOWN_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """A field with what stands in it; ``fields`` are those of a group."""

    field: FormField
    text: str = ""
    fault: str = ""
    fields: tuple[FieldView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What a call gave. ``note`` tells what of the text is not shown."""

    state: object
    error: str
    text: str
    structured: str
    others: tuple[str, ...]
    seconds: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPage:
    """The page: the form, what JSON stands beside it, and what came of the last call."""

    fields: tuple[FieldView, ...]
    way: str
    raw: str
    fault: str = ""
    arguments: str = ""
    result: TrialResult | None = None


def trial_page(request: HttpRequest, tool: Tool) -> tuple[TrialPage, Trial | None]:
    """The page for a request; a POST calls the tool unless the arguments cannot be read."""
    fields = form_fields(tool.input_schema)
    if request.method != "POST":
        values = start_values(fields)
        raw = json_text(_start_json(fields, values))
        page = TrialPage(fields=_views(fields, values), way="form" if fields else "json", raw=raw)
        return page, None
    posted, raw = request.POST, request.POST.get("json", "")
    way = "json" if posted.get("way") == "json" or not fields else "form"
    try:
        arguments = parse_arguments(raw) if way == "json" else read_arguments(fields, posted)
    except (FieldFault, ArgumentsProblem) as fault:
        pointer = getattr(fault, "pointer", "") if way == "form" else ""
        views = _views(fields, posted, {pointer: str(fault)} if pointer else {})
        return TrialPage(fields=views, way=way, raw=raw, fault="" if pointer else str(fault)), None
    trial = try_tool(tool, arguments)
    page = TrialPage(
        fields=_views(fields, posted),
        way=way,
        raw=raw if way == "json" else json_text(arguments),
        arguments=json_text(arguments),
        result=_result(trial),
    )
    return page, trial


def _start_json(fields: tuple[FormField, ...], values: Mapping[str, str]) -> JsonObject:
    try:
        return read_arguments(fields, values)
    except FieldFault:
        return {}


def _views(
    fields: tuple[FormField, ...],
    values: Mapping[str, str],
    faults: Mapping[str, str] | None = None,
) -> tuple[FieldView, ...]:
    known = faults or {}
    return tuple(
        FieldView(
            field=replace(field, fields=()),
            text=values.get(field.pointer, ""),
            fault=known.get(field.pointer, ""),
            fields=_views(field.fields, values, known),
        )
        for field in fields
    )


def _result(trial: Trial) -> TrialResult:
    reply = trial.reply
    text = "\n".join(part.text for part in reply.parts if part.text)
    others = tuple(
        " ".join(filter(None, (part.kind.value, part.mime_type, part.uri)))
        for part in reply.parts
        if part.data or part.uri
    )
    note = ""
    if len(text) > SHOWN_CHARS:
        note = _("The first %(shown)s of %(all)s characters are shown.") % {
            "shown": f"{SHOWN_CHARS:,}",
            "all": f"{len(text):,}",
        }
    return TrialResult(
        state=call_state(reply.outcome.value),
        error=reply.error,
        text=show_hidden(text[:SHOWN_CHARS]),
        structured="" if reply.structured is None else json_text(reply.structured)[:SHOWN_CHARS],
        others=others,
        seconds=f"{trial.seconds:.2f} s",
        note=note,
    )
