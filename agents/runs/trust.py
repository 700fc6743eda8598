"""Which names typed into a web page may be used: modules, environment variables, local hosts.

Place in the house: ``agents.runs``. The operator's word by command or environment is
``TOOLLOOP_ALLOWED_HOSTS``, ``TOOLLOOP_ALLOWED_ENV``, ``TOOLLOOP_HOOK_MODULES`` and the table of
trusted names, which bundles and superusers fill.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.conf import settings

from agents.models import TrustedName, TrustedNameKind

SETTING_OF_KIND = {
    TrustedNameKind.HOST: "TOOLLOOP_ALLOWED_HOSTS",
    TrustedNameKind.ENV: "TOOLLOOP_ALLOWED_ENV",
    TrustedNameKind.MODULE: "TOOLLOOP_HOOK_MODULES",
}

_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedThing:
    """A host (``host`` or ``host:port``), environment variable or module that a form names."""

    kind: TrustedNameKind
    value: str


def is_trusted_module(module: str) -> bool:
    """Whether a module, or one above it, is on a list."""
    names = _listed(TrustedNameKind.MODULE)
    return any(module == name or module.startswith(f"{name}.") for name in names)


def untrusted(names: Iterable[NamedThing]) -> list[NamedThing]:
    """Those that need to be on a list and are not, each once. Public hosts need not be on any."""
    return [name for name in dict.fromkeys(names) if not _is_trusted(name)]


def trust(names: Iterable[NamedThing], *, source: str) -> None:
    """Put names on the list in the database."""
    for name in names:
        TrustedName.objects.get_or_create(
            kind=name.kind, value=name.value, defaults={"source": source[:100]}
        )


def is_local_host(host: str) -> bool:
    """Whether ``host`` or ``host:port`` is this machine or one of a private network, by its name
    or address; names are not looked up.
    """
    name = _without_port(host)
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return name == "localhost" or "." not in name or name.endswith(_LOCAL_ENDINGS)


def _is_trusted(name: NamedThing) -> bool:
    if name.kind == TrustedNameKind.MODULE:
        return is_trusted_module(name.value)
    listed = _listed(name.kind)
    if name.kind == TrustedNameKind.ENV:
        return name.value in listed
    bare = _without_port(name.value)
    return not is_local_host(name.value) or any(
        fnmatchcase(host, pattern.lower().replace("[", "[[]"))
        for host in (name.value, bare)
        for pattern in listed
    )


def _listed(kind: TrustedNameKind) -> list[str]:
    stored = TrustedName.objects.filter(kind=kind).values_list("value", flat=True)
    return [*getattr(settings, SETTING_OF_KIND[kind]), *stored]


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
