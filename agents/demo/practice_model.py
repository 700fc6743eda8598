"""The practice model on the wire: an HTTP transport that streams scripted answers, without a port.

Place in the house: ``agents.demo``. It is given to the same client as a real provider's address, so
its bytes pass the same stream parser; commands and workers can use it too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator

import httpx2

from agents.demo import PRACTICE_MODEL
from agents.demo.script import ScriptedAnswer, answer
from agents.loop.messages import JsonObject, JsonValue

CHUNK_CHARS = 3
CHUNK_SECONDS = 0.015
"""How fast the practice model writes: about 200 characters a second."""


class PracticeTransport(httpx2.AsyncBaseTransport):
    """Answers chat completions and the list of models from a script."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to one request; the answer's text comes in small chunks."""
        if request.url.path.endswith("/models"):
            return httpx2.Response(200, json={"data": [{"id": PRACTICE_MODEL}]}, request=request)
        body = json.loads(await request.aread())
        return httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            stream=_Events(body),
            request=request,
        )


class _Events(httpx2.AsyncByteStream):
    """The server-sent events of one answer."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in _chunks(self._body):
            yield f"data: {json.dumps(chunk)}\n\n".encode()
            await asyncio.sleep(CHUNK_SECONDS)
        yield b"data: [DONE]\n\n"


def _chunks(body: JsonObject) -> Iterator[JsonObject]:
    scripted = answer(body)
    for start in range(0, len(scripted.text), CHUNK_CHARS):
        yield _chunk({"content": scripted.text[start : start + CHUNK_CHARS]})
    for index, (name, arguments) in enumerate(scripted.calls):
        function: JsonValue = {
            "name": name,
            "arguments": json.dumps(arguments, ensure_ascii=False),
        }
        call_id = _call_id(body, index)
        yield _chunk({"tool_calls": [{"index": index, "id": call_id, "function": function}]})
    yield _chunk({}, "tool_calls" if scripted.calls else "stop")
    yield {"object": "chat.completion.chunk", "choices": [], "usage": _usage(body, scripted)}


def _chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
    return {
        "object": "chat.completion.chunk",
        "model": PRACTICE_MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _call_id(body: JsonObject, index: int) -> str:
    messages = json.dumps(body.get("messages"), ensure_ascii=False, sort_keys=True)
    return f"call_{hashlib.sha256(f'{messages}{index}'.encode()).hexdigest()[:12]}"


def _usage(body: JsonObject, scripted: ScriptedAnswer) -> JsonObject:
    """Tokens, counted as a quarter of the characters."""
    sent = len(json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False)) // 4
    got = (len(scripted.text) + len(json.dumps(scripted.calls, ensure_ascii=False))) // 4
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}
