"""The ids under which calls stand on the wire: the provider's own, or ones made up.

Place in the house: ``agents.loop``, pure; used by ``wire``.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Sequence

from agents.loop.messages import Message, ToolCall

_ALPHABET = string.ascii_letters + string.digits
_PATTERN = re.compile(r"^\^(?P<chars>\[[^\]]+\])\{(?P<low>\d+)(?:,(?P<high>\d+))?\}\$$")


def wire_ids(messages: Sequence[Message], pattern: str) -> dict[str, str]:
    """The provider's id wherever it can stand; else one made from the call's own key."""
    accepts = re.compile(pattern) if pattern else None
    calls = [call for message in messages for call in message.tool_calls]
    sent_ids = {call.id for call in calls}
    used: set[str] = set()
    ids: dict[str, str] = {}
    for call in calls:
        wire_id = call.id
        is_refused = accepts is not None and not accepts.fullmatch(wire_id)
        if not wire_id.strip() or wire_id in used or is_refused:
            wire_id = _made_up_id(call, pattern, sent_ids | used)
        used.add(wire_id)
        ids[call.key] = wire_id
    return ids


def _made_up_id(call: ToolCall, pattern: str, taken: set[str]) -> str:
    alphabet, length, prefix = _id_shape(pattern)
    for salt in range(1000):
        digest = hashlib.sha256(f"{call.key}\n{call.id}\n{salt}".encode()).digest()
        number = int.from_bytes(digest, "big")
        letters = []
        for _ in range(length):
            number, rest = divmod(number, len(alphabet))
            letters.append(alphabet[rest])
        made = prefix + "".join(letters)
        if made not in taken:
            return made
    raise ValueError(f"the pattern {pattern!r} leaves no free id for {len(taken)} calls")


def _id_shape(pattern: str) -> tuple[str, int, str]:
    """Alphabet, length and prefix of made up ids under a provider's pattern."""
    match = _PATTERN.match(pattern)
    if match is None:
        return _ALPHABET, 24, "call_"
    one = re.compile(match["chars"])
    letters = [chr(code) for code in range(33, 127) if one.fullmatch(chr(code))]
    alphabet = "".join(letter for letter in letters if letter in _ALPHABET) or "".join(letters)
    low, high = int(match["low"]), int(match["high"] or match["low"])
    return alphabet, min(high, max(low, 24)), ""
