"""What a person should see in a tool's definition before it is approved.

Place in the house: ``agents.runs``, pure. Hidden characters, names that look like others, sentences
that speak to the model instead of describing the tool; and which new tool a vanished one may be.
A mark is a hint: nothing is left out because of it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agents.loop.messages import JsonObject
from agents.texts import HIDDEN, show_hidden

LIKELY = 0.6
"""From this likeness on a new tool is shown beside a vanished one."""

_ORDERS = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|messages?)\b
    | \b(?:do\s+not|don't|never)\s+(?:tell|mention|inform|reveal|show|notify|ask)\b
    | \bwithout\s+(?:telling|asking|informing|notifying)\b
    | \b(?:system|developer)\s+(?:prompt|message|instructions?)\b
    | <\s*/?\s*(?:important|system|instructions?|secret|hidden)\s*>
    | \b(?:before|after)\s+(?:using|calling|invoking)\s+(?:this|any|other)\b
    | \byou\s+(?:must|have\s+to|are\s+required\s+to)\b
    | \b(?:always|first)\s+(?:call|use|invoke|run)\b.{0,60}\btool\b
    | \binstead\s+of\s+(?:the\s+)?\S+\s+tool\b
    | \b(?:api[\s_-]*keys?|passwords?|credentials|private\s+keys?|\.ssh|id_rsa|\.env)\b
    | (?:忽略|无视).{0,20}(?:指令|指示|提示|规则)
    | (?:不要|切勿|不得)(?:告诉|告知|提及|透露)
    | (?:系统提示|系统消息|你必须|请务必|必须先)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something to look at: ``hidden``, ``script`` (a name that mixes writing systems) or
    ``order``; ``place`` is the part of the definition, ``words`` what stands there, visible."""

    kind: str
    place: str
    words: str


def definition_marks(definition: JsonObject) -> list[Mark]:
    """What is odd in a definition, each kind once for each part."""
    found: dict[tuple[str, str], Mark] = {}
    for place, text in _texts(definition):
        for mark in _marks(place, text):
            found.setdefault((mark.kind, place), mark)
    return list(found.values())


def likely_renamed(gone: JsonObject, listed: Mapping[str, JsonObject]) -> str:
    """The listed tool that a vanished one may be now; ``""`` where none is like it."""
    best, name = 0.0, ""
    for candidate, definition in listed.items():
        likeness = _likeness(gone, definition)
        if likeness > best:
            best, name = likeness, candidate
    return name if best >= LIKELY else ""


def _texts(definition: JsonObject) -> Iterator[tuple[str, str]]:
    for part in ("name", "title", "description"):
        yield part, str(definition.get(part) or "")
    for part in ("input_schema", "output_schema", "annotations"):
        for text in _strings(definition.get(part)):
            yield part, text


def _strings(value: object) -> Iterator[str]:
    """All keys and texts in a JSON value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            yield from (str(key) for key in item)
            waiting += item.values()
        elif isinstance(item, Sequence):
            waiting += item


def _marks(place: str, text: str) -> Iterator[Mark]:
    hidden = HIDDEN.search(text)
    if hidden is not None:
        around = text[max(0, hidden.start() - 20) : hidden.end() + 20]
        yield Mark(kind="hidden", place=place, words=show_hidden(around))
    if place == "name" and len(_scripts(text)) > 1:
        yield Mark(kind="script", place=place, words=", ".join(sorted(_scripts(text))))
    # What is hidden must not break the words apart that are looked for.
    order = _ORDERS.search(HIDDEN.sub("", text))
    if order is not None:
        yield Mark(kind="order", place=place, words=" ".join(order[0].split())[:120])


def _scripts(text: str) -> set[str]:
    """The writing systems of the letters, by the first word of their Unicode names."""
    names = (unicodedata.name(letter, "").split(" ")[0] for letter in text if letter.isalpha())
    return {name for name in names if name}


def _likeness(one: JsonObject, other: JsonObject) -> float:
    """From 0 to 1: most of it the schema and the description, some of it the name."""
    parts = (("name", 0.2), ("description", 0.4), ("input_schema", 0.4))
    return sum(weight * _ratio(one[part], other.get(part)) for part, weight in parts if part in one)


def _ratio(one: object, other: object) -> float:
    first, second = (_text(value) for value in (one, other))
    if first == second:
        return 1.0
    return SequenceMatcher(a=first[:2000], b=second[:2000], autojunk=False).quick_ratio()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True) if value else ""
