"""About how many tokens texts and messages have, where no provider has counted them.

Place in the house: ``agents.loop``, pure. Estimates decide when to make room; what a run cost is
counted by the provider.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from agents.loop.messages import JsonObject, Message, text_of

CHARS_PER_TOKEN = 4
"""Characters of a token in a text of letters; a character of a wide script is one by itself."""

MESSAGE_TOKENS = 4
"""What a message takes besides its texts."""

IMAGE_TOKENS = 1000
"""A careful estimate for a picture."""

_WIDE = "\u2e7f"


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: four characters each, one for each of a wide script."""
    if text.isascii():
        return -(-len(text) // CHARS_PER_TOKEN)
    wide = sum(1 for letter in text if letter > _WIDE)
    return wide + -(-(len(text) - wide) // CHARS_PER_TOKEN)


def definition_tokens(definition: JsonObject) -> int:
    """About how many tokens an entry of the ``tools`` array has."""
    return estimate_tokens(json.dumps(definition, ensure_ascii=False, separators=(",", ":")))


def message_tokens(message: Message) -> int:
    """About how many tokens a message has, with its calls and pictures."""
    calls = sum(
        MESSAGE_TOKENS + estimate_tokens(call.name) + estimate_tokens(_text(call.arguments))
        for call in message.tool_calls
    )
    pictures = len(message.images)
    if isinstance(message.content, tuple):
        pictures += sum(part.get("type") != "text" for part in message.content)
    text = estimate_tokens(text_of(message.content))
    return MESSAGE_TOKENS + text + calls + pictures * IMAGE_TOKENS


def used_tokens(
    messages: Sequence[Message], *, prompts: Iterable[Message], tools: Iterable[JsonObject]
) -> int:
    """About how many tokens a request with these messages has.

    The provider's own count up to the last answer that has one, and an estimate of what came after
    it; of everything, with prompts and tools, where no answer has one.
    """
    for position in range(len(messages) - 1, -1, -1):
        known = messages[position].context_tokens
        if known is not None:
            return known + sum(map(message_tokens, messages[position + 1 :]))
    fixed = sum(map(message_tokens, prompts)) + sum(map(definition_tokens, tools))
    return fixed + sum(map(message_tokens, messages))


def _text(arguments: str | JsonObject) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
