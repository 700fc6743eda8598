"""The secrets that this process can know, for keeping them out of traces.

Place in the house: ``agents``; ``traces`` calls it through the setting ``TOOLLOOP_TRACE_SECRETS``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

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
