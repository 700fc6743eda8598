"""Variables in prompts: ``{{ date }}`` becomes the day of the run.

Place in the house: ``agents.loop``, pure. What is no known variable stays as it is written, since
prompts may speak of braces; whoever saves a prompt is told its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

VARIABLES = ("date", "time", "user", "assistant")
"""``date`` 2026-12-01 (Tuesday) and ``time`` 14:05 in UTC, the person's and assistant's names."""

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.]{0,40})\s*\}\}")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def variable_values(*, now: datetime, user: str, assistant: str) -> dict[str, str]:
    """The values of a run; ``now`` is in UTC."""
    return {
        "date": f"{now:%Y-%m-%d} ({_DAYS[now.weekday()]})",
        "time": f"{now:%H:%M} UTC",
        "user": user,
        "assistant": assistant,
    }


def fill_variables(text: str, values: Mapping[str, str]) -> str:
    """The text with the known variables filled in, once: values are not looked through."""
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), text)


def unknown_variables(text: str) -> list[str]:
    """The names in double braces that are no variables, each once."""
    names = dict.fromkeys(found[1] for found in _VARIABLE.finditer(text))
    return [name for name in names if name not in VARIABLES]
