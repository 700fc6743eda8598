"""Calls that go in circles: what the model is told, then refused, then stopped for.

Place in the house: ``agents.loop``, pure. Three kinds are seen: the same call with the same result
(also of several calls in turn), one tool that fails in the same way whatever its arguments, and
names of tools that were never offered. ``limit`` is the assistant's ``repeat_limit``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from agents.loop.results import Outcome, ToolResult

NOT_EXECUTED = frozenset(
    {
        Outcome.INVALID_ARGUMENTS,
        Outcome.UNKNOWN_TOOL,
        Outcome.NOT_ALLOWED,
        Outcome.DENIED,
        Outcome.SKIPPED,
        Outcome.CANCELLED,
        Outcome.INTERRUPTED,
    }
)

PATIENCE = 2
"""One tool that fails in the same way, and unknown names, are refused after so many limits: trying
other arguments is often right."""

WARNING_START = "\n\n[Loop guard: "
"""What a warning in a result begins with; it is no part of what the tool said."""

LONGEST_ROUND = 4
"""Calls that are made in turn, at most, and are seen as one round."""

_UNKNOWN = ("", "unknown tools")


@dataclass(slots=True)
class Circles:
    """The calls of one run so far, as far as they may be circles."""

    limit: int
    is_refused_twice: bool = False
    _done: list[tuple[str, str, str]] = field(default_factory=list)
    _results: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _failures: dict[str, tuple[str, set[str], int]] = field(default_factory=dict)
    _unknown: int = 0
    _refused: set[tuple[str, str]] = field(default_factory=set)
    _refused_now: set[tuple[str, str]] = field(default_factory=set)

    def note_answer(self) -> None:
        """A new answer: the model knows of all refusals so far."""
        self._refused |= self._refused_now
        self._refused_now.clear()

    def why_refused(self, tool: str, arguments: str, *, is_polling: bool = False) -> str:
        """Why a call is not executed, in words for the model; ``""`` where it may be.

        A refusal of which the model was told before ends the loop.
        """
        if not is_polling and self._count(tool, arguments) >= self.limit:
            self._note_refusal((tool, arguments))
            return (
                f"This call was not executed: {tool} gave the same result {self.limit} times with "
                "the same arguments. Use that result, try something else, or answer with what you "
                "have."
            )
        error, tried, count = self._failures.get(tool, ("", set(), 0))
        if count >= self.limit * PATIENCE and len(tried) > 1:
            self._note_refusal((tool, error))
            return (
                f"This call was not executed: {tool} failed {count} times in the same way, "
                "whatever the arguments. Do without it, or answer with what you have."
            )
        return ""

    def note(
        self, tool: str, arguments: str, result: ToolResult, *, is_polling: bool = False
    ) -> str:
        """Count a call with what came of it; the warning that its result brings, or ``""``."""
        if result.is_kept:
            return ""
        if result.outcome is Outcome.UNKNOWN_TOOL:
            return self._note_unknown()
        warning = self._note_failure(tool, arguments, result)
        if result.outcome in NOT_EXECUTED or is_polling:
            return warning
        done = (tool, arguments, _signature(result))
        self._results[done] += 1
        self._done.append(done)
        if self._results[done] == self.limit and self.limit > 1:
            return self._repeat_warning(tool)
        return warning

    def _count(self, tool: str, arguments: str) -> int:
        counts = (
            n for (name, text, _), n in self._results.items() if (name, text) == (tool, arguments)
        )
        return max(counts, default=0)

    def _repeat_warning(self, tool: str) -> str:
        others = [name for name in self._round() if name != tool]
        turns = f" in turn with {', '.join(others)}" if others else ""
        return (
            f"{tool} has now given the same result {self.limit} times with the same "
            f"arguments{turns}. It will not be executed with them again: use the result, try "
            "something else, or answer."
        )

    def _round(self) -> list[str]:
        """The tools of the calls that were made in turn, if the last ones were."""
        for length in range(2, LONGEST_ROUND + 1):
            last = self._done[-length * 2 :]
            if len(last) == length * 2 and last[:length] == last[length:]:
                return list(dict.fromkeys(name for name, _, _ in last[:length]))
        return []

    def _note_failure(self, tool: str, arguments: str, result: ToolResult) -> str:
        if not result.is_failure or result.outcome in _NO_FAULT_OF_THE_CALL:
            if result.outcome is Outcome.OK:
                self._failures.pop(tool, None)
            return ""
        error = _failure(result)
        known, tried, count = self._failures.get(tool, ("", set(), 0))
        if known != error:
            tried, count = set(), 0
        tried, count = tried | {arguments}, count + 1
        self._failures[tool] = (error, tried, count)
        if count != self.limit or len(tried) < 2:
            return ""
        return (
            f"{tool} has failed {count} times in the same way with other arguments each time. "
            "More arguments will hardly help: do without it, or answer with what you have."
        )

    def _note_unknown(self) -> str:
        self._unknown += 1
        if self._unknown >= self.limit * PATIENCE:
            self._note_refusal(_UNKNOWN)
        if self._unknown != self.limit:
            return ""
        return (
            f"{self._unknown} calls named tools that do not exist. Only the tools of this request "
            "can be called; answer without a tool if none fits."
        )

    def _note_refusal(self, what: tuple[str, str]) -> None:
        if what in self._refused:
            self.is_refused_twice = True
        self._refused_now.add(what)


_NO_FAULT_OF_THE_CALL = frozenset(
    {Outcome.SKIPPED, Outcome.DENIED, Outcome.CANCELLED, Outcome.INTERRUPTED}
)


def _signature(result: ToolResult) -> str:
    return f"{result.outcome}\n{_said(result.full_text)}"


def _failure(result: ToolResult) -> str:
    """How a call failed: what came with it from its own arguments is left out."""
    return f"{result.outcome}\n{_said(result.error).partition(' Received: ')[0]}"


def _said(text: str) -> str:
    return text.partition(WARNING_START)[0]


def with_warning(text: str, warning: str) -> str:
    """A result's text with the warning behind it."""
    return f"{text}{WARNING_START}{warning}]" if warning else text
