"""The operator's policy on tools: allow, ask a person, or deny.

Place in the house: ``agents.loop``, pure. Rules come from the assistant's ``approval``:
``default``, exact ``server.tool`` and patterns ``server.git*``; ``deny`` beats everything, then the
exact name, then patterns with ``ask`` before ``allow``, then what is asked about anyway, then the
default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

ASKED = ("memory.memory_write", "workspace.*")
"""Tools of the built-in servers that a person is asked about where no rule says otherwise."""


class Decision(StrEnum):
    """What the policy says about a tool."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """One rule: the server it is for, the tool or pattern, the decision, and how it was written."""

    server: str
    tool: str
    decision: Decision
    text: str

    @property
    def is_pattern(self) -> bool:
        """Whether the tool part holds a wildcard."""
        return any(mark in self.tool for mark in "*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """All rules of an assistant."""

    rules: tuple[ApprovalRule, ...] = ()
    default: Decision = Decision.ALLOW

    def decide(self, server: str, tool: str) -> tuple[Decision, str]:
        """The decision on a tool and the rule behind it (``default`` where none fits)."""
        fitting = [rule for rule in self.rules if rule.server == server and _fits(rule, tool)]
        for rule in sorted(fitting, key=_rank):
            return rule.decision, rule.text
        if self.default is Decision.ALLOW:
            for pattern in ASKED:
                if fnmatchcase(f"{server}.{tool}", pattern):
                    return Decision.ASK, pattern
        return self.default, "default"


def build_policy(approval: Mapping[str, str], servers: Sequence[str]) -> ApprovalPolicy:
    """The policy from an assistant's ``approval``; a rule belongs to the longest server that fits.

    A rule whose server is not among ``servers`` has nothing to act on and is left out; the importer
    reports it as a fault.
    """
    rules = []
    for text, decision in approval.items():
        fitting = [server for server in servers if text.startswith(f"{server}.")]
        if text == "default" or not fitting:
            continue
        server = max(fitting, key=len)
        rules.append(
            ApprovalRule(
                server=server,
                tool=text[len(server) + 1 :],
                decision=Decision(decision),
                text=text,
            )
        )
    return ApprovalPolicy(
        rules=tuple(rules), default=Decision(approval.get("default", Decision.ALLOW))
    )


def _fits(rule: ApprovalRule, tool: str) -> bool:
    return rule.tool == tool or (rule.is_pattern and fnmatchcase(tool, rule.tool))


def _rank(rule: ApprovalRule) -> tuple[bool, bool, bool, str]:
    """The strongest first; among equals the order of the alphabet, which every database keeps."""
    is_weaker = rule.decision is not Decision.DENY, rule.is_pattern
    return (*is_weaker, rule.decision is Decision.ALLOW, rule.text)
