"""Form fields of the admin: JSON with readable errors, prompts as rows, starters as lines.

Place in the house: ``agents.admin``.
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

from agents.admin.prompt_presets import PROMPT_PRESETS
from agents.bundle.assistant_entries import PROMPT_ROLES
from agents.bundle.parsing import BundleUnreadable, check_value
from agents.bundle.report import Report, describe
from agents.loop.messages import JsonObject, JsonValue
from agents.models import Provider
from agents.texts import storable

_KINDS: dict[type, str] = {dict: "an object such as {}", list: "a list such as []"}


class ReadableJSONField(forms.CharField):
    """JSON of one kind (``dict``, ``list``, or any with ``object``); empty text is ``empty``.

    Errors tell the place, what was expected and what came.
    """

    def __init__(self, *, kind: type, empty: JsonValue = None, rows: int = 4, **kwargs: object):
        self.kind, self.empty = kind, empty
        widget = forms.Textarea(attrs={"rows": rows, "class": "mono", "spellcheck": "false"})
        super().__init__(**{"required": False, "widget": widget, "strip": True, **kwargs})

    def prepare_value(self, value: object) -> object:
        """The text to edit."""
        if isinstance(value, str):
            return value
        if value is None or (value == self.empty and self.kind is not object):
            return ""
        return json.dumps(value, ensure_ascii=False, indent=2)

    def to_python(self, value: object) -> JsonValue:
        """The value. Raises ``ValidationError``."""
        text = super().to_python(value)
        if not text:
            return self.empty
        try:
            parsed: JsonValue = json.loads(text, parse_constant=_refuse_constant)
        except RecursionError as error:
            raise ValidationError(_("This JSON is nested too deeply.")) from error
        except ValueError as error:
            place = (
                _("line %(line)d, column %(column)d: ")
                % {"line": error.lineno, "column": error.colno}
                if isinstance(error, json.JSONDecodeError)
                else ""
            )
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise ValidationError(
                _("%(place)sexpected JSON: %(reason)s") % {"place": place, "reason": reason}
            ) from error
        _refuse_unstorable(parsed)
        if not isinstance(parsed, self.kind):
            raise ValidationError(
                _("expected %(kind)s, got %(came)s")
                % {"kind": _KINDS.get(self.kind, "JSON"), "came": describe(parsed)}
            )
        return parsed

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether the value differs, not the way it is written."""
        try:
            return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))
        except ValidationError:
            return True


def _refuse_unstorable(value: JsonValue) -> None:
    """Refuse what a bundle would not be allowed either. Raises ``ValidationError``."""
    report = Report()
    try:
        check_value(value, report)
    except BundleUnreadable as error:
        raise ValidationError(str(error)) from error
    for fault in report.faults:
        place = str(storable(fault.pointer.lstrip("/")))
        raise ValidationError(f"{place}: {fault.message}" if place else fault.message)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


class PromptRows(forms.Widget):
    """Rows of role and text; one more than there are, for the next prompt."""

    template_name = "admin/widgets/prompt_rows.html"

    def get_context(self, name: str, value: object, attrs: object) -> dict[str, object]:
        """The rows for the template."""
        prompts = value if isinstance(value, list) else []
        items = [item for item in prompts if isinstance(item, dict)]
        rows = [(item.get("role", "system"), item.get("content", "")) for item in items]
        rows.append(("system" if not rows else "user", ""))
        context = super().get_context(name, "", attrs)
        context["rows"] = [
            {"number": number, "role": role, "content": content, "is_new": number > len(items)}
            for number, (role, content) in enumerate(rows, start=1)
        ]
        context["roles"] = PROMPT_ROLES
        context["presets"] = PROMPT_PRESETS
        return context

    def value_from_datadict(
        self, data: Mapping[str, object], files: object, name: str
    ) -> list[JsonObject] | None:
        """The rows that hold a text, in their order; ``None`` where no row was sent."""
        numbers = sorted(
            int(found[1])
            for key in data
            if (found := re.fullmatch(rf"{re.escape(name)}-(\d{{1,4}})-content", key))
        )
        rows: list[JsonObject] = [
            {
                "role": str(data.get(f"{name}-{number}-role", "system")),
                "content": str(data[f"{name}-{number}-content"]).replace("\r\n", "\n"),
            }
            for number in numbers
        ]
        return [row for row in rows if str(row["content"]).strip()] if numbers else None

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


class PromptsField(forms.Field):
    """A list of prompts, ``{"role", "content"}`` each; an empty text removes one."""

    widget = PromptRows

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**{"required": False, **kwargs})

    def to_python(self, value: object) -> object:
        """The prompts; their form is judged with the whole assistant."""
        return value if value is not None else []

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether any prompt differs."""
        return (initial or []) != (data or [])


class StartersField(forms.CharField):
    """Starter prompts, one a line; ``Title | text`` shows the title and sends the text.

    What a line cannot hold (a text of several lines, other members) stands there as JSON.
    """

    def __init__(self, **kwargs: object) -> None:
        widget = forms.Textarea(attrs={"rows": 4})
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def prepare_value(self, value: object) -> object:
        """The lines to edit."""
        if isinstance(value, list):
            return "\n".join(_starter_line(item) for item in value)
        return value

    def to_python(self, value: object) -> list[JsonValue]:
        """The starters as they are stored."""
        text = super().to_python(value)
        starters = [_starter(line.strip()) for line in text.splitlines() if line.strip()]
        _refuse_unstorable(starters)
        return starters

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether any starter differs."""
        try:
            return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))
        except ValidationError:
            return True


class ModelLinesField(forms.CharField):
    """Models at providers, one a line: the provider's id, then the model."""

    def __init__(self, **kwargs: object) -> None:
        widget = forms.Textarea(attrs={"rows": 2, "class": "mono", "spellcheck": "false"})
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def prepare_value(self, value: object) -> object:
        """The lines to edit."""
        if isinstance(value, list):
            return "\n".join(f"{item['provider']} {item['model']}".rstrip() for item in value)
        return value

    def to_python(self, value: object) -> list[JsonValue]:
        """The models as they are stored. Raises ``ValidationError`` for a provider that is not
        there."""
        found: list[JsonValue] = []
        known = set(Provider.objects.values_list("provider_id", flat=True))
        for line in super().to_python(value).splitlines():
            provider, _space, model = line.strip().partition(" ")
            if not provider:
                continue
            if provider not in known:
                words = _("There is no provider %(name)s; there are %(known)s.")
                told = {"name": provider[:100], "known": ", ".join(sorted(known)) or _("none")}
                raise forms.ValidationError(words % told)
            found.append({"provider": provider, "model": model.strip()})
        return found

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether any line differs."""
        return str(self.prepare_value(initial or [])).split() != str(data or "").split()


def _starter_line(item: JsonValue) -> str:
    line = item if isinstance(item, str) else ""
    if isinstance(item, dict) and set(item) == {"title", "text"}:
        line = f"{item['title']} | {item['text']}"
    is_plain = len(line.splitlines()) == 1 and _starter(line.strip()) == item
    return line if is_plain else json.dumps(item, ensure_ascii=False)


def _starter(line: str) -> JsonValue:
    if line[0] in '{"':
        try:
            parsed: JsonValue = json.loads(line)
        except ValueError:
            return line
        return parsed
    title, bar, text = line.partition(" | ")
    if bar and title.strip() and text.strip():
        return {"title": title.strip(), "text": text.strip()}
    return line
