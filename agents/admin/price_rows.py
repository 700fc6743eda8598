"""Prices of a provider's models as rows of a form: model, input, cached input, output, currency.

Place in the house: ``agents.admin``. The rows become the object that a bundle holds and are judged
with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue

KINDS = ("input", "cached", "output")
_COLUMNS = ("model", *KINDS, "currency", "more")
_EMPTY_ROWS = 3
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?", re.IGNORECASE)

Row = dict[str, str]


class PriceRows(forms.Widget):
    """The rows, and some more for further models. ``more`` holds what has no column, unseen."""

    template_name = "admin/widgets/price_rows.html"

    def get_context(self, name: str, value: object, attrs: object) -> dict[str, object]:
        """The rows for the template."""
        rows = value if isinstance(value, list) else rows_of(value)
        empty: Row = dict.fromkeys(_COLUMNS, "")
        context = super().get_context(name, "", attrs)
        context["rows"] = [
            {**empty, **row, "number": number}
            for number, row in enumerate([*rows, *[empty] * _EMPTY_ROWS], start=1)
        ]
        return context

    def value_from_datadict(
        self, data: Mapping[str, object], files: object, name: str
    ) -> list[Row] | None:
        """The rows in which something stands; ``None`` where no row was sent."""
        numbers = sorted(
            int(found[1])
            for key in data
            if (found := re.fullmatch(rf"{re.escape(name)}-(\d{{1,4}})-model", key))
        )
        rows = [
            {column: str(data.get(f"{name}-{number}-{column}", "")).strip() for column in _COLUMNS}
            for number in numbers
        ]
        shown = [row for row in rows if any(row[column] for column in _COLUMNS[:-1])]
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


class PricesField(forms.Field):
    """Prices by model, as a bundle holds them. What is no number stays text, to be judged."""

    widget = PriceRows

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**{"required": False, **kwargs})

    def to_python(self, value: object) -> JsonObject:
        """The object. Raises ``ValidationError`` for rows that cannot be one."""
        prices: JsonObject = {}
        for number, row in enumerate(value if isinstance(value, list) else [], start=1):
            model = row["model"]
            if not model:
                raise ValidationError(_("Row %(n)d: name the model.") % {"n": number})
            if model in prices:
                raise ValidationError(_("%(model)s stands twice: keep one row.") % {"model": model})
            prices[model] = _entry(row)
        return prices

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether any price differs."""
        try:
            return (initial or {}) != self.to_python(data)
        except ValidationError:
            return True


def rows_of(prices: object) -> list[Row]:
    """The rows that show these prices."""
    entries = sorted(prices.items()) if isinstance(prices, dict) else ()
    return [_row(str(model), entry) for model, entry in entries if isinstance(entry, dict)]


def price_lines(prices: object) -> list[str]:
    """One line for each model, to be read: ``m1: input 2, output 8 EUR``."""
    words = {"input": _("input"), "cached": _("cached"), "output": _("output")}
    lines = []
    for row in rows_of(prices):
        told = ", ".join(f"{words[kind]} {row[kind]}" for kind in KINDS if row[kind])
        lines.append(f"{row['model']}: {told} {row['currency']}".rstrip())
    return lines


def _row(model: str, entry: Mapping[str, JsonValue]) -> Row:
    row = {"model": model, "currency": str(entry.get("currency", ""))}
    row |= {kind: _written(entry[kind]) for kind in KINDS if kind in entry}
    more = {key: value for key, value in entry.items() if key not in (*KINDS, "currency")}
    return {**dict.fromkeys(_COLUMNS, ""), **row, "more": json.dumps(more) if more else ""}


def _written(value: JsonValue) -> str:
    return str(value).removesuffix(".0")


def _entry(row: Row) -> JsonObject:
    entry: JsonObject = {kind: _number(row[kind]) for kind in KINDS if row[kind]}
    if row["currency"]:
        entry["currency"] = row["currency"].upper()
    try:
        more = json.loads(row["more"] or "{}")
    except (ValueError, RecursionError):
        more = None
    if not isinstance(more, dict):
        raise ValidationError(_("%(model)s: load the page again.") % {"model": row["model"]})
    return {**more, **entry}


def _number(text: str) -> JsonValue:
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
