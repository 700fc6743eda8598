"""How one server is reached, and the secrets that must not be seen.

Place in the house: values only. ``$ENV.NAME`` in ``env``, ``headers``, ``url`` and ``args`` stands
for a variable of this process and is filled in at connecting, never stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import Sample, ToolLimits

_REFERENCE = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)")
_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server as the operator configured it.

    ``transport`` is ``stdio`` (``command``, ``args``, ``env``, ``cwd``), ``http`` or ``sse``
    (``url``, ``headers``) or ``python`` (``module``). ``credential`` names whose token the
    connection uses: two users never share one. ``samples`` are by tool name and are put on the
    tools. ``refusal`` says why this installation connects to no such server.
    """

    server_id: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    module: str = ""
    limits: ToolLimits = field(default_factory=ToolLimits)
    credential: str = ""
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    refusal: str = ""

    @property
    def fingerprint(self) -> str:
        """A digest that changes when anything changes that a connection depends on."""
        parts = [self.transport, self.command, list(self.args), sorted(self.env.items()), self.cwd]
        parts += [self.url, sorted(self.headers.items()), self.module]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedConfig:
    """A configuration with its variables filled in, and what must be kept out of texts.

    ``secrets`` maps each value to what is shown in its place.
    """

    config: ServerConfig
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, str] = field(repr=False)

    def scrub(self, text: str) -> str:
        """The text without any secret of this server."""
        for value in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(value, self.secrets[value])
        return text


def resolve_config(
    config: ServerConfig, environment: Mapping[str, str] | None = None
) -> ResolvedConfig:
    """Fill in ``$ENV.NAME`` from the environment (``os.environ`` by default).

    Raises ``ServerUnavailable`` that names server, field and variable when one is not set.
    """
    filling = _Filling(config.server_id, os.environ if environment is None else environment)
    args = tuple(filling.fill(f"args[{i}]", value) for i, value in enumerate(config.args))
    env = {name: filling.fill(f"env.{name}", value) for name, value in config.env.items()}
    url = filling.fill("url", config.url)
    headers = {
        name: filling.fill(f"headers.{name}", value) for name, value in config.headers.items()
    }
    for name, value in headers.items():
        filling.hide(value, f"[header {name}]")
        filling.hide(value.rpartition(" ")[2], f"[header {name}]")
    return ResolvedConfig(
        config=config, args=args, env=env, url=url, headers=headers, secrets=filling.secrets
    )


class _Filling:
    """Fills in variables and remembers their values as secrets."""

    def __init__(self, server: str, environment: Mapping[str, str]) -> None:
        self.secrets: dict[str, str] = {}
        self._server = server
        self._environment = environment

    def fill(self, where: str, text: str) -> str:
        """The text with every reference replaced."""

        def value_of(match: re.Match[str]) -> str:
            name = match.group(1)
            if name not in self._environment:
                raise ServerUnavailable(
                    self._server,
                    f"{where} needs the environment variable {name}, which is not set: "
                    f"set {name} for the application or change {where}",
                )
            value = self._environment[name]
            self.hide(value, f"$ENV.{name}")
            return value

        return _REFERENCE.sub(value_of, text)

    def hide(self, value: str, shown: str) -> None:
        """Keep a value, also as it looks in a URL or in JSON, out of texts."""
        for form in (value, quote(value, safe=""), json.dumps(value)[1:-1]):
            if len(form) >= _SHORTEST_SECRET:
                self.secrets.setdefault(form, shown)
