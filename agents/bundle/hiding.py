"""Values of a bundle as text for a preview, without what looks secret.

Place in the house: ``agents.bundle``. Reads no database.
"""

from __future__ import annotations

import json

from agents.bundle.masking import SecretMask
from agents.bundle.reading import ENV_REFERENCE
from agents.bundle.secrets import (
    has_literal_userinfo,
    holds_literal_secret,
    is_secret_name,
    looks_like_secret,
)
from agents.loop.messages import JsonValue
from agents.models import Server

HIDDEN = "\u2022" * 8
"""Stands for a value that is not shown."""

_JSON_COLUMNS = ("options", "samples", "prices", "starters")


def shown_text(column: str, name: str, value: JsonValue) -> str:
    """A value of a column, or of its member ``name``, as text; ``HIDDEN`` for what is secret."""
    if column == "args" and isinstance(value, list):
        return " ".join(
            json.dumps(text) if " " in text else text for text in shown_arguments(value)
        )
    if isinstance(value, str):
        return HIDDEN if _is_hidden(column, name, value) else value
    if isinstance(value, float):
        return f"{value:.15g}"
    return json.dumps(value, ensure_ascii=False)


def shown_arguments(arguments: list[JsonValue]) -> list[str]:
    """A command's arguments; what looks like a secret is hidden."""
    texts = [str(argument) for argument in arguments]
    masked = SecretMask().arguments("", texts)
    shown = []
    for text, other in zip(texts, masked, strict=True):
        option, equals, _ = text.partition("=")
        is_option = bool(equals) and str(other).startswith(f"{option}=")
        shown.append(text if text == other else f"{option}={HIDDEN}" if is_option else HIDDEN)
    return shown


def shown_variable(name: str, value: str) -> str:
    """A variable's value, hidden where it looks secret."""
    return HIDDEN if _is_hidden("env", name, value) else value


def hidden_values(server: Server) -> list[tuple[str, str]]:
    """Of a server's headers, variables, arguments and address what is not shown, with its place."""
    arguments = [str(argument) for argument in server.args]
    found = [
        (f"args/{place}", text)
        for place, (text, shown) in enumerate(
            zip(arguments, shown_arguments(list(arguments)), strict=True)
        )
        if text != shown
    ]
    for column, values in (("headers", server.headers), ("env", server.env)):
        found += [
            (f"{column}/{name}", value)
            for name, value in values.items()
            if _is_hidden(column, name, value)
        ]
    if _is_hidden("url", "url", server.url):
        found.append(("url", server.url))
    return sorted(found)


def _is_hidden(column: str, name: str, value: str) -> bool:
    if column == "headers":
        names_only = bool(ENV_REFERENCE.search(value)) and not holds_literal_secret(name, value)
        return bool(value) and not names_only
    if column == "env" and holds_literal_secret(name, value):
        return True
    if column in ("url", "base_url"):
        return SecretMask().url("", value) != value
    if looks_like_secret(value) or (column in _JSON_COLUMNS and is_secret_name(name)):
        return True
    try:
        return column == "env" and "://" in value and has_literal_userinfo(value)
    except ValueError:
        return True
