"""HTTP to a server, with every failure turned into an answer that says what is wrong.

Place in the house: under the SDK's HTTP transports; imported at the first connect. An exception in
one request would end the SDK's whole connection with every call on it, and of a refusal the SDK
tells only "Server returned an error response". So a request that fails gets a JSON-RPC error made
here, whose ``data`` holds ``FAULT`` when the server could not be used at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import json
import re
import ssl
import urllib.request
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import httpx2

from agents.mcp_client.results import clean_json
from agents.mcp_client.wire import NONSENSE, error_from

if TYPE_CHECKING:
    from agents.loop.messages import JsonObject, JsonValue

FAULT = "toolloop.dev/unavailable"
"""Key in a made error's ``data``: the server itself could not be used."""

CONNECT_SECONDS = 10.0
NOTIFY_SECONDS = 2.0
MAX_EVENT_BYTES = 64 * 1024 * 1024
_NO_CODE = -32603
_MAX_REFUSAL_BYTES = 64 * 1024
_SURROGATE = re.compile(rb"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


class HttpWatch:
    """What one HTTP connection learns: whether it is broken, and whether notices can come.

    ``on_fault`` is called with one line when the connection should not be used again.
    ``channel_count`` is the number of open streams on which an older server can send notices. With
    ``ends_on_refusal`` a refused POST ends the connection, for the old transport whose answers come
    on another stream.
    """

    def __init__(
        self,
        *,
        on_fault: Callable[[str], None],
        on_channel_change: Callable[[], None],
        ends_on_refusal: bool = False,
    ) -> None:
        self.on_fault = on_fault
        self.on_channel_change = on_channel_change
        self.ends_on_refusal = ends_on_refusal
        self.channel_count = 0

    def count_channel(self, step: int) -> None:
        """Note that a stream for notices was opened (1) or closed (-1)."""
        self.channel_count += step
        self.on_channel_change()


def open_http_client(url: str, headers: dict[str, str], watch: HttpWatch) -> httpx2.AsyncClient:
    """A client for one connection: its headers, the SSL context of all, no limit on reading.

    Reading is limited by the calls themselves. Proxies of the environment are used, but never for
    loopback hosts. Raises ``ValueError`` for headers that HTTP does not allow.
    """
    proxy = _proxy_for(url)
    inner = httpx2.AsyncHTTPTransport(
        verify=_ssl_context(),
        trust_env=False,
        proxy=proxy,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
    )
    return httpx2.AsyncClient(
        headers=headers,
        transport=CheckedTransport(inner, watch),
        timeout=httpx2.Timeout(30.0, connect=CONNECT_SECONDS, read=None, pool=None),
        trust_env=False,
    )


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Sends requests; what cannot be an answer to a JSON-RPC request is answered here."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, watch: HttpWatch) -> None:
        self._inner = inner
        self._watch = watch
        self._cancels: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises httpx2's errors for GET only, where the SDK expects them."""
        if request.method == "POST":
            return await self._post(request)
        if request.method == "DELETE":
            async with _limited(request):
                return await self._inner.handle_async_request(request)
        response = await self._inner.handle_async_request(request)
        if response.status_code == 200 and _content_type(response) == "text/event-stream":
            self._watch.count_channel(1)
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)
            response.stream = _NotedStream(stream, lambda: self._watch.count_channel(-1))
        return response

    async def aclose(self) -> None:
        """Close all sockets; cancels that are still on their way get a moment."""
        if self._cancels:
            await asyncio.wait(self._cancels, timeout=NOTIFY_SECONDS)
        await self._inner.aclose()

    async def _post(self, request: httpx2.Request) -> httpx2.Response:
        message = await _message_in(request)
        request_id = message.get("id") if "method" in message else None
        if message.get("method") == "notifications/cancelled":
            # The SDK sends one message at a time: a server that hangs must not hold up the others.
            task = asyncio.create_task(self._send_cancel(request))
            self._cancels.add(task)
            task.add_done_callback(self._cancels.discard)
            return httpx2.Response(202, request=request)
        try:
            if request_id is None:
                async with _limited(request):
                    response = await self._inner.handle_async_request(request)
                    return self._checked_notice(response)
            response = await self._inner.handle_async_request(request)
            return await self._checked_answer(request, response, request_id)
        except httpx2.TransportError as error:
            reason = _connection_fault(request, error)
            return self._fault(request, request_id, reason, is_broken=True)

    async def _send_cancel(self, request: httpx2.Request) -> None:
        with contextlib.suppress(httpx2.TransportError):
            async with _limited(request):
                response = await self._inner.handle_async_request(request)
                await response.aclose()

    def _checked_notice(self, response: httpx2.Response) -> httpx2.Response:
        if response.status_code >= 400 and self._watch.ends_on_refusal:
            self._watch.on_fault(status_fault(response.status_code))
        return response

    async def _checked_answer(
        self, request: httpx2.Request, response: httpx2.Response, request_id: JsonValue
    ) -> httpx2.Response:
        status, kind = response.status_code, _content_type(response)
        if self._watch.ends_on_refusal:
            if status >= 400:
                await response.aclose()
                return self._fault(request, request_id, status_fault(status))
            return response
        if status < 400 and (status != 200 or kind == "text/event-stream"):
            return response
        if status == 200 and kind != "application/json":
            await response.aclose()
            reason = f"the server answered with {kind or 'no content type'} instead of JSON"
            return self._fault(request, request_id, f"{reason}: check the URL")
        return await self._checked_json(request, response, request_id)

    async def _checked_json(
        self, request: httpx2.Request, response: httpx2.Response, request_id: JsonValue
    ) -> httpx2.Response:
        status = response.status_code
        response.request = request
        body = await _body_of(response, None if status == 200 else _MAX_REFUSAL_BYTES)
        answer = _decoded(body)
        if status != 200:
            reason = _refusal(request, status, answer)
            if reason:
                return self._fault(request, request_id, reason, is_broken=status in (400, 404))
        if not isinstance(answer, dict):
            said = body[:120].decode("utf-8", "replace")
            answer = {"error": {"code": NONSENSE, "message": f"the answer is no JSON: {said!r}"}}
        if not (isinstance(answer.get("result"), dict) and "error" not in answer):
            error = error_from(answer).model_dump(exclude_none=True)
            return _answer(request, _encoded({"error": error}, request_id), response.headers)
        if str(answer.get("id")) == str(request_id) and not _SURROGATE.search(body):
            return _answer(request, body, response.headers)
        return _answer(request, _encoded(answer, request_id), response.headers)

    def _fault(
        self,
        request: httpx2.Request,
        request_id: JsonValue,
        reason: str,
        *,
        is_broken: bool = False,
    ) -> httpx2.Response:
        if is_broken or self._watch.ends_on_refusal:
            self._watch.on_fault(reason)
        if request_id is None or self._watch.ends_on_refusal:
            return httpx2.Response(202, request=request)
        error: JsonObject = {"code": _NO_CODE, "message": reason, "data": {FAULT: True}}
        return _answer(request, _encoded({"error": error}, request_id), httpx2.Headers())


class _NotedStream(httpx2.AsyncByteStream):
    """A response body whose end is told."""

    def __init__(self, stream: httpx2.AsyncByteStream, on_close: Callable[[], None]) -> None:
        self._stream = stream
        self._on_close: Callable[[], None] | None = on_close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        """Close the body and tell."""
        if self._on_close is not None:
            self._on_close()
            self._on_close = None
        await self._stream.aclose()


@contextlib.asynccontextmanager
async def _limited(request: httpx2.Request) -> AsyncIterator[None]:
    # The SDK sends notices one by one in the loop that sends the calls: a hung one holds up all.
    try:
        async with asyncio.timeout(NOTIFY_SECONDS):
            yield
    except TimeoutError:
        raise httpx2.ReadTimeout(
            f"no answer within {NOTIFY_SECONDS:g} s", request=request
        ) from None


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    # About 50 ms of CPU, so once per process.
    return httpx2.create_ssl_context()


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _proxy_for(url: str) -> httpx2.Proxy | None:
    parsed = httpx2.URL(url)
    if is_loopback(parsed.host) or urllib.request.proxy_bypass(parsed.host):
        return None
    proxies = urllib.request.getproxies()
    address = proxies.get(parsed.scheme) or proxies.get("all")
    return httpx2.Proxy(address) if address else None


def _content_type(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


async def _message_in(request: httpx2.Request) -> JsonObject:
    # Read, not taken: the request after a redirect holds its content as a stream.
    message = _decoded(await request.aread())
    return message if isinstance(message, dict) else {}


def _decoded(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value


def _encoded(answer: JsonObject, request_id: JsonValue) -> bytes:
    try:
        cleaned = clean_json({**answer, "jsonrpc": "2.0", "id": request_id})
        return json.dumps(cleaned).encode()
    except RecursionError:
        error = {"code": NONSENSE, "message": "the answer is nested too deeply to be read"}
        return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


def _answer(request: httpx2.Request, body: bytes, headers: httpx2.Headers) -> httpx2.Response:
    kept = {name: headers[name] for name in ("mcp-session-id",) if name in headers}
    kept["content-type"] = "application/json"
    return httpx2.Response(200, headers=kept, content=body, request=request)


async def _body_of(response: httpx2.Response, most: int | None) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_bytes():
            pieces.append(chunk)
            size += len(chunk)
            if most is not None and size > most:
                break
    finally:
        await response.aclose()
    return b"".join(pieces)


def _connection_fault(request: httpx2.Request, error: httpx2.TransportError) -> str:
    host = request.url.host
    where = f"{host}:{request.url.port}" if request.url.port else host
    said = str(error) or type(error).__name__
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"cannot connect to {where} ({said}): is the server running, is the URL right?"
    return f"the connection to {where} broke ({said})"


def _refusal(request: httpx2.Request, status: int, answer: JsonValue) -> str:
    """What an HTTP error means; empty where its body is a JSON-RPC error that speaks for itself."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if status in (401, 403) or not isinstance(error, dict):
        return status_fault(status)
    if "mcp-session-id" in request.headers and (
        status == 404 or "session" in str(error.get("message")).lower()
    ):
        return "the server has ended the session (was it restarted?)"
    return "" if isinstance(error.get("code"), int) else status_fault(status)


def status_fault(status: int) -> str:
    """One line on what an HTTP status means for whoever runs the server."""
    if status in (401, 403):
        return f"the server refuses the credentials (HTTP {status}): check header Authorization"
    if status == 404:
        return "HTTP 404: there is no MCP server (or no such session) at this URL: check the URL"
    if status >= 500:
        return f"HTTP {status}: the server failed; see its log"
    return f"HTTP {status}: the server refuses the request"
