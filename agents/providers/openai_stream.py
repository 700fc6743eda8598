"""Chunks of a streamed chat completion in, deltas and one whole answer out.

Place in the house: ``agents.providers``, pure: no network, no ``openai``. Our own, because the
SDK's accumulator merges calls, doubles names and breaks on missing indexes. Source of the rules:
section 12 of the loop's contract. What has a shape that nobody knows is left out, never an
exception.
"""

from __future__ import annotations

from collections.abc import Iterable

from agents.loop.interfaces import ModelAnswer, ModelDelta, Usage
from agents.loop.messages import JsonObject, JsonValue
from agents.providers.stream_calls import StreamCalls
from agents.providers.stream_extras import EXTRA_FIELDS, MessageExtras
from agents.providers.usage import read_usage


class StreamAccumulator:
    """One answer while it comes. ``tool_names`` are the flat names that were offered."""

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        self._calls = StreamCalls(tool_names)
        self._texts: list[str] = []
        self._extras = MessageExtras()
        self._usage: Usage | None = None
        self._has_tool_calls = False
        self._finish_reason = ""
        self._model = ""
        self._response_id = ""

    @property
    def is_finished(self) -> bool:
        """Whether the provider has given a reason for the end: nothing but usage can follow."""
        return bool(self._finish_reason)

    @property
    def has_begun(self) -> bool:
        """Whether any of the answer has come: text or a call."""
        return self._has_tool_calls or any(self._texts)

    def feed(self, chunk: JsonValue) -> list[ModelDelta]:
        """Take one chunk; what it added, in order. Anything but an object is ignored."""
        if not isinstance(chunk, dict):
            return []
        self._model = _text(chunk.get("model")) or self._model
        self._response_id = self._response_id or _text(chunk.get("id"))
        choice = _first_choice(chunk.get("choices"))
        self._note_usage(chunk, choice)
        if choice is None:
            return []
        delta = choice.get("delta")
        whole = choice.get("message")
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        if isinstance(whole, dict) and not delta:
            return self._feed_message(self._unseen(whole))
        return self._feed_message(delta) if isinstance(delta, dict) else []

    def finish(self, *, first_chunk_ns: int = 0) -> ModelAnswer:
        """The whole answer; ``first_chunk_ns`` is the wall time of the first chunk."""
        return ModelAnswer(
            text="".join(self._texts),
            tool_calls=self._calls.finish(),
            finish_reason=self._finish_reason,
            usage=self._usage,
            extra=self._extras.values,
            model=self._model,
            response_id=self._response_id,
            first_chunk_ns=first_chunk_ns,
        )

    def _unseen(self, message: JsonObject) -> JsonObject:
        """What a whole message says that its pieces, if there were any, have not said yet."""
        seen: set[str] = set()
        if self._texts:
            seen |= {"content", "refusal"}
        if self._extras.values:
            seen |= EXTRA_FIELDS
        if self._calls:
            seen |= {"tool_calls", "function_call"}
        return {key: value for key, value in message.items() if key not in seen}

    def _feed_message(self, message: JsonObject) -> list[ModelDelta]:
        deltas: list[ModelDelta] = []
        thought, text = _split_content(message.get("content"))
        marked, text = self._extras.split_thought(message, text)
        for thoughts in (self._extras.note(message), thought, marked):
            if thoughts:
                deltas.append(ModelDelta(reasoning=thoughts))
        text += _text(message.get("refusal"))
        if text:
            self._texts.append(text)
            deltas.append(ModelDelta(text=text))
        entries = message.get("tool_calls") or []
        if not isinstance(entries, list):
            entries = [entries]
        self._has_tool_calls = self._has_tool_calls or bool(entries)
        legacy = message.get("function_call")
        if legacy and not self._has_tool_calls:
            # From the days before tool calls; some providers send both forms of one call.
            entries = [{"function": legacy}]
        return [*deltas, *self._calls.feed(entries)]

    def _note_usage(self, chunk: JsonObject, choice: JsonObject | None) -> None:
        groq = chunk.get("x_groq")
        for source in (choice, groq, chunk):
            found = read_usage(source.get("usage")) if isinstance(source, dict) else None
            self._usage = found or self._usage


def error_in(chunk: JsonValue) -> JsonObject | None:
    """The provider's error if this chunk is one instead of a piece of an answer."""
    if not isinstance(chunk, dict):
        return None
    error = chunk.get("error")
    if isinstance(error, dict):
        return error
    if error:
        return {"message": str(error)}
    return chunk if chunk.get("object") == "error" or chunk.get("type") == "error" else None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _first_choice(choices: JsonValue) -> JsonObject | None:
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index") in (None, 0, "0"):
            return choice
    return None


def _split_content(content: JsonValue) -> tuple[str, str]:
    """The thinking and the text of a message's content, which is text or a list of parts."""
    if not isinstance(content, list):
        return "", _text(content)
    thoughts: list[str] = []
    texts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking", part.get("text"))
            thoughts.append(_split_content(inner)[1])
        elif isinstance(part, dict):
            text = part.get("text")
            texts.append(_text(text.get("value") if isinstance(text, dict) else text))
            texts.append(_text(part.get("refusal")))
    return "".join(thoughts), "".join(texts)
