"""The tokens of a request, from the many forms in which providers count them.

Place in the house: ``agents.providers``, pure; used by ``openai_stream``.
"""

from __future__ import annotations

import math

from agents.loop.interfaces import Usage
from agents.loop.messages import JsonObject, JsonValue

_MOST_TOKENS = 10**12
"""No request has more tokens; what is counted larger is nonsense that no database holds."""


def read_usage(usage: JsonValue) -> Usage | None:
    """The counts of a ``usage`` object, or ``None`` where it counts nothing."""
    if not isinstance(usage, dict):
        return None
    given = _count(usage, "prompt_tokens", "input_tokens")
    made = _count(usage, "completion_tokens", "output_tokens")
    if given is None and made is None:
        return None
    cached = _detail(usage, "prompt_tokens_details", "input_tokens_details", name="cached_tokens")
    cached = cached or _count(
        usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"
    )
    reasoned = _detail(
        usage, "completion_tokens_details", "output_tokens_details", name="reasoning_tokens"
    )
    beside = _beside(usage, (given or 0) + (made or 0), reasoned, has_cache=bool(cached))
    return Usage(
        input_tokens=given or 0,
        output_tokens=(made or 0) + beside,
        cached_tokens=cached or 0,
        reasoning_tokens=reasoned or beside,
    )


def _beside(usage: JsonObject, counted: int, reasoned: int | None, *, has_cache: bool) -> int:
    """Tokens of thoughts that only the total counts, as Gemini's does; they are paid as output.

    Where something was cached, a total that is larger may count that once more.
    """
    missing = (_count(usage, "total_tokens") or 0) - counted
    if missing <= 0 or (missing != reasoned and (reasoned or has_cache)):
        return 0
    return missing


def _detail(usage: JsonObject, *places: str, name: str) -> int | None:
    found = (usage.get(place) for place in places)
    counts = (_count(item, name) for item in found if isinstance(item, dict))
    return next(filter(None, counts), None)


def _count(counts: JsonObject, *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value < _MOST_TOKENS:
            return max(0, int(value)) if math.isfinite(value) else None
    return None
