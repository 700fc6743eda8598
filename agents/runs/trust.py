"""Which names typed into a web page may be used: modules, environment variables, local hosts.

Place in the house: ``agents.runs``. The operator's word by command or environment is
``TOOLLOOP_ALLOWED_HOSTS``, ``TOOLLOOP_ALLOWED_ENV``, ``TOOLLOOP_HOOK_MODULES`` and the table of
trusted names, which bundles and superusers fill.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
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

BUILT_IN_SERVERS = "agents.builtin_servers"
"""The package of the servers that come with the application."""

_OLD_ADDRESS = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedThing:
    """A host (``host`` or ``host:port``), environment variable or module that a form names."""

    kind: TrustedNameKind
    value: str


def is_trusted_module(module: str) -> bool:
    """Whether a module, or one above it, is on a list, or is a server of the application."""
    names = [*_listed(TrustedNameKind.MODULE), BUILT_IN_SERVERS]
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
    name = unicodedata.normalize("NFKC", _without_port(host)).lower().rstrip(".")
    address = _address(name.strip("[]"))
    if address is not None:
        return not address.is_global
    return name == "localhost" or "." not in name or name.endswith(_LOCAL_ENDINGS)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, also in the old forms that systems take: ``127.1``,
    ``0x7f.1``, ``0177.0.0.1``.
    """
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        if not _OLD_ADDRESS.fullmatch(name):
            return None
        try:
            return ipaddress.ip_address(socket.inet_aton(name))
        except OSError:
            return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found


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
