"""An object of small objects as rows of a form: prices by model, limits by tool.

Place in the house: ``agents.admin``. The rows become the object that a bundle holds and are judged
with it. What has no column stays as it is, unseen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue

MORE = "more"
"""What has no column, as JSON in a hidden field."""

TICKED = "on"

_EMPTY_ROWS = 3
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?", re.IGNORECASE)

Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its name in the object, its label, and whether it holds a number, or is a box to
    tick. ``hint`` is shown where nothing was entered."""

    name: str
    label: str | Promise
    is_number: bool = True
    is_box: bool = False
    hint: str = ""
    size: int = 8


class EntryRows(forms.Widget):
    """The rows, and some more for further entries. The first column names the entry."""

    template_name = "admin/widgets/entry_rows.html"

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = columns
        self.names = [*(column.name for column in columns), MORE]

    def get_context(self, name: str, value: object, attrs: object) -> dict[str, object]:
        """The rows for the template."""
        rows = value if isinstance(value, list) else rows_of(value, self.columns)
        context = super().get_context(name, "", attrs)
        context["key"], context["columns"] = self.columns[0], self.columns[1:]
        context["rows"] = [
            {
                "number": number,
                "key": row.get(self.columns[0].name, ""),
                "more": row.get(MORE, ""),
                "cells": [(column, row.get(column.name, "")) for column in self.columns[1:]],
            }
            for number, row in enumerate([*rows, *[{}] * _EMPTY_ROWS], start=1)
        ]
        return context

    def value_from_datadict(
        self, data: Mapping[str, object], files: object, name: str
    ) -> list[Row] | None:
        """The rows in which something stands; ``None`` where no row was sent."""
        pattern = rf"{re.escape(name)}-(\d{{1,4}})-{self.columns[0].name}"
        numbers = sorted(int(found[1]) for key in data if (found := re.fullmatch(pattern, key)))
        rows = [
            {
                column: str(data.get(f"{name}-{number}-{column}", "")).strip()
                for column in self.names
            }
            for number in numbers
        ]
        shown = [row for row in rows if any(row[column] for column in self.names[:-1])]
        return shown if numbers else None

    def value_omitted_from_data(self, data: object, files: object, name: str) -> bool:
        """Whether no row was sent."""
        return self.value_from_datadict(data, files, name) is None  # type: ignore[arg-type]

    def id_for_label(self, id_: str) -> str:
        """No single field is meant."""
        return ""

    def _render(
        self, template_name: str, context: dict[str, object], renderer: object = None
    ) -> SafeString:
        # The forms' own renderer knows Django's templates only.
        return render_to_string(template_name, context)


class EntryRowsField(forms.Field):
    """The object that rows stand for. What is no number stays text, to be judged."""

    def __init__(self, columns: Sequence[Column], **kwargs: object) -> None:
        self.columns = columns
        super().__init__(**{"required": False, "widget": EntryRows(columns), **kwargs})

    def to_python(self, value: object) -> JsonObject:
        """The object. Raises ``ValidationError`` for rows that cannot be one."""
        entries: JsonObject = {}
        key = self.columns[0]
        for number, row in enumerate(value if isinstance(value, list) else [], start=1):
            name = row[key.name]
            if not name:
                words = _("Row %(n)d: fill in the column “%(column)s”.")
                raise ValidationError(words % {"n": number, "column": key.label})
            if name in entries:
                raise ValidationError(_("%(name)s stands twice: keep one row.") % {"name": name})
            entries[name] = self._entry(name, row)
        return entries

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether any entry differs."""
        try:
            return (initial or {}) != self.to_python(data)
        except ValidationError:
            return True

    def text(self, column: str, written: str) -> str:
        """What a column that is no number means."""
        return written

    def _meant(self, column: Column, written: str) -> JsonValue:
        if column.is_box:
            return True
        return _number(written) if column.is_number else self.text(column.name, written)

    def _entry(self, name: str, row: Row) -> JsonObject:
        entry: JsonObject = {
            column.name: self._meant(column, row[column.name])
            for column in self.columns[1:]
            if row[column.name]
        }
        try:
            more = json.loads(row[MORE] or "{}")
        except (ValueError, RecursionError):
            more = None
        if not isinstance(more, dict):
            raise ValidationError(_("%(name)s: load the page again.") % {"name": name})
        return {**more, **entry}


def _shown(value: JsonValue) -> str:
    if isinstance(value, bool):
        return TICKED if value else ""
    return str(value).removesuffix(".0")


def rows_of(entries: object, columns: Sequence[Column]) -> list[Row]:
    """The rows that show these entries, by name."""
    items = sorted(entries.items()) if isinstance(entries, dict) else ()
    return [_row(str(name), entry, columns) for name, entry in items if isinstance(entry, dict)]


def _row(name: str, entry: Mapping[str, JsonValue], columns: Sequence[Column]) -> Row:
    shown = [column.name for column in columns[1:]]
    more = {key: value for key, value in entry.items() if key not in shown}
    return {
        columns[0].name: name,
        **{key: _shown(entry[key]) if key in entry else "" for key in shown},
        MORE: json.dumps(more) if more else "",
    }


def _number(text: str) -> JsonValue:
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
