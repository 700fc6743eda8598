"""Numbers, sizes, times and languages as people read them.

Place in the house: ``agents.chat``, pure. A unit stands after every number.
"""

from __future__ import annotations

import json
import re

from django.utils.translation import gettext as _

from agents.loop.messages import JsonValue
from agents.texts import show_hidden

ARGUMENT_CHARS = 80
"""How much of a call's arguments stands on its line."""

_TELLING = ("query", "q", "path", "file", "url", "city", "name", "title", "id", "command", "text")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


def duration(milliseconds: float | None) -> str:
    """A length of time: ``8 ms``, ``0.84 s``, ``12.3 s``, ``1 min 57 s``; nothing for ``None``."""
    if milliseconds is None:
        return ""
    if milliseconds < 10:
        return _("%(n)d ms") % {"n": round(milliseconds)}
    seconds = milliseconds / 1000
    if seconds < 10:
        return _("%(n).2f s") % {"n": seconds}
    if seconds < 60:
        return _("%(n).1f s") % {"n": seconds}
    minutes, rest = divmod(round(seconds), 60)
    return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}


def seconds(value: float) -> str:
    """A limit in seconds: ``30 s``, ``2.5 s``."""
    return _("%(n)s s") % {"n": f"{value:g}"}


def count(value: float) -> str:
    """A number with its thousands set apart."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


def size(text: str) -> str:
    """The size of a text in UTF-8: ``412 B``, ``1.2 kB``, ``18 kB``."""
    return bytes_size(len(text.encode("utf-8", "replace")))


def bytes_size(length: int) -> str:
    """A number of bytes: ``412 B``, ``1.2 kB``, ``18 kB``, ``2.1 MB``."""
    if length < 1000:
        return f"{length} B"
    for unit in ("kB", "MB"):
        length_in_unit = length / (1000 if unit == "kB" else 1_000_000)
        if length_in_unit < 1000:
            return (
                f"{length_in_unit:.1f} {unit}"
                if length_in_unit < 10
                else (f"{length_in_unit:.0f} {unit}")
            )
    return f"{length / 1_000_000_000:.1f} GB"


def language(text: str) -> str:
    """The language tag for a text whose script tells it (``zh``, ``ja``, ``ko``), else nothing."""
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    return "zh" if _HAN.search(text) else ""


def telling_argument(arguments: JsonValue) -> str:
    """The arguments that tell most, on one line: ``city=Oslo, days=3``."""
    if isinstance(arguments, dict):
        plain = [(k, v) for k, v in arguments.items() if not isinstance(v, dict | list)]
        plain.sort(key=lambda pair: _rank(pair[0]))
        shown = plain[:2] or list(arguments.items())[:1]
        text = ", ".join(f"{key}={_short(value)}" for key, value in shown)
    else:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    line = show_hidden(" ".join(text.split()))
    return line if len(line) <= ARGUMENT_CHARS else f"{line[: ARGUMENT_CHARS - 1]}…"


def _rank(key: str) -> int:
    return _TELLING.index(key) if key in _TELLING else len(_TELLING)


def _short(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
