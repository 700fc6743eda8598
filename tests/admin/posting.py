"""What a browser would post of a page: every field with the value that it shows."""

from __future__ import annotations

from html.parser import HTMLParser

from django.http import HttpResponse
from django.test import Client

Fields = dict[str, list[str]]


class _Form(HTMLParser):
    """Collects the successful controls of one form."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.fields: Fields = {}
        self._wanted = form_id
        self._inside = False
        self._select = ""
        self._is_multiple = False
        self._options: list[tuple[str, bool]] = []
        self._option: tuple[str | None, bool] | None = None
        self._area = ""
        self._text = ""

    def add(self, name: str, value: str) -> None:
        self.fields.setdefault(name, []).append(value)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = given.get("id") == self._wanted
        if not self._inside or "disabled" in given:
            return
        name = given.get("name") or ""
        if tag == "input" and name:
            kind = given.get("type", "text")
            if kind in ("submit", "button"):
                return
            if kind in ("checkbox", "radio") and "checked" not in given:
                return
            self.add(name, given.get("value") or ("on" if kind == "checkbox" else ""))
        elif tag == "select":
            self._select, self._options = name, []
            self._is_multiple = "multiple" in given
        elif tag == "option":
            self._option, self._text = (given.get("value"), "selected" in given), ""
        elif tag == "textarea":
            self._area, self._text = name, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "option" and self._option is not None:
            value, is_selected = self._option
            self._options.append((self._text if value is None else value, is_selected))
            self._option = None
        elif tag == "select" and self._select:
            chosen = [value for value, is_selected in self._options if is_selected]
            first = [] if self._is_multiple else [value for value, _ in self._options[:1]]
            for value in chosen or first:
                self.add(self._select, value)
            self._select = ""
        elif tag == "textarea" and self._area:
            self.add(self._area, self._text.removeprefix("\n"))
            self._area = ""


def read_form(response: HttpResponse, form_id: str) -> Fields:
    """The fields of a form on a page, by name."""
    parser = _Form(form_id)
    parser.feed(response.content.decode())
    parser.fields.pop("csrfmiddlewaretoken", None)
    assert parser.fields, f"there is no form {form_id} on the page"
    return parser.fields


def submit(client: Client, path: str, form_id: str, **changes: str | list[str]) -> HttpResponse:
    """Open a page, change fields, save. An empty list takes a field away (unticks it)."""
    fields = read_form(client.get(path), form_id)
    return client.post(path, changed(fields, **changes))


def changed(fields: Fields, **changes: str | list[str]) -> Fields:
    """The fields with some of them changed."""
    news = {
        name.replace("__", "-"): [value] if isinstance(value, str) else value
        for name, value in changes.items()
    }
    return {name: values for name, values in (fields | news).items() if values}


def errors_of(response: HttpResponse) -> str:
    """The text of a page on which a form came back with errors."""
    assert response.status_code == 200, "it was saved"
    text = response.content.decode()
    assert "errorlist" in text
    return text
