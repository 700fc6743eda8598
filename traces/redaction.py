"""Takes secrets out of what is stored.

Place in the house: ``traces``. Works on JSON text, so that one pass covers a whole payload; a
replacement never breaks the JSON. What is a secret: values that were registered, values that the
callable named in ``TOOLLOOP_TRACE_SECRETS`` returns, text with the shape of a well-known key,
values under names such as ``Authorization`` or ``password``, and what the operator's patterns
(``TOOLLOOP_TRACE_REDACT``) match.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

REDACTED = "[redacted]"

SHORTEST_SECRET = 8
"""Shorter values are not taken out: they would take half the words of a trace with them."""

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (marker, re.compile(pattern, re.ASCII))
    for marker, pattern in (
        ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
        ("gh", r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
        ("github_pat_", r"\bgithub_pat_\w{20,}"),
        ("xox", r"\bxox[abprs]-[\w-]{10,}"),
        ("AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
        ("AIza", r"\bAIza[\w-]{30,}"),
        ("glpat-", r"\bglpat-[\w-]{16,}"),
        ("hf_", r"\bhf_[A-Za-z0-9]{20,}"),
        ("eyJ", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"),
        ("earer ", r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}"),
        ("asic ", r"(?<=[Bb]asic )[A-Za-z0-9+/=]{12,}"),
        ("://", r"(?<=://)[^\s/@\"\\:]+:[^\s/@\"\\]+(?=@)"),
    )
)
"""Shapes of well-known keys, each with a text that it must hold: looking for that is cheap."""

_NAMED = re.compile(
    r'((?:\\*")(?:proxy-authorization|authorization|set-cookie|cookie|x-api-key|api[-_]?key'
    r"|access[-_]?token|refresh[-_]?token|client[-_]?secret|password|passwd|secret[-_]?key"
    r'|private[-_]?key)(?:\\*")\s*:\s*(?:\\*"))([^"\\]+)',
    re.IGNORECASE,
)

_NAME_PARTS = ("author", "coo", "key", "token", "secret", "passw")
"""Each name of ``_NAMED`` holds one of them: looking for these is ten times cheaper."""


class Redactor:
    """Replaces secrets in JSON text by ``[redacted]``."""

    def __init__(self, secrets: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET:
                plain = {_escaped(secret, False), _escaped(secret, True)}
                nested = {_escaped(form, is_ascii) for form in plain for is_ascii in (False, True)}
                forms |= plain | nested
        longest_first = sorted(forms, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def redact(self, json_text: str) -> str:
        """The same JSON without secrets."""
        if self._patterns:
            json_text = self._without_matches(json_text)
        if self._values is not None:
            json_text = self._values.sub(REDACTED, json_text)
        for marker, shape in _SHAPES:
            if marker in json_text:
                json_text = shape.sub(REDACTED, json_text)
        folded = json_text.casefold()
        if not any(part in folded for part in _NAME_PARTS):
            return json_text
        return _NAMED.sub(rf"\1{REDACTED}", json_text)

    def _without_matches(self, json_text: str) -> str:
        """Patterns see the texts as they are, without the escapes of JSON."""
        value = self._replaced(json.loads(json_text))
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def _replaced(self, value: object) -> object:
        if isinstance(value, str):
            for pattern in self._patterns:
                value = pattern.sub(REDACTED, value)
            return value
        if isinstance(value, list):
            return [self._replaced(item) for item in value]
        if isinstance(value, dict):
            return {self._replaced(key): self._replaced(item) for key, item in value.items()}
        return value


def _escaped(text: str, is_ascii: bool) -> str:
    """A text as it stands inside of JSON quotes."""
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]


_registered: set[str] = set()


def register_secret(value: str) -> None:
    """Keep a value out of every trace of this process from now on."""
    _registered.add(value)


def registered_secrets() -> frozenset[str]:
    """What was registered so far."""
    return frozenset(_registered)
