"""The limits of a run, and the guards that count.

Place in the house: ``agents.loop``, pure. Every default is section 7 of the contract; the same
names are fields of the assistant, keys of the bundle and words in the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from agents.loop.circles import Circles
from agents.loop.messages import JsonObject
from agents.loop.results import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What one run may use. Times are seconds, sizes characters, ``None`` means no limit."""

    max_turn: int = 5
    max_tools: int = 20
    tool_result_max_chars: int = 8000
    turn_result_max_chars: int = 32_000
    max_consecutive_errors: int = 3
    repeat_limit: int = 3
    run_timeout_seconds: float = 600.0
    max_run_tokens: int | None = None
    tool_timeout_seconds: float = 30.0
    tool_max_seconds: float = 120.0
    parallel_calls: int = 8
    parameter_attempts: int = 3

    def as_json(self, *, context_window: int | None = None) -> JsonObject:
        """The limits by name, for the trace, with the model's window (tokens) if it is known."""
        limits: JsonObject = asdict(self)
        return limits if context_window is None else {**limits, "context_window": context_window}


@dataclass(slots=True)
class Guards:
    """Counts that end a run which goes nowhere: circles, errors in a row, cut-off calls in a
    row.
    """

    limits: RunLimits
    circles: Circles
    failed_turns: int = 0
    truncated_answers: int = 0
    _calls: Counter[str] = field(default_factory=Counter)

    def take_call(self, tool: str, most: int | None) -> bool:
        """Count a call that is about to run; ``False``, uncounted, where the tool had ``most``."""
        if most is not None and self._calls[tool] >= most:
            return False
        self._calls[tool] += 1
        return True

    def note_answer(self, *, is_truncated: bool) -> None:
        """A new answer: the model knows of all refusals so far. Counts cut-off ones in a row."""
        self.circles.note_answer()
        self.truncated_answers = self.truncated_answers + 1 if is_truncated else 0

    def note_turn(self, results: Sequence[ToolResult]) -> None:
        """Count turns in a row in which every call failed (turn 0 once, with all its attempts)."""
        has_failed = bool(results) and all(result.is_failure for result in results)
        self.failed_turns = self.failed_turns + 1 if has_failed else 0

    def stop_reason(self, *, is_out_of_time: bool, tokens: int, is_last_turn: bool) -> str | None:
        """Why the loop must end after this turn, in the contract's order; ``None`` to go on."""
        limits = self.limits
        checks = (
            ("time", is_out_of_time),
            ("tokens", limits.max_run_tokens is not None and tokens >= limits.max_run_tokens),
            ("truncated", self.truncated_answers >= 2),
            ("repeats", self.circles.is_refused_twice),
            ("errors", self.failed_turns >= limits.max_consecutive_errors),
            ("max_turns", is_last_turn),
        )
        return next((reason for reason, holds in checks if holds), None)


LIMIT_OF_REASON = {
    "time": "run_timeout_seconds",
    "tokens": "max_run_tokens",
    "truncated": "truncated",
    "repeats": "repeat_limit",
    "errors": "max_consecutive_errors",
    "max_turns": "max_turn",
}
"""Which option stands behind a stop reason (``truncated`` is a rule, not an option)."""
