"""What went over the wire for one model request, written down by the provider while it happens.

Place in the house: ``agents.loop``, pure; for the trace. Nothing decides by it.
"""

from __future__ import annotations

import time

from agents.loop.messages import JsonObject, JsonValue

MAX_CHARS = 200_000
"""Text kept of all chunks of an answer; what comes later is only counted."""

_STORED_ELSEWHERE = frozenset({"messages", "tools"})


class Exchange:
    """One request and its answer. ``begin`` starts it anew: only the last try of a body counts."""

    __slots__ = ("_body", "_chars", "_chunks", "_left_out", "_sent_ns", "_status")

    def __init__(self) -> None:
        self.begin({})

    def begin(self, body: JsonObject) -> None:
        """A body goes out. Its messages and tools are told by the event of the request."""
        self._body = body
        self._sent_ns = time.perf_counter_ns()
        self._status: int | None = None
        self._chunks: list[tuple[int, str]] = []
        self._chars = 0
        self._left_out = 0

    def answered(self, status: int) -> None:
        """The head of the response came."""
        self._status = status

    def received(self, text: str) -> None:
        """A chunk came, or the body of a response that is no stream."""
        if self._chars >= MAX_CHARS:
            self._left_out += 1
            return
        kept = text[: MAX_CHARS - self._chars]
        self._chars += len(kept)
        self._chunks.append((time.perf_counter_ns(), kept))

    def report(self) -> JsonObject:
        """JSON ready: ``{"body", "status", "chunks": [[ms since sent, text]], "left_out"}``.

        ``body`` is without messages and tools; ``left_out`` counts chunks that were not kept.
        """
        chunks: list[JsonValue] = [
            [round((at_ns - self._sent_ns) / 1e6, 1), text] for at_ns, text in self._chunks
        ]
        body = {key: value for key, value in self._body.items() if key not in _STORED_ELSEWHERE}
        return {
            "body": body,
            "status": self._status,
            "chunks": chunks,
            "left_out": self._left_out,
        }
