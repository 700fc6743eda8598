"""A module whose marked functions are tools, of every kind of signature."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import threading
from typing import Any, Literal, NoReturn, TypedDict

from agents.loop.results import ContentPart, PartKind
from agents.python_tools import tool

RELEASE = threading.Event()


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int
    y: int = 0


class Options(TypedDict, total=False):
    """A typed dictionary."""

    depth: int


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    The second one is 1 unless given.
    """
    return a + b


@tool(name="notes.search", description="Look it up.", read_only=True, idempotent=True)
async def search(query: str, limit: int | None = None) -> list[str]:
    """Not shown."""
    await asyncio.sleep(0)
    return [query] * (limit or 1)


@tool(destructive=True)
def shapes(
    colour: Colour,
    point: Point,
    kind: Literal["a", "b"] = "a",
    options: Options | None = None,
    names: list[str] = [],  # noqa: B006 - it is what people write
    table: dict[str, int] | None = None,
    anything=None,  # type: ignore[no-untyped-def]
) -> dict[str, Any]:
    """Take many things."""
    return {"colour": colour, "point": point, "kind": kind, "options": options, "names": names}


@tool
def loose(first: str, /, *rest: int, mark: NoDefinition = 3, **more: Any) -> str:  # noqa: F821
    """Take whatever comes."""
    return f"{first} {mark} {sorted(more)}"


@tool
def now() -> Any:
    """Return what JSON does not know."""
    return {"at": datetime.datetime(2026, 1, 2, 3, 4, 5), "nan": float("nan"), "set": {1}}


@tool
def odd() -> object:
    """Return an object."""
    return object()


@tool
def circle() -> list[Any]:
    """Return a circle."""
    items: list[Any] = []
    items.append(items)
    return items


@tool
def nothing() -> None:
    """Return nothing."""


@tool
def picture() -> ContentPart:
    """Return a picture."""
    return ContentPart(kind=PartKind.IMAGE, data="aGk=", mime_type="image/png")


@tool
def broken() -> NoReturn:
    """Raise."""
    raise KeyError("missing key")


@tool
async def broken_later() -> NoReturn:
    """Raise."""
    raise ValueError("bad value")


@tool
def leave() -> NoReturn:
    """Try to end the application."""
    raise SystemExit(3)


@tool
async def leave_later() -> NoReturn:
    """Try to end the application."""
    raise SystemExit(4)


@tool
async def cancel_itself() -> NoReturn:
    """Raise what only the loop should."""
    raise asyncio.CancelledError


@tool
def hang() -> None:
    """Block a thread."""
    RELEASE.wait(30)


@tool
async def hang_later() -> None:
    """Wait, and refuse to be cancelled."""
    for _ in range(3):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue


def helper_that_is_not_marked() -> None:
    """Not offered."""
