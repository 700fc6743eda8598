"""One provider that speaks chat completions: the body, the call, the stream.

Place in the house: ``agents.providers``; import it late, ``openai`` takes a second. Implements
``agents.loop.interfaces.Model``: one call is one request, the loop decides about another. Bodies
are plain dictionaries: the SDK's typed call costs 0.4 ms for every message on every turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import ssl
import time
from collections.abc import AsyncIterator

import httpx2
import openai
from openai import AsyncStream

from agents.loop.errors import ModelKeyRefused, ModelNotFound
from agents.loop.exchange import Exchange
from agents.loop.interfaces import ModelAnswer, ModelRequest, OnDelta
from agents.loop.messages import JsonObject, JsonValue
from agents.providers.declared_tools import declared_tools, wants_tools_declared
from agents.providers.openai_errors import (
    Endpoint,
    broken_off,
    explain_error,
    explain_stream_error,
    names_field,
    no_answer,
    timed_out,
    unreachable,
)
from agents.providers.openai_stream import StreamAccumulator, error_in

CONNECT_SECONDS = 10.0
"""How long a connection may take to open."""

AFTER_FINISH_SECONDS = 5.0
"""How long usage may come after the end of the answer, from a provider that sends no ``[DONE]``."""

REST_SECONDS = 0.1
"""How long a response may take to end after ``[DONE]``."""

_NO_KEY = "none"
_STREAM_OPTIONS = "stream_options"
_PARALLEL_CALLS = "parallel_tool_calls"
_OWN_FIELDS = frozenset({"model", "messages", "tools", "stream", _STREAM_OPTIONS})
_NEED_TOOLS = frozenset({"tool_choice", _PARALLEL_CALLS})


class OpenAIChat:
    """A provider. Use it in one event loop, and ``close`` it there.

    ``timeout_seconds`` is how long the provider may say nothing. Nothing is taken from ``OPENAI_*``
    variables: they belong to another address. Redirects are not followed. A ``transport`` answers
    in place of the network. With ``no_stream_options`` no usage is asked for; with
    ``no_parallel_calls`` the model is told to ask for one tool at a time. Both fields are ours: a
    provider that refuses one by name is asked without it from then on (``refused_fields``). One
    that wants the tools of a history declared gets them, forbidden, where none are offered.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        timeout_seconds: float = 60.0,
        *,
        no_stream_options: bool = False,
        no_parallel_calls: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._base_url = base_url
        self._transport = transport
        self._key = (api_key or "").strip()
        self._timeout_seconds = timeout_seconds
        self._own_fields = {
            name
            for name, is_sent in (
                (_STREAM_OPTIONS, not no_stream_options),
                (_PARALLEL_CALLS, no_parallel_calls),
            )
            if is_sent
        }
        self.refused_fields: set[str] = set()
        self._declares_tools = False
        self._client: _Client | None = None

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Send the request, stream the answer, return it whole. Raises ``ModelError``."""
        endpoint = self._endpoint(request.model)
        while True:
            # Other runs use this client too: what counts is what this request has sent.
            sent, has_declared = frozenset(self._own_fields), self._declares_tools
            try:
                return await self._ask(request, on_delta, endpoint)
            except openai.APIStatusError as error:
                refused = {name for name in sent if names_field(error, name)}
                is_undeclared = wants_tools_declared(error.status_code, error.body)
                if not refused and (has_declared or request.tools or not is_undeclared):
                    raise explain_error(error, endpoint) from error
            self._own_fields -= refused
            self.refused_fields |= refused
            self._declares_tools = self._declares_tools or is_undeclared

    async def list_models(self) -> list[str]:
        """The names of the provider's models, in its order. Raises ``ModelError``."""
        endpoint = self._endpoint()
        try:
            listed: object = await self._open_client(endpoint).get("/models", cast_to=object)
        except openai.OpenAIError as error:
            raise explain_error(error, endpoint) from error
        except ValueError as error:
            raise no_answer(str(error), endpoint) from error
        models = listed.get("data", listed.get("models")) if isinstance(listed, dict) else listed
        if not isinstance(models, list):
            raise no_answer(str(listed), endpoint)
        names = [item.get("id", item.get("name")) for item in models if isinstance(item, dict)]
        return [name for name in names if isinstance(name, str)]

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _endpoint(self, model: str = "") -> Endpoint:
        return Endpoint(
            base_url=self._base_url,
            model=model,
            key=self._key,
            timeout_seconds=self._timeout_seconds,
        )

    def _open_client(self, endpoint: Endpoint) -> _Client:
        if self._client is None:
            _check_endpoint(endpoint)
            self._client = _new_client(endpoint, self._transport)
        return self._client

    def _body(self, request: ModelRequest) -> JsonObject:
        body: JsonObject = {
            key: value
            for key, value in request.options.items()
            if key not in _OWN_FIELDS
            and value is not None
            and (request.tools or key not in _NEED_TOOLS)
        }
        body |= {"model": request.model, "messages": list(request.messages), "stream": True}
        if request.tools:
            body["tools"] = list(request.tools)
            if _PARALLEL_CALLS in self._own_fields:
                body.setdefault(_PARALLEL_CALLS, False)
        elif self._declares_tools and (declared := declared_tools(request.messages)):
            body |= {"tools": declared, "tool_choice": "none"}
        if _STREAM_OPTIONS in self._own_fields:
            body[_STREAM_OPTIONS] = {"include_usage": True}
        return body

    async def _ask(
        self, request: ModelRequest, on_delta: OnDelta, endpoint: Endpoint
    ) -> ModelAnswer:
        client = self._open_client(endpoint)
        accumulator = StreamAccumulator(_tool_names(request))
        try:
            body = self._body(request)
            request.exchange.begin(body)
            async with await _post(client, body, request.exchange) as stream:
                return await _read(stream, accumulator, on_delta, endpoint)
        except openai.APIStatusError:
            raise
        except openai.OpenAIError as error:
            raise explain_error(error, endpoint) from error
        except httpx2.TimeoutException as error:
            raise timed_out(endpoint) from error
        except httpx2.HTTPError as error:
            raise unreachable(error, endpoint) from error


class _ChatStream(AsyncStream[object]):
    """Decoded events, one by one; tells whether ``[DONE]`` came.

    A provider that ignores ``stream`` and sends one JSON body gives one event, and is done. Raises
    ``ValueError`` for what is no chat completion.
    """

    is_done = False
    exchange: Exchange

    async def __stream__(self) -> AsyncIterator[object]:
        response = self.response
        try:
            if "event-stream" in response.headers.get("content-type", "event-stream"):
                async for event in self._events():
                    yield event
            else:
                for event in self._events_of_body((await response.aread()).decode()):
                    yield event
        finally:
            await response.aclose()

    async def _events(self) -> AsyncIterator[object]:
        events = self._iter_events()
        async for event in events:
            data = event.data.strip()
            self.exchange.received(data)
            if data.startswith("[DONE]"):
                self.is_done = True
                await _read_rest(events)
                return
            # Some proxies keep a stream alive with words; a broken object is a broken stream.
            if data.startswith("{"):
                yield json.loads(data)

    def _events_of_body(self, content: str) -> list[object]:
        """The events of a body that does not call itself a stream: one object, or events still."""
        self.exchange.received(content)
        lines = [line[5:].strip() for line in content.splitlines() if line.startswith("data:")]
        if lines:
            self.is_done = "[DONE]" in lines
            return [json.loads(line) for line in lines if line.startswith("{")]
        body = json.loads(content)
        if error_in(body) is None and not (isinstance(body, dict) and body.get("choices")):
            raise ValueError(content)
        self.is_done = True
        return [body]


async def _read_rest(events: AsyncIterator[object]) -> None:
    """Read what follows ``[DONE]``: only a connection read to the end serves another request."""
    with contextlib.suppress(TimeoutError, openai.APIConnectionError, ValueError):
        async with asyncio.timeout(REST_SECONDS):
            async for _ in events:
                pass


async def _post(client: _Client, body: JsonObject, exchange: Exchange) -> _ChatStream:
    """Send a request; its answer as a stream. Raises what the SDK's own ``post`` would raise.

    That one builds options, headers and address anew for each request, and copies them three times:
    half of what a request costs.
    """
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a surrogate pair, from a tool or a model, must not make a conversation unusable.
    request = client.chat_request(text.encode("utf-8", "replace"))
    try:
        response = await client.http.send(request, stream=True)
        exchange.answered(response.status_code)
        if not response.is_success:
            exchange.received((await response.aread()).decode(errors="replace"))
            raise client.status_error(response)
    except httpx2.TimeoutException as error:
        raise openai.APITimeoutError(request=request) from error
    except httpx2.RequestError as error:
        raise openai.APIConnectionError(request=request) from error
    stream = _ChatStream(cast_to=object, response=response, client=client)
    stream.exchange = exchange
    return stream


async def _read(
    stream: _ChatStream, accumulator: StreamAccumulator, on_delta: OnDelta, endpoint: Endpoint
) -> ModelAnswer:
    first_chunk_ns = 0
    chunks = aiter(stream)
    while True:
        try:
            chunk = await _next_chunk(chunks, is_finished=accumulator.is_finished)
        except StopAsyncIteration:
            break
        except (TimeoutError, openai.APIConnectionError, httpx2.HTTPError, ValueError) as error:
            if accumulator.is_finished:
                # The answer is whole; only its usage may be missing.
                break
            if isinstance(error, httpx2.TimeoutException | openai.APITimeoutError):
                raise timed_out(endpoint, has_begun=accumulator.has_begun) from error
            if not isinstance(error, ValueError):
                raise
            fault = broken_off(endpoint) if first_chunk_ns else no_answer(str(error), endpoint)
            raise fault from error
        first_chunk_ns = first_chunk_ns or time.time_ns()
        if failure := error_in(chunk):
            raise explain_stream_error(failure, endpoint)
        for delta in accumulator.feed(chunk):
            await on_delta(delta)
    if not (accumulator.is_finished or stream.is_done):
        raise broken_off(endpoint)
    return accumulator.finish(first_chunk_ns=first_chunk_ns)


async def _next_chunk(chunks: AsyncIterator[object], *, is_finished: bool) -> JsonValue:
    if is_finished:
        async with asyncio.timeout(AFTER_FINISH_SECONDS):
            chunk = await anext(chunks)
    else:
        chunk = await anext(chunks)
    return chunk if isinstance(chunk, (dict, list, str, int, float)) else None


def _tool_names(request: ModelRequest) -> list[str]:
    functions = [tool.get("function") for tool in request.tools]
    names = [function.get("name") for function in functions if isinstance(function, dict)]
    return [name for name in names if isinstance(name, str)]


def _check_endpoint(endpoint: Endpoint) -> None:
    """Raise the ``ModelError`` for an address or key that cannot be used at all."""
    try:
        url = httpx2.URL(endpoint.base_url)
        is_usable = url.scheme in ("http", "https") and bool(url.host)
    except httpx2.InvalidURL:
        is_usable = False
    if not is_usable:
        raise ModelNotFound(
            f"{endpoint.clean(endpoint.base_url)!r} is not the address of a provider.",
            hint="A base URL looks like http://127.0.0.1:9001/v1.",
        )
    if not (endpoint.key.isascii() and endpoint.key.isprintable()):
        raise ModelKeyRefused(
            f"The key for {endpoint.name} holds characters that no key can hold.",
            hint="Copy the key again, without line breaks or quotes.",
        )


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    # Building one takes 50 ms, as long as everything else of a run.
    return httpx2.create_ssl_context()


def _new_client(endpoint: Endpoint, transport: httpx2.AsyncBaseTransport | None) -> _Client:
    seconds = endpoint.timeout_seconds
    timeout = httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds), pool=CONNECT_SECONDS)
    http = httpx2.AsyncClient(
        verify=_ssl_context(),
        transport=transport,
        timeout=timeout,
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
    )
    return _Client(endpoint, http, timeout)


class _Client(openai.AsyncOpenAI):
    """The SDK's client with nothing of the environment in its headers.

    ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID`` and ``OPENAI_CUSTOM_HEADERS`` would reach any address.
    """

    def __init__(
        self, endpoint: Endpoint, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        super().__init__(
            base_url=endpoint.base_url,
            api_key=endpoint.key or _NO_KEY,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
        self.http = http
        self._chat_url = self._prepare_url("/chat/completions")
        self._chat_headers = httpx2.Headers(
            {name: value for name, value in self.default_headers.items() if isinstance(value, str)}
        )

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        """The headers of a request, by name."""
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "toolloop",
            "Authorization": f"Bearer {self.api_key}",
        }

    def chat_request(self, content: bytes) -> httpx2.Request:
        """A request for a chat completion with this JSON."""
        return self.http.build_request(
            "POST", self._chat_url, headers=self._chat_headers, content=content
        )

    def status_error(self, response: httpx2.Response) -> openai.APIStatusError:
        """The SDK's error for an answer with an error status; its body has been read."""
        return self._make_status_error_from_response(response)
