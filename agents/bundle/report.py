"""Faults and warnings about a bundle, each with its JSON pointer.

Place in the house: ``agents.bundle``, at the bottom. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.loop.messages import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to tell about a bundle. ``pointer`` is a JSON pointer, ``""`` for the whole."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '(whole bundle)'}: {self.message}"


@dataclass(slots=True, kw_only=True)
class Report:
    """Collects what is found, in the order of finding."""

    faults: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def fault(self, pointer: str, message: str) -> None:
        """Note something that forbids the import."""
        self.faults.append(Finding(pointer=pointer, message=message))

    def warn(self, pointer: str, message: str) -> None:
        """Note something that the operator should know."""
        self.warnings.append(Finding(pointer=pointer, message=message))


def named_item(value: JsonValue, pointer: str) -> str:
    """Which item of a bundle a pointer is in, in words: ``assistant helper``; ``""`` for none."""
    _, kind, *rest = pointer.split("/", 3) if pointer.startswith("/") else ("", "")
    items = value.get(kind) if isinstance(value, dict) else None
    number = rest[0] if rest else ""
    if not isinstance(items, list) or not number.isdecimal() or int(number) >= len(items):
        return ""
    item = items[int(number)]
    found = (item.get("id") or item.get("server_id")) if isinstance(item, dict) else None
    return f"{kind.removesuffix('s')} {found}" if isinstance(found, str) else ""


def child_pointer(pointer: str, key: str | int) -> str:
    """The pointer of a member, with ``~`` and ``/`` in its name escaped."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def describe(value: object) -> str:
    """What came, in a few words for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value!r:.40}"
        case str():
            return f"the text {value!r:.80}" if value else "an empty text"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "an object" if value else "an empty object"
    return f"a value of type {type(value).__name__}"


def is_whole_number(value: JsonValue) -> bool:
    """Whether a value is a number without a fraction; ``7.0`` is one, ``true`` is none."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
