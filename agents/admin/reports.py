"""From the findings about a bundle's entry to the errors of a form.

Place in the house: ``agents.admin``. Forms are judged by the functions that judge a bundle, so that
both refuse the same things in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping

from django import forms

from agents.bundle.report import Report


def add_faults(form: forms.BaseForm, report: Report, fields: Mapping[str, str]) -> None:
    """Put each fault at its field.

    ``fields`` maps the start of a pointer without its slash (``headers``, ``hooks/next``) to a
    field; other pointers count as a field's name, and what has no field stands above the form. A
    field that has an error already keeps that one.
    """
    for fault in report.faults:
        name = _field_of(fault.pointer.lstrip("/"), fields)
        rest = _within(fault.pointer)
        if name not in form.fields:
            form.add_error(None, str(fault))
        elif name not in form.errors or rest:
            form.add_error(name, f"{rest}: {fault.message}" if rest else fault.message)


def _field_of(pointer: str, fields: Mapping[str, str]) -> str:
    parts = pointer.split("/")
    for count in range(len(parts), 0, -1):
        start = "/".join(parts[:count])
        if start in fields:
            return fields[start]
    return parts[0]


def _within(pointer: str) -> str:
    """Where inside a field a fault is: ``/prompts/2/role`` gives ``2/role``."""
    parts = pointer.lstrip("/").split("/")
    if parts[0] in ("hooks", "limits", "compaction", "mcp"):
        return "/".join(parts[2:])
    return "/".join(parts[1:])
