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
    """Stored keys, headers of servers, and the values of every variable that providers and servers
    name; empty values are left out."""
    try:
        found = {*_provider_secrets(), *_server_secrets()}
    except DecryptionFailed:
        # Nothing can be sent with a key that cannot be read, so there is nothing to keep out.
        found = set()
    return frozenset(value for value in {*found, settings.OPENAI_API_KEY} if value)


def _provider_secrets() -> Iterator[str]:
    for provider in Provider.objects.all():
        yield provider.api_key
        if provider.api_key_env:
            yield os.environ.get(provider.api_key_env, "")


def _server_secrets() -> Iterator[str]:
    for server in Server.objects.all():
        for value in server.headers.values():
            yield value.rpartition(" ")[2] if "$ENV." not in value else ""
        for text in [server.url, *server.args, *server.env.values(), *server.headers.values()]:
            for name in _REFERENCE.findall(text):
                yield os.environ.get(name, "")
