"""How a run ends other than by the model's own answer, as exceptions inside the loop.

Place in the house: ``agents.loop``. Raised by the parts, caught in ``run.py`` and nowhere else.
"""

from __future__ import annotations

from agents.loop.errors import LoopError


class GaveUp(LoopError):
    """Raised when the loop cannot go on and the fallback assistant should answer (level 2)."""

    def __init__(self, reason: str, *, error: str = "", hint: str = "", detail: str = "") -> None:
        super().__init__(error or reason)
        self.reason = reason
        self.error = error
        self.hint = hint
        self.detail = detail


class Failed(LoopError):
    """Raised when the run ends with the fixed text at once (level 3)."""

    def __init__(self, reason: str, *, error: str = "", hint: str = "", detail: str = "") -> None:
        super().__init__(error or reason)
        self.reason = reason
        self.error = error
        self.hint = hint
        self.detail = detail


class HandedBack(LoopError):
    """Raised between two turns when the process ends: another one goes on with the run."""
