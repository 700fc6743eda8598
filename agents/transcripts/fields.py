"""Typed reading of one line of a transcript: the first fault refuses the file.

Place in the house: ``agents.transcripts``, pure.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue
from agents.transcripts.records import MOST_DEPTH, TranscriptRefused

MOST = 2_147_483_647
_SHOWN_CHARS = 80


class LineReader:
    """Reads the members of one object of a line. ``finish`` refuses what nobody asked for.

    Every method takes a name and returns a value of its type, the default where the member is
    absent or null. Raises ``TranscriptRefused``.
    """

    def __init__(self, value: JsonObject, line: int, place: str = "") -> None:
        self.value = value
        self.line = line
        self._place = place
        self._known: set[str] = set()

    def refuse(self, name: str, expected: str) -> NoReturn:
        """Say what was expected of a member and what came."""
        came = json.dumps(self.value.get(name), ensure_ascii=False)
        facts = {
            "name": f"{self._place}{name}",
            "expected": expected,
            "came": came if len(came) <= _SHOWN_CHARS else f"{came[:_SHOWN_CHARS]}…",
        }
        told = (
            _("%(name)s must be %(expected)s, got %(came)s")
            if name in self.value
            else _("%(name)s is missing: it must be %(expected)s")
        )
        raise TranscriptRefused(self.line, told % facts)

    def text(self, name: str, *, most: int = 0, is_needed: bool = False) -> str:
        """A text of at most ``most`` characters (0: any length)."""
        value = self._member(name)
        if value is None and not is_needed:
            return ""
        if not isinstance(value, str) or (is_needed and not value):
            self.refuse(name, _("a text"))
        if most and len(value) > most:
            self.refuse(name, _("a text of at most %(n)d characters") % {"n": most})
        return value

    def fitting(self, name: str, pattern: re.Pattern[str], expected: str) -> str:
        """A text of this form, or empty."""
        value = self.text(name)
        if value and not pattern.fullmatch(value):
            self.refuse(name, expected)
        return value

    def choice(self, name: str, words: Sequence[str]) -> str:
        """One of these words."""
        value = self._member(name)
        if not isinstance(value, str) or value not in words:
            self.refuse(name, _("one of %(words)s") % {"words": ", ".join(words)})
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._member(name)
        if not isinstance(value, bool | None):
            self.refuse(name, _("true or false"))
        return bool(value)

    def whole(self, name: str, *, least: int = 0, most: int = MOST) -> int:
        """A whole number; 0 where there is none."""
        found = self.optional_whole(name, least=least, most=most)
        return 0 if found is None else found

    def optional_whole(self, name: str, *, least: int = 0, most: int = MOST) -> int | None:
        """A whole number, or none."""
        value = self._member(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            expected = _("a whole number from %(least)d to %(most)d")
            self.refuse(name, expected % {"least": least, "most": most})
        return value

    def optional_number(self, name: str) -> float | None:
        """A number that is not negative, or none."""
        value = self._member(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            self.refuse(name, _("a number that is not negative"))
        return float(value)

    def moment(self, name: str) -> datetime | None:
        """A moment in ISO form with its offset, or none."""
        text = self.text(name, most=40)
        if not text:
            return None
        try:
            found = parse_datetime(text)
            is_usable = found is not None and found.tzinfo is not None and found.year > 1900
            return (
                found.astimezone(UTC) if is_usable and found is not None else self._no_moment(name)
            )
        except (ValueError, OverflowError):
            return self._no_moment(name)

    def mapping(self, name: str) -> JsonObject:
        """An object; empty where there is none."""
        value = self._member(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse(name, _("an object"))
        return value

    def objects(self, name: str, read: Callable[[LineReader], object]) -> list[object]:
        """A list of objects, each read by ``read``; empty where there is none."""
        value = self._member(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.refuse(name, _("a list of objects"))
        return [
            read(LineReader(item, self.line, f"{self._place}{name}/{place}/"))
            for place, item in enumerate(value)
        ]

    def anything(self, name: str) -> JsonValue:
        """The member as it is."""
        return self._member(name)

    def finish(self) -> None:
        """Refuse a member that nobody asked for."""
        for name in self.value:
            if name not in self._known:
                told = _("%(name)s is not known here; known are %(known)s") % {
                    "name": f"{self._place}{name}"[:_SHOWN_CHARS],
                    "known": ", ".join(sorted(self._known)),
                }
                raise TranscriptRefused(self.line, told)

    def _member(self, name: str) -> JsonValue:
        self._known.add(name)
        return self.value.get(name)

    def _no_moment(self, name: str) -> NoReturn:
        self.refuse(name, _("a moment such as 2026-03-14T09:30:00+00:00"))


def read_line(raw: bytes, line: int) -> JsonObject:
    """The object of one line. Raises ``TranscriptRefused``."""
    try:
        text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError:
        raise TranscriptRefused(line, _("expected text in UTF-8")) from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise TranscriptRefused(line, _too_deep()) from None
    except ValueError as fault:
        told = _("expected one JSON object on the line: %(fault)s") % {"fault": fault}
        raise TranscriptRefused(line, told) from None
    if not isinstance(value, dict):
        raise TranscriptRefused(line, _("expected one JSON object on the line"))
    if text.count("{") + text.count("[") > MOST_DEPTH and _is_deep(value):
        raise TranscriptRefused(line, _too_deep())
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


def _too_deep() -> str:
    return _("lists and objects are nested deeper than %(n)d levels") % {"n": MOST_DEPTH}


def _is_deep(value: JsonValue) -> bool:
    level: list[JsonValue] = [value]
    for _depth in range(MOST_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, dict | list) for item in level)
