"""Values with secrets as lines of a text field: shown masked, and kept when they come back so.

Place in the house: ``agents.admin``. Pure. A line is ``NAME=value`` (variables, headers) or one
argument. Values that only name variables (``$ENV.NAME``) hide nothing. What does not fit on a line
as it is (line breaks, blanks at its ends, nothing at all) is written as a JSON text in quotes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agents.bundle.masking import SecretMask
from agents.bundle.reading import ENV_REFERENCE
from agents.bundle.secrets import has_literal_userinfo, holds_literal_secret

MASK = "\u2022" * 8
"""Stands for a stored value that is not shown."""


class LineProblem(ValueError):
    """Raised when a line cannot be read; the text says what was expected, never a value."""


def header_lines(values: Mapping[str, str]) -> list[str]:
    """Headers as lines; every literal value is masked."""
    return [
        f"{name}={_written(value) if _names_only(name, value) else MASK}"
        for name, value in values.items()
    ]


def variable_lines(values: Mapping[str, str]) -> list[str]:
    """Variables as lines; what looks like a secret is masked."""
    return [
        f"{name}={MASK if _is_secret(name, value) else _written(value)}"
        for name, value in values.items()
    ]


def argument_lines(arguments: Sequence[str]) -> list[str]:
    """A command's arguments, one a line; what looks like a secret is masked."""
    masked = SecretMask().arguments("", list(arguments))
    return [
        _written(argument) if argument == other else _masked_argument(argument, str(other))
        for argument, other in zip(arguments, masked, strict=True)
    ]


def masked_url(url: str) -> str:
    """A URL; all of it behind the host is masked where it holds a literal secret."""
    return url if SecretMask().url("", url) == url else f"{url.split('://')[0]}://{MASK}"


def read_pairs(text: str, stored: Mapping[str, str]) -> dict[str, str]:
    """``NAME=value`` lines as a dictionary; a masked value is the stored one.

    Raises ``LineProblem``.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name:
            raise LineProblem(f"line {number}: expected NAME=value, got no = with a name before it")
        if name in values:
            raise LineProblem(f"line {number}: {name} stands here twice")
        if MASK in value:
            if value != MASK or name not in stored:
                raise LineProblem(
                    f"line {number}: there is no stored value for {name}: write it out, or "
                    "$ENV.NAME"
                )
            value = stored[name]
        else:
            value = _read(value)
        values[name] = value
    return values


def read_arguments(text: str, stored: Sequence[str]) -> list[str]:
    """One argument a line; a masked one is the stored one. Raises ``LineProblem``."""
    shown = argument_lines(stored)
    arguments: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if MASK in line:
            if line not in shown:
                raise LineProblem(f"line {number}: there is no stored argument like this: write it")
            arguments.append(stored[_nearest(shown, line, len(arguments))])
        else:
            arguments.append(_read(line))
    return arguments


def _nearest(shown: Sequence[str], line: str, position: int) -> int:
    places = [place for place, other in enumerate(shown) if other == line]
    return min(places, key=lambda place: abs(place - position))


def _written(value: str) -> str:
    is_plain = value == value.strip() and len(value.splitlines()) == 1 and not value.startswith('"')
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _read(text: str) -> str:
    if not (len(text) > 1 and text.startswith('"') and text.endswith('"')):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def _names_only(name: str, value: str) -> bool:
    """Whether a header's value is empty or built from variables alone."""
    if not value:
        return True
    return bool(ENV_REFERENCE.search(value)) and not holds_literal_secret(name, value)


def _is_secret(name: str, value: str) -> bool:
    if holds_literal_secret(name, value):
        return True
    try:
        return "://" in value and has_literal_userinfo(value)
    except ValueError:
        return True


def _masked_argument(argument: str, other: str) -> str:
    option, equals, _ = argument.partition("=")
    return f"{option}={MASK}" if equals and other.startswith(f"{option}=") else MASK
