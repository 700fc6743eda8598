"""Typed reading of one object of a bundle: wrong types and unknown keys become faults.

Place in the house: ``agents.bundle``. Pure. A reader goes on after a fault with the field's
default, so that all faults are found in one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agents.bundle.report import Report, child_pointer, describe, is_whole_number
from agents.loop.messages import JsonObject, JsonValue

MAX_WHOLE = 2_147_483_647
DOTTED_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
ENV_REFERENCE = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_ENV_START = re.compile(r"\$ENV(?![A-Za-z0-9_])", re.ASCII)


class ObjectReader:
    """Reads the fields of one object. ``finish`` reports the keys that nobody asked for.

    Every method takes a key, notes faults in the report and returns a value of its type, the
    default where the key is absent or faulty. Null means absent where a text or a nullable number
    is read.
    """

    def __init__(self, value: JsonObject, pointer: str, report: Report) -> None:
        self.value = value
        self.pointer = pointer
        self.report = report
        self._known: set[str] = set()

    def at(self, key: str) -> str:
        """The pointer of a member."""
        return child_pointer(self.pointer, key)

    def has(self, key: str) -> bool:
        """Whether a key is there with a value that is not null."""
        self._known.add(key)
        return self.value.get(key) is not None

    def ignore(self, *keys: str) -> None:
        """Take keys for known without reading them."""
        self._known.update(keys)

    def fault(self, key: str, expected: str) -> None:
        """Report that a member is not what was expected."""
        self.report.fault(self.at(key), f"expected {expected}, got {describe(self.value[key])}")

    def text(
        self, key: str, *, default: str = "", required: bool = False, max_length: int = 0
    ) -> str:
        """A text; required means present and not blank."""
        if not self.has(key):
            if required:
                self._missing(key, "text")
            return default
        value = self.value[key]
        if not isinstance(value, str):
            self.fault(key, "text")
            return default
        if required and not value.strip():
            self.fault(key, "a text that is not empty")
        if max_length and len(value) > max_length:
            message = f"expected at most {max_length} characters, got {len(value)}"
            self.report.fault(self.at(key), message)
            return default
        return value

    def boolean(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        self._known.add(key)
        value = self.value.get(key, default)
        if isinstance(value, bool):
            return value
        self.fault(key, "true or false")
        return default

    def whole(self, key: str, *, default: int, minimum: int = 0, maximum: int = MAX_WHOLE) -> int:
        """A whole number from ``minimum`` to ``maximum``; ``7.0`` is 7."""
        self._known.add(key)
        value = self.value.get(key, default)
        if is_whole_number(value) and minimum <= value <= maximum:  # type: ignore[operator]
            return int(value)  # type: ignore[arg-type]
        self.fault(key, f"a whole number from {minimum} to {maximum}")
        return default

    def optional_whole(self, key: str, *, minimum: int = 1) -> int | None:
        """A whole number from ``minimum`` on, or null."""
        return self.whole(key, default=minimum, minimum=minimum) if self.has(key) else None

    def number(self, key: str, *, default: float, above: float, at_most: float) -> float:
        """A number greater than ``above`` and not greater than ``at_most``."""
        self._known.add(key)
        value = self.value.get(key, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and above < value <= at_most:  # type: ignore[operator]
            return float(value)  # type: ignore[arg-type]
        self.fault(key, f"a number greater than {above:g} and at most {at_most:,.15g}")
        return default

    def optional_seconds(self, key: str) -> float | None:
        """A number of seconds greater than 0, or null."""
        return self.seconds(key, default=1) if self.has(key) else None

    def seconds(self, key: str, *, default: float) -> float:
        """A number of seconds greater than 0, at most a year."""
        return self.number(key, default=default, above=0, at_most=31_536_000)

    def choice(self, key: str, choices: Sequence[str], *, default: str = "") -> str:
        """One of a few words; required where there is no default."""
        if not self.has(key):
            if not default:
                self._missing(key, f"one of {', '.join(choices)}")
            elif key in self.value:
                self.fault(key, f"one of {', '.join(choices)}")
            return default
        value = self.value[key]
        if isinstance(value, str) and value in choices:
            return value
        self.fault(key, f"one of {', '.join(choices)}")
        return default

    def json_object(self, key: str) -> JsonObject:
        """An object of any content; ``{}`` where it is absent."""
        self._known.add(key)
        value = self.value.get(key, {})
        if isinstance(value, dict):
            return value
        self.fault(key, "an object")
        return {}

    def json_list(self, key: str) -> list[JsonValue]:
        """A list of any content; ``[]`` where it is absent."""
        self._known.add(key)
        value = self.value.get(key, [])
        if isinstance(value, list):
            return value
        self.fault(key, "a list")
        return []

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        return read_texts(self.json_list(key), self.at(key), self.report)

    def reader(self, key: str) -> ObjectReader:
        """A reader of a nested object."""
        return ObjectReader(self.json_object(key), self.at(key), self.report)

    def readers(self, key: str) -> list[ObjectReader]:
        """Readers of a list of objects; what is no object becomes a fault."""
        return list(read_objects(self.json_list(key), self.at(key), self.report))

    def finish(self, hints: dict[str, str] | None = None) -> None:
        """Report every key that was not asked for; ``hints`` tell where a key belongs."""
        for key in self.value:
            if key in self._known:
                continue
            known = ", ".join(sorted(self._known))
            hint = (hints or {}).get(key) or f"known here: {known}"
            self.report.fault(self.at(key), f"unknown key ({hint})")

    def _missing(self, key: str, expected: str) -> None:
        if key in self.value:
            self.fault(key, expected)
        else:
            self.report.fault(self.at(key), f"is required: expected {expected}")


def read_texts(values: Iterable[JsonValue], pointer: str, report: Report) -> list[str]:
    """The texts of a list; anything else becomes a fault."""
    texts = []
    for number, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        else:
            message = f"expected text, got {describe(value)}"
            report.fault(child_pointer(pointer, number), message)
    return texts


def read_objects(
    values: Iterable[JsonValue], pointer: str, report: Report
) -> Iterable[ObjectReader]:
    """A reader for each object of a list; anything else becomes a fault."""
    for number, value in enumerate(values):
        where = child_pointer(pointer, number)
        if isinstance(value, dict):
            yield ObjectReader(value, where, report)
        else:
            report.fault(where, f"expected an object, got {describe(value)}")


def check_env_references(text: str, pointer: str, report: Report) -> None:
    """Report every ``$ENV`` that is not followed by a name; an unset name is no fault."""
    for start in _ENV_START.finditer(text):
        if not ENV_REFERENCE.match(text, start.start()):
            message = "expected $ENV.NAME with a name of letters, digits and underscores"
            report.fault(pointer, f"{message}, got {text[start.start() : start.start() + 20]!r}")
