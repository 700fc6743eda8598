"""What every event of a run has.

Place in the house: the bottom of ``agents.loop``; other rooms import from ``agents.loop.events``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Turn: TypeAlias = "int | str"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The fields of every event."""

    run: str
    at_ns: int
