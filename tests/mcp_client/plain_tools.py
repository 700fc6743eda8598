"""A module without marks: its public functions are tools."""

from __future__ import annotations

import os
from os.path import basename

SEPARATOR = os.sep


class Thing:
    """Not a function."""


def last_part(path: str) -> str:
    """The last part of a path."""
    return basename(path)


def _hidden() -> None:
    """Not public."""
