"""Reads the almost-JSON that models write, without guessing.

Place in the house: ``agents.loop``, pure; used by ``agents.loop.arguments`` where strict JSON has
failed. First it is decided whether the text is whole: a repair must never complete what was cut
off. Then the faults whose meaning is certain are mended token by token (trailing commas, other
quotes, Python's literals, bare keys and words, comments). What is left goes to ``json_repair``, and
its answer counts only if nothing of the text was lost or made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import json_repair

from agents.loop.messages import JsonValue

MAX_DEPTH = 100
"""Levels of nesting that are read; deeper arguments are refused."""


class TokenKind(StrEnum):
    """The kinds of token in almost-JSON."""

    MARK = "mark"
    STRING = "string"
    WORD = "word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token: a mark (``{}[]:,``), a string's raw content without its quotes, or a bare word."""

    kind: TokenKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseObject:
    """The first object of a text: its tokens, its source, and the text that follows it."""

    tokens: tuple[Token, ...]
    source: str
    rest: str


class CutOff(ValueError):
    """Raised when a text ends before its object does; the text says where."""


class Unreadable(ValueError):
    """Raised when a text cannot be read for certain; the text says why."""


_SPACE_OR_COMMENT = re.compile(r"(?:\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRINGS = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL),
    "`": re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL),
    "\N{LEFT DOUBLE QUOTATION MARK}": re.compile(
        "\N{LEFT DOUBLE QUOTATION MARK}((?:[^\N{RIGHT DOUBLE QUOTATION MARK}\\\\]|\\\\.)*)"
        "\N{RIGHT DOUBLE QUOTATION MARK}",
        re.DOTALL,
    ),
}
_KEY_WORD = re.compile(r"[^\s,:{}\[\]]+")
_VALUE_WORD = re.compile(r"[^\s,{}\[\]]+")
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|.)|"', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
}
_NO_VALUES = re.compile(r"[+-]?(?:nan|inf|infinity)|undefined", re.IGNORECASE)
_CLOSES = {"}": "{", "]": "["}
_QUOTES = re.compile(r"""["'`\u201c\u201d]""")
_NOT_COMPARED = re.compile(r"""[\s"'`,:{}\[\]()\\\u201c\u201d]+""")


def read_object(text: str) -> LooseObject:
    """The tokens of the object with which the text begins.

    Raises ``CutOff`` if the text ends inside a string, a value or the object, ``Unreadable`` if it
    does not begin with an object or nests deeper than ``MAX_DEPTH``.
    """
    if not text.startswith("{"):
        raise Unreadable("the text is not a JSON object")
    tokens: list[Token] = []
    stack: list[str] = []
    position = 0
    while position < len(text):
        if space := _SPACE_OR_COMMENT.match(text, position):
            position = space.end()
            continue
        token, position = _next_token(text, position, is_key=_expects_key(tokens, stack))
        tokens.append(token)
        if token.kind is TokenKind.MARK:
            _follow_nesting(stack, token.text)
            if not stack:
                return LooseObject(
                    tokens=tuple(tokens), source=text[:position], rest=text[position:]
                )
    raise CutOff("the text ends inside the object")


def repair_object(found: LooseObject) -> str:
    """Strict JSON text for an object that is whole. Raises ``Unreadable`` rather than guess."""
    mended = _mend(found.tokens)
    try:
        json.loads(mended, strict=False)
    except ValueError:
        return _repair_by_library(found)
    return mended


def _expects_key(tokens: list[Token], stack: list[str]) -> bool:
    in_object = bool(stack) and stack[-1] == "{"
    return in_object and tokens[-1].kind is TokenKind.MARK and tokens[-1].text in "{,"


def _next_token(text: str, position: int, *, is_key: bool) -> tuple[Token, int]:
    character = text[position]
    if character in "{}[]:,":
        return Token(kind=TokenKind.MARK, text=character), position + 1
    if string := _STRINGS.get(character):
        match = string.match(text, position)
        if match is None:
            raise CutOff("the text ends inside a string")
        return Token(kind=TokenKind.STRING, text=match.group(1)), match.end()
    if text.startswith("/*", position):
        raise CutOff("the text ends inside a comment")
    word = (_KEY_WORD if is_key else _VALUE_WORD).match(text, position)
    assert word is not None  # every other character begins a word
    return Token(kind=TokenKind.WORD, text=word.group(0)), word.end()


def _follow_nesting(stack: list[str], mark: str) -> None:
    if mark in "{[":
        stack.append(mark)
        if len(stack) > MAX_DEPTH:
            raise Unreadable(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    elif mark in "}]" and stack[-1] == _CLOSES[mark]:
        # A closing mark of the wrong kind closes nothing: the object then counts as cut off.
        stack.pop()


def _mend(tokens: tuple[Token, ...]) -> str:
    parts: list[str] = []
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else token
        if token.kind is TokenKind.STRING:
            parts.append(_json_string(token.text))
        elif token.kind is TokenKind.WORD:
            is_key = following.kind is TokenKind.MARK and following.text == ":"
            parts.append(json.dumps(token.text) if is_key else _json_word(token.text))
        elif not (
            token.text == "," and following.kind is TokenKind.MARK and following.text in ",}]"
        ):
            parts.append(token.text)
    return " ".join(parts)


def _json_word(word: str) -> str:
    if word in _LITERALS:
        return _LITERALS[word]
    if _NUMBER.fullmatch(word):
        return word
    if _NO_VALUES.fullmatch(word):
        raise Unreadable(f"{word} is not a JSON value; use a number, a string or null")
    # A bare word or URL can only have been meant as text; anything odder is left to the library.
    return json.dumps(word) if word[0].isalpha() or word[0] in "/_.~$" else word


def _json_string(content: str) -> str:
    return f'"{_ESCAPE.sub(_json_escape, content)}"'


def _json_escape(match: re.Match[str]) -> str:
    escaped: str | None = match.group(1)
    if escaped is None:
        return '\\"'
    if len(escaped) > 1 or escaped in '"\\/bfnrt':
        return match.group(0)
    return escaped if escaped in "'`" else f"\\\\{escaped}"


def _repair_by_library(found: LooseObject) -> str:
    try:
        value = json_repair.loads(found.source, skip_json_loads=True)
    except (RecursionError, ValueError) as error:
        raise Unreadable("the text is not valid JSON") from error
    if not isinstance(value, dict) or not _is_same_content(found, value):
        raise Unreadable("the text is not valid JSON and cannot be repaired without guessing")
    return json.dumps(value)


def _is_same_content(found: LooseObject, value: JsonValue) -> bool:
    written = [
        _unescaped(token.text) if token.kind is TokenKind.STRING else token.text
        for token in found.tokens
        if token.kind is not TokenKind.MARK
    ]
    read = list(_scalars(value))
    return (
        _comparable(written) == _comparable(read)
        and read.count("") <= written.count("")
        and all(text in written or _is_whole_string(text, found.source) for text in read)
    )


def _is_whole_string(text: str, source: str) -> bool:
    """Whether text with quotes in it stands in the source as one string whose quotes pair up."""
    if not _QUOTES.search(text):
        return True
    return any(
        quote * 2 not in text.replace(" ", "").replace("+", "")
        and text.count(quote) % 2 == 0
        and f"{quote}{text}{quote}" in source
        for quote in "\"'"
    )


def _unescaped(content: str) -> str:
    return str(json.loads(_json_string(content), strict=False))


def _scalars(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def _comparable(texts: list[str]) -> str:
    literals = [_LITERALS.get(text, text) for text in texts]
    return _NOT_COMPARED.sub("", "".join(literals))
