"""Servers, whitelists and policy of an assistant as a form posts them.

Place in the house: ``agents.admin``, pure. Names of the posted fields::

    server              repeated: the keys of the servers
    pos-K               the place of server K
    mode-K              all, these or none
    remove-K            present: the server is taken away
    tool-K              repeated: the ticked tools
    name-K-N            the tool of row N of server K
    policy-K-N          what is chosen for it: allow, ask or deny
    was-K-N             what was chosen when the page was made
    exact-K-N           the rule that names exactly this tool, or empty
    rule-N-key/-action  a rule with a pattern; an empty key removes it
    default-action      the rule for everything else
    new_server          a server to add
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agents.bundle.approval_rules import split_rule
from agents.loop.approval import build_policy

MODES = ("all", "these", "none")
ACTIONS = ("allow", "ask", "deny")


class Posted(Protocol):
    """What is read of a ``QueryDict``."""

    def get(self, key: str, default: str = "") -> str:
        """The last value of a field."""
        ...

    def getlist(self, key: str) -> list[str]:
        """All values of a field."""
        ...

    def keys(self) -> Sequence[str]:
        """The names of the fields."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChoice:
    """A server of the assistant; ``ticked`` are the tools ticked, which count in mode these."""

    key: int
    server_id: str
    mode: str = "these"
    ticked: tuple[str, ...] = ()

    @property
    def allowed_tools(self) -> list[str] | None:
        """The whitelist as it is stored."""
        if self.mode == "all":
            return None
        return list(self.ticked) if self.mode == "these" else []


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantChoices:
    """The servers in order, and the policy as it is stored."""

    links: tuple[LinkChoice, ...] = ()
    approval: Mapping[str, str] = field(default_factory=dict)


def link_choice(key: int, server_id: str, allowed: Sequence[str] | None) -> LinkChoice:
    """The choice that a stored whitelist means."""
    mode = "all" if allowed is None else "these" if allowed else "none"
    return LinkChoice(key=key, server_id=server_id, mode=mode, ticked=tuple(allowed or ()))


def read_choices(posted: Posted, servers: Mapping[int, str]) -> AssistantChoices:
    """The posted choices; ``servers`` are all that there are, by key. What nobody knows is left
    out.
    """
    keys = list(dict.fromkeys(_number(text) for text in posted.getlist("server")))
    shown = [key for key in keys if key in servers]
    kept = [key for key in shown if not posted.get(f"remove-{key}", "")]
    kept.sort(key=lambda key: _number(posted.get(f"pos-{key}", "0")))
    links = [_read_link(posted, key, servers[key]) for key in kept]
    new = _number(posted.get("new_server", ""))
    if new in servers and new not in shown:
        links.append(LinkChoice(key=new, server_id=servers[new]))
    gone = [servers[key] for key in shown if key not in kept]
    return AssistantChoices(links=tuple(links), approval=_read_approval(posted, links, gone))


def _read_link(posted: Posted, key: int, server_id: str) -> LinkChoice:
    mode = posted.get(f"mode-{key}", "")
    return LinkChoice(
        key=key,
        server_id=server_id,
        mode=mode if mode in MODES else "these",
        ticked=tuple(dict.fromkeys(posted.getlist(f"tool-{key}"))),
    )


def _read_approval(
    posted: Posted, links: Sequence[LinkChoice], gone: Sequence[str]
) -> dict[str, str]:
    names = [link.server_id for link in links]
    approval: dict[str, str] = {}
    default = posted.get("default-action", "")
    if default in ACTIONS and (default != "allow" or posted.get("default-stored", "")):
        approval["default"] = default
    for key, action in _posted_rules(posted):
        owner = split_rule(key, [*names, *gone])
        if owner is None or owner[0] not in gone:
            approval[key] = action
    policy = build_policy(approval, names)
    for link in links:
        for number in _row_numbers(posted, link.key):
            tool = posted.get(f"name-{link.key}-{number}", "")
            chosen = posted.get(f"policy-{link.key}-{number}", "")
            exact = posted.get(f"exact-{link.key}-{number}", "")
            if chosen in ACTIONS and chosen != posted.get(f"was-{link.key}-{number}", ""):
                base = policy.decide(link.server_id, tool)[0].value
                exact = chosen if chosen != base else ""
            if exact in ACTIONS:
                approval[f"{link.server_id}.{tool}"] = exact
    return approval


def _posted_rules(posted: Posted) -> list[tuple[str, str]]:
    found = [re.fullmatch(r"rule-(\d{1,4})-key", key) for key in posted.keys()]  # noqa: SIM118
    numbers = sorted(int(match[1]) for match in found if match)
    rules = [
        (posted.get(f"rule-{n}-key", "").strip(), posted.get(f"rule-{n}-action", ""))
        for n in numbers
    ]
    return [(key, action if action in ACTIONS else "ask") for key, action in rules if key]


def _row_numbers(posted: Posted, key: int) -> list[int]:
    found = [re.fullmatch(rf"name-{key}-(\d{{1,6}})", name) for name in posted.keys()]  # noqa: SIM118
    return sorted(int(match[1]) for match in found if match)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
