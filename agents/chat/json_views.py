"""JSON and plain results as HTML: coloured, or as a table where they are one.

Place in the house: ``agents.chat``, pure. Everything that comes from a tool is escaped here.
"""

from __future__ import annotations

import json
import re

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from agents.chat.formats import language
from agents.chat.view_models import FileView, ResultView, TableView
from agents.loop.messages import JsonValue
from agents.texts import show_hidden

TABLE_ROWS, TABLE_COLUMNS = 100, 8

JSON_CHARS, JSON_DEPTH = 60_000, 60
"""Longer or deeper results are shown as they came."""

_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)"
)
_CLASSES = {"key": "j-k", "string": "j-s", "number": "j-n", "word": "j-x"}
_URL = re.compile(r"https?://[^\s<>\"'\]]+")


def json_html(value: JsonValue) -> SafeString:
    """A value as indented, coloured JSON."""
    text = show_hidden(json.dumps(value, ensure_ascii=False, indent=2))
    pieces, last = [], 0
    for match in _TOKEN.finditer(text):
        pieces.append(escape(text[last : match.start()]))
        name = _CLASSES[match.lastgroup or "word"]
        pieces.append(format_html('<span class="{}">{}</span>', name, match[0]))
        last = match.end()
    pieces.append(escape(text[last:]))
    # Every piece was escaped above.
    return mark_safe("".join(pieces))


def text_html(text: str) -> SafeString:
    """Plain text, its http(s) addresses as links."""
    pieces, last = [], 0
    for match in _URL.finditer(text):
        pieces.append(escape(text[last : match.start()]))
        pieces.append(
            format_html(
                '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>',
                match[0],
                match[0],
            )
        )
        last = match.end()
    pieces.append(escape(text[last:]))
    # Every piece was escaped above.
    return mark_safe("".join(pieces))


def arguments_html(arguments: JsonValue) -> SafeString:
    """The arguments of a call; raw text where they could not be read."""
    if isinstance(arguments, str):
        parsed = _parsed(arguments)
        return text_html(arguments) if parsed is None else json_html(parsed)
    if not _is_shallow(arguments, JSON_DEPTH):
        return text_html(str(arguments))
    return json_html(arguments)


def result_view(text: str, files: tuple[FileView, ...] = ()) -> ResultView:
    """A result as the model got it: a table, JSON or text."""
    value = _parsed(text)
    table = _table(value)
    html = text_html(text) if value is None else json_html(value)
    return ResultView(html=html, text=text, lang=language(text), table=table, files=files)


def _parsed(text: str) -> JsonValue:
    """The object or list that a text is, or ``None``: not JSON, too long, or nested too deeply."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(text) > JSON_CHARS:
        return None
    try:
        value: JsonValue = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value, JSON_DEPTH) else None


def _is_shallow(value: JsonValue, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_is_shallow(item, depth - 1) for item in inner)


def _table(value: JsonValue) -> TableView | None:
    if isinstance(value, dict) and len(value) == 1:
        [value] = value.values()
    if not isinstance(value, list) or not 0 < len(value) <= TABLE_ROWS:
        return None
    rows = [row for row in value if isinstance(row, dict) and row]
    if len(rows) < len(value):
        return None
    if any(isinstance(cell, dict | list) for row in rows for cell in row.values()):
        return None
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if len(columns) > TABLE_COLUMNS:
        return None
    return TableView(columns=columns, rows=[[_cell(row.get(c)) for c in columns] for row in rows])


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
