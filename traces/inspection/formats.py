"""Numbers, sizes, times and short texts as people read them; a unit after every number.

Place in the house: ``traces.inspection``, pure. The one place where the inspector formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext

ARGUMENT_CHARS = 60
"""How much of a call's arguments stands on its row."""

LINE_CHARS = 140
"""How much of an error stands inside a sentence."""

NS_PER_MS = 1_000_000

_TELLING = ("query", "q", "path", "file", "url", "city", "name", "title", "id", "command", "text")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


def duration(ns: float) -> str:
    """A length of time given in nanoseconds: ``0.4 ms``, ``8 ms``, ``0.84 s``, ``34.20 s``,
    ``1 min 57 s``, ``2 h 5 min``."""
    milliseconds = max(ns, 0) / NS_PER_MS
    if milliseconds < 1:
        return _("%(n)s ms") % {"n": f"{milliseconds:.1f}" if milliseconds >= 0.05 else "0"}
    if milliseconds < 9.5:
        return _("%(n)d ms") % {"n": round(milliseconds)}
    seconds_ = milliseconds / 1000
    if seconds_ < 99.995:
        return _("%(n).2f s") % {"n": seconds_}
    minutes, rest = divmod(round(seconds_), 60)
    if minutes < 60:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}
    hours, minutes = divmod(minutes, 60)
    return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}


def seconds(value: float) -> str:
    """A limit in seconds: ``30 s``, ``2.5 s``."""
    return _("%(n)s s") % {"n": f"{value:g}"}


def count(value: float) -> str:
    """A number with its thousands set apart: ``34,896``."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


def money(amount: float) -> str:
    """An amount in the currency of the prices: three digits that count, ``0.0123``, ``1.25``."""
    if amount >= 0.995:
        return f"{amount:,.2f}"
    return f"{amount:.3g}" if amount >= 0.0001 or not amount else f"{amount:.1e}"


def short_count(value: int) -> str:
    """A number in little room: ``980``, ``6,791``, ``34.9k``, ``1.2M``."""
    if value < 10_000:
        return count(value)
    if value < 999_950:
        return f"{value / 1000:.1f}k"
    return f"{value / 1_000_000:.1f}M"


def characters(value: int) -> str:
    """A number of characters with its unit."""
    return ngettext("%(n)s character", "%(n)s characters", value) % {"n": count(value)}


def about_tokens(value: float) -> str:
    """An estimated number of tokens with its unit."""
    whole = round(value)
    return ngettext("about %(n)s token", "about %(n)s tokens", whole) % {"n": count(whole)}


def byte_size(length: int) -> str:
    """A number of bytes: ``412 B``, ``1.2 kB``, ``18 kB``, ``2.1 MB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if length >= size:
            value = length / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{length} B"


def percent(share: float) -> str:
    """A share of 1 as text: ``56.6 %``."""
    return f"{share * 100:.1f} %"


def place(share: float) -> str:
    """A share of 1 as a length in SVG: ``56.64%``; never outside of the picture."""
    return f"{min(max(share, 0.0), 1.0) * 100:.2f}%"


def pixels(value: float) -> str:
    """A length in pixels for SVG, without needless digits."""
    return f"{value:.1f}".removesuffix(".0")


def language(text: str) -> str:
    """The language tag for a text whose script tells it (``zh``, ``ja``, ``ko``), else nothing."""
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    return "zh" if _HAN.search(text) else ""


def one_line(text: object, limit: int = LINE_CHARS) -> str:
    """The first line of a text that holds something, at most ``limit`` characters long."""
    lines = (" ".join(line.split()) for line in str(text).splitlines())
    line = next(filter(None, lines), "")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def telling_argument(arguments: object) -> str:
    """The arguments that tell most, on one line: ``city=Oslo, days=3``; nothing for none."""
    arguments = object_in(arguments)
    if isinstance(arguments, dict):
        plain = [(k, v) for k, v in arguments.items() if not isinstance(v, dict | list)]
        plain.sort(key=lambda pair: _rank(str(pair[0])))
        shown = plain[:2] or list(arguments.items())[:1]
        text = ", ".join(f"{key}={_short(value)}" for key, value in shown)
    elif arguments is None:
        text = ""
    else:
        text = _short(arguments)
    return one_line(text, ARGUMENT_CHARS)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """A value as JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def clauses(parts: Iterable[str]) -> str:
    """Parts of a sentence, set apart by commas; empty ones are left out."""
    return _(", ").join(part for part in parts if part)


def sentences(parts: Iterable[str]) -> str:
    """Sentences behind one another, each with its full stop; empty ones are left out."""
    text = ""
    for part in parts:
        if part and text:
            text = _("%(first)s %(second)s") % {"first": text, "second": _with_stop(part)}
        elif part:
            text = _with_stop(part)
    return text


def _with_stop(text: str) -> str:
    return text if text[-1] in ".!?。！？…" else _("%(sentence)s.") % {"sentence": text}


def object_in(raw: object) -> object:
    """The JSON object in a text; anything else as it is."""
    if not isinstance(raw, str) or not raw.lstrip().startswith("{"):
        return raw
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return value if isinstance(value, dict) else raw


def _rank(key: str) -> int:
    return _TELLING.index(key) if key in _TELLING else len(_TELLING)


def _short(value: object) -> str:
    return value if isinstance(value, str) else json_text(value, indent=None)
