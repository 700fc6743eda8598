"""Prices of a provider's models: model, input, cached input, output, currency.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.entry_rows import Column, EntryRowsField, rows_of

KINDS = ("input", "cached", "output")

COLUMNS = (
    Column(name="model", label=gettext_lazy("Model"), is_number=False),
    Column(name="input", label=gettext_lazy("Input")),
    Column(name="cached", label=gettext_lazy("Cached input")),
    Column(name="output", label=gettext_lazy("Output")),
    Column(name="currency", label=gettext_lazy("Currency"), is_number=False, hint="USD", size=4),
)


class PricesField(EntryRowsField):
    """Prices by model, as a bundle holds them."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(COLUMNS, **kwargs)

    def text(self, column: str, written: str) -> str:
        """A currency is written in capitals."""
        return written.upper()


def price_lines(prices: object) -> list[str]:
    """One line for each model, to be read: ``m1: input 2, output 8 EUR``."""
    words = {"input": _("input"), "cached": _("cached"), "output": _("output")}
    lines = []
    for row in rows_of(prices, COLUMNS):
        told = ", ".join(f"{words[kind]} {row[kind]}" for kind in KINDS if row[kind])
        lines.append(f"{row['model']}: {told} {row['currency']}".rstrip())
    return lines
