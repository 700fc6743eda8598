"""What came of a check, and what it points at, as values.

Place in the house: ``agents.runs.loop_checks``; pure but for translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.own_words import own_words
from agents.runs.loop_checks.words import HINTS, SENTENCES, TITLES, Cause


class Verdict(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCheck:
    """One check. ``cause`` says what was found; ``facts`` fill its words. ``exchange`` is what went
    over the wire, JSON ready and without secrets: requests to the model as ``{"request", "status",
    "chunks", "left_out", "answer", "error"}``, executed calls as ``{"call", "arguments", "outcome",
    "result"}``.
    """

    check: int
    verdict: Verdict
    cause: Cause
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    exchange: tuple[JsonObject, ...] = ()

    @property
    def title(self) -> str:
        """What was asked, in the reader's language."""
        return _(TITLES[self.check])

    @property
    def sentence(self) -> str:
        """What was found, in the reader's language."""
        return _(SENTENCES[self.cause]) % self._said()

    @property
    def hint(self) -> str:
        """What to do, in the reader's language; empty where nothing needs to be done."""
        text = HINTS.get(self.cause, "")
        return (_(text) % self._said()).strip() if text else ""

    def _said(self) -> dict[str, JsonValue]:
        """The facts, with what the house itself said in the reader's language."""
        return {
            name: (own_words(value, _) or value) if isinstance(value, str) else value
            for name, value in self.facts.items()
        }

    def as_json(self, *, with_exchange: bool) -> JsonObject:
        """The check for programs."""
        return {
            "check": self.check,
            "title": self.title,
            "verdict": self.verdict.value,
            "cause": self.cause.value,
            "sentence": self.sentence,
            "hint": self.hint,
            "exchange": list(self.exchange) if with_exchange else [],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """The three checks of one assistant, who was asked, and which calls (``server.tool`` and
    arguments) it was asked for."""

    assistant: str
    provider: str
    model: str
    calls: tuple[tuple[str, JsonObject], ...]
    checks: tuple[LoopCheck, ...]
    seconds: float = 0.0

    @property
    def is_closed(self) -> bool:
        """Whether the loop is closed: nothing failed, and something was asked."""
        verdicts = [check.verdict for check in self.checks]
        return Verdict.FAILED not in verdicts and Verdict.PASSED in verdicts

    def as_json(self, *, with_exchanges: bool) -> JsonObject:
        """The report for programs; failed checks always have their exchange."""
        return {
            "assistant": self.assistant,
            "provider": self.provider,
            "model": self.model,
            "calls": [{"tool": tool, "arguments": given} for tool, given in self.calls],
            "is_closed": self.is_closed,
            "seconds": round(self.seconds, 1),
            "checks": [
                check.as_json(with_exchange=with_exchanges or check.verdict is Verdict.FAILED)
                for check in self.checks
            ],
        }
