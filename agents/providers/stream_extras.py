"""What an answer carries beside its text and its calls: thoughts, signatures, a vendor's fields.

Place in the house: ``agents.providers``, pure; used by ``openai_stream``. Vendors refuse the next
request of a tool loop where these fields are missing or changed, so that they are kept as they
came; what came in pieces is put together as the vendors' own libraries do it.
"""

from __future__ import annotations

from agents.loop.messages import JsonObject, JsonValue

REASONING_TEXTS = ("reasoning_content", "reasoning", "thinking")
REPLAYED_LISTS = ("reasoning_details", "thinking_blocks")
REPLAYED_VALUES = ("extra_content", "thought_signature", "provider_specific_fields")
EXTRA_FIELDS = frozenset({*REASONING_TEXTS, *REPLAYED_LISTS, *REPLAYED_VALUES})
"""The fields of a message that are no part of its text and calls."""

_OPEN, _CLOSE = "<thought>", "</thought>"
_TEXT_KEYS = ("text", "summary", "thinking")


class MessageExtras:
    """The further fields of one answer. ``values`` are to be sent back to the same provider."""

    def __init__(self) -> None:
        self.values: JsonObject = {}
        self._is_in_thought = False

    def note(self, message: JsonObject) -> str:
        """Keep what is to be replayed; the new thoughts for those who watch, once if sent twice."""
        shown = ""
        for key in REASONING_TEXTS:
            said = message.get(key)
            if isinstance(said, str) and said:
                self.values[key] = _text(self.values.get(key)) + said
                shown = shown or said
        for key in (*REPLAYED_LISTS, *REPLAYED_VALUES):
            value = message.get(key)
            if value is None or (key in REPLAYED_LISTS and not isinstance(value, list)):
                continue
            kept = _joined(key, self.values.get(key), _without_thought_mark(value))
            if kept != {}:
                self.values[key] = kept
        return shown

    def split_thought(self, message: JsonObject, text: str) -> tuple[str, str]:
        """The thoughts and the answer in a message's text.

        Thoughts come as text where the message is marked (``extra_content.google.thought``): the
        first piece begins with a tag, and the tag that ends them stands before the answer.
        """
        if _is_marked_thought(message):
            self._is_in_thought = True
            thought, _, answer = text.removeprefix(_OPEN).partition(_CLOSE)
            self._is_in_thought = not answer
            return thought, answer
        if self._is_in_thought and text:
            self._is_in_thought = False
            return "", text.removeprefix(_CLOSE)
        return "", text


def _is_marked_thought(message: JsonObject) -> bool:
    extra = message.get("extra_content")
    vendors = extra.values() if isinstance(extra, dict) else ()
    return any(isinstance(fields, dict) and fields.get("thought") is True for fields in vendors)


def _without_thought_mark(value: JsonValue) -> JsonValue:
    """The value without the mark that belongs to one piece; sent back, it would hide the answer."""
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {}
    for key, item in value.items():
        if key == "thought" and item is True:
            continue
        inner = _without_thought_mark(item)
        if inner != {} or item == {}:
            kept[key] = inner
    return kept


def _joined(key: str, known: JsonValue, value: JsonValue) -> JsonValue:
    """A field with its new piece: lists of thoughts go on, objects are merged, others replaced."""
    if key in REPLAYED_LISTS and isinstance(value, list):
        return _joined_details(known, value)
    if not isinstance(value, dict):
        return value
    before: JsonObject = known if isinstance(known, dict) else {}
    news = {
        name: _joined(name, before.get(name), item)
        for name, item in value.items()
        if item is not None
    }
    return {**before, **news}


def _joined_details(known: JsonValue, details: list[JsonValue]) -> list[JsonValue]:
    """The details with new pieces; text of the same kind goes on where it stopped."""
    joined = list(known) if isinstance(known, list) else []
    for detail in details:
        last = joined[-1] if joined else None
        if isinstance(detail, dict) and isinstance(last, dict) and _goes_on(last, detail):
            grown: JsonObject = {
                key: _text(last.get(key)) + _text(detail.get(key))
                for key in _TEXT_KEYS
                if key in last or key in detail
            }
            # The signature of a block comes in a piece of its own; others say "" or null there.
            news: JsonObject = {key: value for key, value in detail.items() if value}
            joined[-1] = {**last, **news, **grown}
        else:
            joined.append(detail)
    return joined


def _goes_on(last: JsonObject, detail: JsonObject) -> bool:
    """Whether a piece belongs to the one before it: by index, or, without one, until signed."""
    kind = detail.get("type")
    if kind != last.get("type") or detail.get("index") != last.get("index"):
        return False
    if kind == "thinking":
        return not last.get("signature")
    return kind in ("reasoning.text", "reasoning.summary") and detail.get("index") is not None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
