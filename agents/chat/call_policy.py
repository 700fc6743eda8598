"""Whom a call asked, and what the run's policy and whitelist said of it.

Place in the house: ``agents.chat``, pure. All of it is read from what the run was started with.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from agents.loop.approval import Decision, build_policy
from agents.loop.messages import JsonObject
from agents.loop.tool_names import MAX_NAME_CHARS, encode
from agents.models import Run

_HASHED = re.compile(r"_[0-9a-f]{8}$")
"""How the flat names end that do not tell their tool in full."""


def asked_by_name(run: Run, name: str) -> tuple[str, str]:
    """The server and tool of a call that is known by its flat name alone; two empty texts where the
    name does not tell them for sure.
    """
    if _HASHED.search(name) or len(name) >= MAX_NAME_CHARS:
        return "", ""
    for entry in _servers(run):
        server = str(entry.get("server_id") or "")
        prefix = encode(server, "-").removesuffix("-")
        if prefix and name.startswith(prefix) and len(name) > len(prefix):
            return server, name.removeprefix(prefix)
    return "", ""


def decided(run: Run, server: str, tool: str, *, is_told: bool) -> tuple[str, str]:
    """The policy's decision in words, and the rule behind it. ``is_told`` where the run itself said
    which server the call asked, or that it asked none.
    """
    approval = run.configuration.get("approval") or {}
    if not server or not isinstance(approval, dict):
        return _nobody(is_told), ""
    known = {str(key): str(value) for key, value in approval.items()}
    try:
        decision, rule = build_policy(known, [server]).decide(server, tool)
    except ValueError:
        return _("the stored policy cannot be read"), ""
    words = {
        Decision.ALLOW: _("allowed without asking"),
        Decision.ASK: _("a person is asked"),
        Decision.DENY: _("never allowed"),
    }
    return words[decision], f"{rule} = {decision.value}"


def whitelist(run: Run, server: str, *, is_told: bool) -> str:
    """Which tools of the server an operator chose."""
    if not server:
        return _nobody(is_told)
    for entry in _servers(run):
        if entry.get("server_id") == server:
            allowed = entry.get("allowed_tools")
            if isinstance(allowed, list):
                return _("tools chosen by an operator: %(tools)s") % {
                    "tools": ", ".join(map(str, allowed)) or _("none")
                }
            return _("all tools of this server")
    return _("the server is not one of this assistant's")


def _nobody(is_told: bool) -> str:
    return _("no server was asked") if is_told else _("not known: nothing was stored of it")


def _servers(run: Run) -> list[JsonObject]:
    servers = run.configuration.get("servers")
    entries = servers if isinstance(servers, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]
