"""Replaces literal secrets by ``$ENV`` names for an export.

Place in the house: ``agents.bundle``. Pure. Each replacement leaves a note that names the variable
and never the value.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from agents.bundle.secrets import (
    has_literal_userinfo,
    holds_literal_secret,
    is_secret_name,
    looks_like_secret,
    secret_query_names,
    variable_name,
)
from agents.loop.messages import JsonValue

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_BROKEN_URL_NAME = "URL"


class SecretMask:
    """Values without their secrets. ``notes`` tell what was replaced."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._given: set[str] = set()

    def note(self, text: str) -> None:
        """Keep a note for the operator."""
        self.notes.append(text)

    def values(self, owner: str, values: dict[str, str]) -> dict[str, JsonValue]:
        """Headers or variables, each literal secret replaced by its variable."""
        return {
            name: self._reference(owner, name) if holds_literal_secret(name, value) else value
            for name, value in values.items()
        }

    def arguments(self, owner: str, arguments: list[str]) -> list[JsonValue]:
        """A command's arguments: ``--token=x``, ``--token x`` and what has the shape of a key."""
        masked: list[JsonValue] = []
        former = ""
        for argument in arguments:
            option, equals, value = argument.partition("=")
            if equals and holds_literal_secret(option, value):
                masked.append(f"{option}={self._reference(owner, option)}")
            elif _is_secret_option(former) and not _OPTION.fullmatch(argument):
                is_literal = holds_literal_secret(former, argument)
                masked.append(self._reference(owner, former) if is_literal else argument)
            elif looks_like_secret(argument):
                masked.append(self._reference(owner, "ARGUMENT"))
            else:
                masked.append(argument)
            former = argument
        return masked

    def url(self, owner: str, url: str) -> str:
        """A URL without literal user, password and secret query fields."""
        try:
            parts = urlsplit(url)
            if has_literal_userinfo(url):
                host = parts.netloc.rpartition("@")[2]
                reference = self._reference(owner, "USERINFO")
                parts = parts._replace(netloc=f"{reference}@{host}")
            names = secret_query_names(url)
        except ValueError:
            return self._reference(owner, _BROKEN_URL_NAME)
        if parts.netloc == urlsplit(url).netloc and not names:
            return url
        fields = [self._query_field(owner, text, names) for text in parts.query.split("&")]
        return urlunsplit(parts._replace(query="&".join(fields)))

    def without_userinfo(self, owner: str, url: str) -> str:
        """A provider's URL without user and password, which a bundle does not allow there."""
        parts = urlsplit(url)
        if "@" not in parts.netloc:
            return url
        self.note(f"{owner}: user and password of its URL are left out; use api_key_env")
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def _query_field(self, owner: str, text: str, names: list[str]) -> str:
        name = text.partition("=")[0]
        return f"{name}={self._reference(owner, name)}" if name in names else text

    def _reference(self, owner: str, name: str) -> str:
        wanted = variable_name(owner, name)
        variable, number = wanted, 1
        while variable in self._given:
            number += 1
            variable = f"{wanted}_{number}"
        self._given.add(variable)
        self.note(f"{owner}: {name} is left out; set {variable} to its value where you import")
        return f"$ENV.{variable}"


def _is_secret_option(argument: str) -> bool:
    return bool(_OPTION.fullmatch(argument)) and is_secret_name(argument)
