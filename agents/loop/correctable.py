"""Is this failure one that the model can correct by sending better arguments?

Place in the house: ``agents.loop``, pure. Source of the rules: section 6 of the loop's contract.
The outcome decides; only where a tool itself reported an error is its text read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.loop.results import Outcome

NOT_CORRECTABLE_WORDS = (
    "network",
    "timeout",
    "timed out",
    "connection",
    "unauthorized",
    "forbidden",
    "unavailable",
    "context canceled",
    "context deadline",
    "server error",
    "internal error",
)
CORRECTABLE_RPC_CODES = frozenset({-32602, -32601})
"""Invalid params, and method (here: tool) not found."""

_LEFT_OUT = " \N{BULLET} "
_QUOTED_NAME = re.compile(
    r""""[^\s"]+"\s*:\s*"(?P<json_value>[^"]*)"|"[^\s"]+"|`[^\s`]+`|(?<!\w)'[^\s']+'(?!\w)"""
)


def _words_pattern(words: Iterable[str]) -> re.Pattern[str]:
    phrases = "|".join(r"[\s-]+".join(map(re.escape, phrase.split())) for phrase in words)
    # "connection-string" and "timeout-ms" are identifiers, not the word before the hyphen.
    return re.compile(rf"\b(?:{phrases})\b(?!-\w)", re.IGNORECASE)


_NOT_CORRECTABLE = _words_pattern(NOT_CORRECTABLE_WORDS)


def is_correctable(
    outcome: Outcome, *, text: str, rpc_code: int | None, own_names: Iterable[str]
) -> bool:
    """Whether the model should be asked to send the call again with better arguments.

    ``text`` is the error as the model will read it, ``rpc_code`` the JSON-RPC error code if there
    was one, ``own_names`` the tool's name and the names of its properties: a property called
    ``timeout`` says nothing about time.
    """
    if outcome in (Outcome.INVALID_ARGUMENTS, Outcome.UNKNOWN_TOOL):
        return True
    if outcome is Outcome.PROTOCOL_ERROR:
        return rpc_code in CORRECTABLE_RPC_CODES
    if outcome is not Outcome.TOOL_ERROR:
        return False
    # The contract's second list (invalid, required, missing, type ...) says yes, and so does a text
    # with words of neither list: only the first list can change the answer.
    return _NOT_CORRECTABLE.search(_without_names(text, own_names)) is None


def _without_names(text: str, own_names: Iterable[str]) -> str:
    names = sorted({name for name in own_names if name}, key=len, reverse=True)
    if names:
        own = "|".join(map(re.escape, names))
        text = re.sub(rf"(?<![\w-])(?:{own})(?![\w-])", _LEFT_OUT, text)
    return _QUOTED_NAME.sub(_keep_json_value, text)


def _keep_json_value(match: re.Match[str]) -> str:
    # {"error": "timeout"} is the server speaking; 'timeout' is required names a field.
    value = match.group("json_value")
    return _LEFT_OUT if value is None else _LEFT_OUT + _QUOTED_NAME.sub(_keep_json_value, value)
