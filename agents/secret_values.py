"""The secrets that this process can know, for keeping them out of traces.

Place in the house: ``agents``; ``traces`` calls it through the setting ``TOOLLOOP_TRACE_SECRETS``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from agents.encryption import DecryptionFailed
from agents.models import Provider, Server

_REFERENCE = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)


def current_secrets() -> frozenset[str]:
    """Stored keys, literal headers of servers, and the values of every variable that providers and
    servers name; empty values are left out.
    """
    found = {settings.OPENAI_API_KEY}
    for source in (_provider_keys, _server_values):
        try:
            found.update(source())
        except DecryptionFailed:
            # What cannot be read cannot be sent either: the other sources still count.
            continue
    names = {*Provider.objects.values_list("api_key_env", flat=True), *_plainly_named()}
    found.update(os.environ.get(name, "") for name in names)
    return frozenset(value for value in found if value)


SHORTEST_SECRET = 6
"""Shorter values are not hidden: they would take half the words of a text with them."""

HIDDEN = "[hidden]"


def hide_secrets(value: Any, streamed: str = "") -> Any:
    """A JSON value in which every known secret is ``[hidden]``.

    ``streamed`` is what came in pieces: where a secret is in it, the pieces (``chunks``) are left
    out whole, as none of them holds all of it.
    """
    secrets = [text for text in current_secrets() if len(text) >= SHORTEST_SECRET]
    secrets.sort(key=len, reverse=True)
    patterns = [re.compile(pattern) for pattern in settings.TOOLLOOP_TRACE_REDACT]
    is_spread = any(text in streamed for text in secrets)
    is_spread = is_spread or any(pattern.search(streamed) for pattern in patterns)

    def hide(text: str) -> str:
        for secret in secrets:
            # In a chunk the secret stands as JSON writes it.
            text = text.replace(secret, HIDDEN).replace(json.dumps(secret)[1:-1], HIDDEN)
        for pattern in patterns:
            text = pattern.sub(HIDDEN, text)
        return text

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return hide(item)
        if isinstance(item, list | tuple):
            return [walk(part) for part in item]
        if isinstance(item, dict):
            return {
                hide(str(name)): [] if name == "chunks" and is_spread else walk(part)
                for name, part in item.items()
            }
        return item

    return walk(value)


def _provider_keys() -> Iterator[str]:
    yield from Provider.objects.values_list("api_key", flat=True)


def _server_values() -> Iterator[str]:
    """What stands in the encrypted columns, and the variables that it names."""
    for env, headers in Server.objects.values_list("env", "headers"):
        for value in headers.values():
            yield value.rpartition(" ")[2] if "$ENV." not in value else ""
        for text in (*env.values(), *headers.values()):
            yield from (os.environ.get(name, "") for name in _REFERENCE.findall(text))


def _plainly_named() -> Iterator[str]:
    for url, arguments in Server.objects.values_list("url", "args"):
        for text in (url, *arguments):
            yield from _REFERENCE.findall(text)
