"""Numbers in forms: what is wrong with one says what was expected and what came.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

CAME_CHARS = 60
"""How much of what was entered a message repeats."""


class NumbersForm(forms.ModelForm):
    """A form whose fields for numbers complain in our words."""

    def add_error(self, field: str | None, error: object) -> None:
        """Note an error as Django does; that of a number says what came."""
        number = self.fields.get(field) if field else None
        if isinstance(number, forms.IntegerField) and isinstance(error, ValidationError):
            came = str(self.data.get(self.add_prefix(str(field)), ""))[:CAME_CHARS]
            error = ValidationError(list(_in_words(number, error, came)))
        super().add_error(field, error)


def _in_words(
    number: forms.IntegerField, error: ValidationError, came: str
) -> Iterator[ValidationError | str]:
    """The messages of an error, those of Django about numbers in our words."""
    kind = _("a number") if isinstance(number, forms.FloatField) else _("a whole number")
    for one in error.error_list:
        words = {"expected": kind, "came": came}
        if isinstance(one.params, dict):
            words["limit"] = one.params.get("limit_value", "")
        texts = {
            "invalid": _("Expected %(expected)s, got “%(came)s”."),
            "min_value": _("Expected %(expected)s from %(limit)s on, got %(came)s."),
            "max_value": _("Expected %(expected)s up to %(limit)s, got %(came)s."),
        }
        yield texts[one.code] % words if one.code in texts else one
