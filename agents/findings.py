"""What the doctor finds: one line each, for an operator.

Place in the house: ``agents``; used by ``doctor`` and its parts. No finding holds a secret.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Health(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: what was looked at (``server docs``), how it is, and what to do about it."""

    subject: str
    health: Health
    text: str
    hint: str = ""

    def as_json(self) -> dict[str, str]:
        """The entry of this finding in the command's JSON."""
        return {key: str(value) for key, value in asdict(self).items()}

    def as_line(self) -> str:
        """The finding for a person."""
        line = f"{self.health.value:<8}{self.subject}: {self.text}"
        return f"{line}\n        {self.hint}" if self.hint else line


def found(subject: str, health: Health, text: str, hint: str = "") -> Finding:
    """A finding."""
    return Finding(subject=subject, health=health, text=text, hint=hint)


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 tool", "2 tools"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
