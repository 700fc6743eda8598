"""What passes between us and one server, watched and mended before the SDK validates it.

Place in the house: between a transport and the SDK's session; imported at the first connect, for it
imports ``mcp``. The SDK refuses a whole ``tools/list`` for one odd schema and a whole result for
one odd content part. So each of the two results goes through as an empty, valid one that carries
the original under ``RAW`` in its ``_meta``; ``discovery`` and ``results`` read the original.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeAlias

import mcp_types as types
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from agents.loop.messages import JsonObject, JsonValue
from agents.mcp_client.wire_log import WireLog

RAW = "toolloop.dev/raw"
"""Key in a result's ``_meta`` under which the server's own result lies."""

NONSENSE = -32700
"""Code of answers that are no JSON-RPC responses (JSON-RPC's parse error)."""

LIST_CHANGED = "notifications/tools/list_changed"

Item: TypeAlias = "SessionMessage | Exception"

_log = logging.getLogger(__name__)


class WireWatch:
    """Follows the messages of one connection: which request is open, and when the tools changed.

    ``on_list_changed`` is called for each notice that the tools changed, in both eras of the
    protocol; ``on_end`` once, when the server can say nothing more.
    """

    def __init__(
        self,
        *,
        on_list_changed: Callable[[], None],
        on_end: Callable[[], None],
        log: WireLog,
        scrub: Callable[[str], str],
    ) -> None:
        self.open_requests: dict[str, str] = {}
        self.on_end = on_end
        self._on_list_changed = on_list_changed
        self._log = log
        self._scrub = scrub

    def note_sent(self, message: types.JSONRPCMessage) -> None:
        """Remember a request that goes out."""
        if isinstance(message, types.JSONRPCRequest):
            self.open_requests[str(message.id)] = message.method
        self._note(message, is_sent=True)

    def _note(self, message: types.JSONRPCMessage, *, is_sent: bool) -> None:
        request_id = getattr(message, "id", None)
        method = getattr(message, "method", None) or self.open_requests.get(str(request_id), "")
        error = message.error.message if isinstance(message, types.JSONRPCError) else ""
        self._log.note(
            method,
            is_sent=is_sent,
            request_id="" if request_id is None else request_id,
            error=self._scrub(error),
            whole=lambda: self._scrub(message.model_dump_json(by_alias=True, exclude_none=True)),
        )

    def mend(self, message: types.JSONRPCMessage) -> types.JSONRPCMessage:
        """The message as the SDK will take it; responses are matched to their requests."""
        self._note(message, is_sent=False)
        if isinstance(message, types.JSONRPCNotification):
            if message.method == LIST_CHANGED:
                self._on_list_changed()
            return message
        if isinstance(message, types.JSONRPCResponse):
            method = self.open_requests.pop(str(message.id), "")
            return message.model_copy(update={"result": _mended_result(method, message.result)})
        if isinstance(message, types.JSONRPCError):
            self.open_requests.pop(str(message.id), "")
        return message

    def message_from(self, value: JsonValue) -> types.JSONRPCMessage | None:
        """The message that decoded JSON stands for; ``None`` for what belongs to no conversation.

        An answer to an open request that is no JSON-RPC response becomes an error response to it.
        """
        if not isinstance(value, dict):
            return None
        value = {**value, "jsonrpc": "2.0"}
        if "method" not in value:
            return self._response_from(value)
        try:
            return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValidationError:
            return None

    def _response_from(self, value: JsonObject) -> types.JSONRPCMessage | None:
        request_id = value.get("id")
        if request_id is None and "error" in value and len(self.open_requests) == 1:
            request_id = next(iter(self.open_requests))
        if not isinstance(request_id, str | int) or str(request_id) not in self.open_requests:
            return None
        result = value.get("result")
        if isinstance(result, dict) and "error" not in value:
            return types.JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result)
        return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error_from(value))


def error_from(value: JsonObject) -> types.ErrorData:
    """The error of a response, however it is written."""
    error = value.get("error")
    if isinstance(error, dict):
        code, text = error.get("code"), error.get("message")
        if isinstance(code, int) and not isinstance(code, bool):
            return types.ErrorData(code=code, message=str(text or ""), data=error.get("data"))
    said = error if error is not None else value.get("result")
    return types.ErrorData(
        code=NONSENSE, message=f"the server's answer is no JSON-RPC response: {said!r:.200}"
    )


def raw_result(result: types.Result) -> JsonObject:
    """The server's own result that a mended one carries."""
    raw = (result.meta or {}).get(RAW)
    return raw if isinstance(raw, dict) else {}


def _mended_result(method: str, result: JsonObject) -> JsonObject:
    if method == "tools/call":
        return {"content": [], "resultType": "complete", "_meta": {RAW: result}}
    if method == "tools/list":
        return {
            "tools": _plain_tools(result.get("tools")),
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {RAW: result},
        }
    if method == "initialize":
        return _mended_greeting(result)
    return result


def _plain_tools(tools: Any) -> list[JsonValue]:
    """Name and schema of the tools whose arguments the SDK has to repeat in headers."""
    if not isinstance(tools, list):
        return []
    return [
        {"name": tool["name"], "inputSchema": tool["inputSchema"]}
        for tool in tools
        if has_header_arguments(tool)
    ]


def has_header_arguments(tool: Any) -> bool:
    """Whether a well-formed entry of ``tools/list`` wants arguments in headers as well."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return False
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    properties = schema.get("properties")
    return (
        isinstance(properties, dict)
        and all(isinstance(value, dict) for value in properties.values())
        and "x-mcp-header" in str(properties)
    )


def _mended_greeting(result: JsonObject) -> JsonObject:
    greeting = dict(result)
    if not isinstance(greeting.get("capabilities"), dict):
        greeting["capabilities"] = {}
    info = greeting.get("serverInfo")
    named: JsonObject = info if isinstance(info, dict) else {}
    greeting["serverInfo"] = {
        "name": str(named.get("name") or "unknown"),
        "version": str(named.get("version") or ""),
    }
    if not isinstance(greeting.get("instructions"), str):
        greeting.pop("instructions", None)
    return greeting


class WatchedRead:
    """A transport's incoming stream with the watch on it."""

    def __init__(self, stream: ReadStream[Item], watch: WireWatch) -> None:
        self._stream = stream
        self._watch = watch

    @property
    def last_context(self) -> object:
        """The sender's context, which the SDK asks of its own streams."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Item:
        """The next message, mended."""
        return self._mended(await self._stream.receive())

    def __aiter__(self) -> WatchedRead:
        return self

    async def __anext__(self) -> Item:
        try:
            return self._mended(await self._stream.__anext__())
        except StopAsyncIteration:
            self._watch.on_end()
            raise

    async def aclose(self) -> None:
        """Close the stream underneath."""
        await self._stream.aclose()

    async def __aenter__(self) -> WatchedRead:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)

    def _mended(self, item: Item) -> Item:
        if isinstance(item, Exception):
            _log.debug("a message that could not be read: %.200s", item)
            return item
        item.message = self._watch.mend(item.message)
        return item


class WatchedWrite:
    """A transport's outgoing stream with the watch on it."""

    def __init__(self, stream: WriteStream[SessionMessage], watch: WireWatch) -> None:
        self._stream = stream
        self._watch = watch

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message and remember what was asked."""
        self._watch.note_sent(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream underneath."""
        await self._stream.aclose()

    async def __aenter__(self) -> WatchedWrite:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)
