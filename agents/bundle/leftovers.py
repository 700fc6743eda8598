"""Reads a file of another system key by key; what nobody asked for is listed as a warning.

Place in the house: ``agents.bundle``. Pure. Pointers are ``file#/key``.
"""

from __future__ import annotations

from agents.bundle.report import Report, child_pointer, describe
from agents.bundle.secrets import is_secret_name, looks_like_secret
from agents.loop.messages import JsonObject, JsonValue

NO_COUNTERPART = "has no counterpart here"


class Leftovers:
    """One object of a file. ``take`` gives a member once; ``finish`` lists the others."""

    def __init__(self, value: JsonObject, pointer: str, report: Report) -> None:
        self.pointer = pointer
        self.report = report
        self._rest = dict(value)

    def at(self, key: str | int) -> str:
        """The pointer of a member."""
        return child_pointer(self.pointer, key)

    def take(self, key: str, default: JsonValue = None) -> JsonValue:
        """A member, which is not listed then; ``default`` where it is absent."""
        return self._rest.pop(key, default)

    def copy(self, names: dict[str, str]) -> JsonObject:
        """Members under the names of a bundle, those that are there."""
        return {ours: self._rest.pop(theirs) for theirs, ours in names.items()
                if theirs in self._rest}  # fmt: skip

    def part(self, key: str) -> Leftovers:
        """A nested object; anything else there is listed and counts as empty."""
        value = self.take(key, {})
        if not isinstance(value, dict):
            self.warn(key, f"expected an object, got {described(key, value)}: left out")
            value = {}
        return Leftovers(value, self.at(key), self.report)

    def rest(self) -> list[str]:
        """What was not taken yet."""
        return list(self._rest)

    def warn(self, key: str | int, message: str) -> None:
        """Tell something about a member."""
        self.report.warn(self.at(key), message)

    def finish(self, reasons: dict[str, str] | None = None) -> None:
        """List what was not taken; ``reasons`` say more about keys that are well known."""
        for key, value in self._rest.items():
            reason = (reasons or {}).get(key, NO_COUNTERPART)
            self.warn(key, f"{reason} (it was {described(key, value)})")
        self._rest.clear()


def described(key: str, value: JsonValue) -> str:
    """What came, without anything that looks secret."""
    is_secret = isinstance(value, str) and (is_secret_name(key) or looks_like_secret(value))
    return "a text that is not shown" if is_secret else describe(value)
