"""What the loop needs from the outside, as protocols, and the values that cross that border.

Place in the house: ``agents.loop``. ``agents.providers`` implements ``Model``,
``agents.mcp_client`` implements ``ToolCaller``, ``agents.runs`` implements ``Approver`` and
``Delegate``.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.loop.exchange import Exchange
from agents.loop.messages import JsonObject, JsonValue, ToolCall
from agents.loop.results import ToolReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model request as the provider gave them.

    ``cached_tokens`` are part of ``input_tokens``, ``reasoning_tokens`` part of ``output_tokens``:
    never add them again. ``is_estimated`` tells that the provider gave none and we counted text.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request body: everything is ready for the wire, dictionaries in chat-completions shape.

    ``tools`` is empty when none are offered (then no ``tools`` key is sent). ``options`` are
    further fields of the body (``temperature``, ``max_tokens`` ...). The provider writes down in
    ``exchange`` what it sends and gets.
    """

    model: str
    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    options: JsonObject = field(default_factory=dict)
    exchange: Exchange = field(default_factory=Exchange, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta:
    """A piece of an answer while it is streamed. ``call_*`` tell which tool call grows."""

    text: str = ""
    reasoning: str = ""
    call_index: int | None = None
    call_name: str = ""
    call_arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One whole answer of a model.

    ``tool_calls`` decide whether the loop goes on, never ``finish_reason``. ``extra`` holds
    ``reasoning_content`` and other message fields to be replayed to the same provider. ``model`` is
    what the provider said answered. Times are nanoseconds of the wall clock.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    usage: Usage | None = None
    extra: JsonObject = field(default_factory=dict)
    model: str = ""
    response_id: str = ""
    first_chunk_ns: int = 0


OnDelta = Callable[[ModelDelta], Awaitable[None]]


class Model(Protocol):
    """A provider. One call is one request: no retries inside, the loop decides on them."""

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Send the request, stream the answer, return it whole. Raises ``ModelError``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """Limits that belong to a server or tool; ``None`` means the assistant's own. ``result_chars``,
    ``calls`` (in one run) and ``is_polling`` (the same call with the same result is no circle) are
    set for single tools alone."""

    idle_seconds: float | None = None
    hard_seconds: float | None = None
    parallel_calls: int | None = None
    result_chars: int | None = None
    calls: int | None = None
    is_polling: bool = False

    def narrowed(self, own: ToolLimits) -> ToolLimits:
        """These limits with those of one tool in their place where it has some."""
        return ToolLimits(
            idle_seconds=own.idle_seconds or self.idle_seconds,
            hard_seconds=own.hard_seconds or self.hard_seconds,
            parallel_calls=self.parallel_calls,
            result_chars=own.result_chars,
            calls=own.calls,
            is_polling=own.is_polling,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An example of a tool's use for the prompt."""

    name: str
    description: str = ""
    input: JsonValue = None
    output: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool as a server listed it.

    ``input_schema`` is the stored schema, unchanged. ``invalid_reason`` is set where the listing
    was so broken that no schema could be read. ``is_repeatable`` means the tool says that it is
    read-only or idempotent.
    """

    server: str
    name: str
    description: str = ""
    input_schema: JsonValue = None
    title: str = ""
    output_schema: JsonValue = None
    annotations: JsonObject = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    needs_review: bool = False
    invalid_reason: str = ""

    @property
    def is_repeatable(self) -> bool:
        """Whether running it twice does no harm, by its own word."""
        hints = self.annotations
        return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """All pages of one server's tools, in the server's order.

    ``protocol`` is the negotiated MCP version (``python`` for Python modules).
    """

    server: str
    tools: tuple[ToolSpec, ...]
    protocol: str = ""
    limits: ToolLimits = field(default_factory=ToolLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Seconds one call may take: without a sign of life, and in all. Progress extends the first."""

    idle_seconds: float
    hard_seconds: float


OnProgress = Callable[[float, float | None, str], Awaitable[None]]
"""Called with progress, total (``None`` if unknown) and a message."""


class ToolCaller(Protocol):
    """The servers of this process."""

    async def list_tools(self, server: str) -> ServerListing:
        """Every tool of a server. Raises ``ServerUnavailable``; always within its connect limit."""
        ...

    def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, ToolReply]:
        """Send one call, once. Never raises but ``CancelledError``, which reaches the server
        too.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's decision on one call; ``reason`` is given to the model when it is refused."""

    is_allowed: bool
    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What a person is asked: may this call run?"""

    run: str
    call: ToolCall
    server: str
    tool: str
    arguments: JsonObject


class Approver(Protocol):
    """Somebody who can ask a person."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Wait for the decision. Its own limit is the approver's; waiting costs the run nothing."""
        ...


class Pausable(Protocol):
    """A time limit that can stand still."""

    def pause(self) -> None:
        """Stop counting."""
        ...

    def resume(self) -> None:
        """Count on with what was left."""
        ...


class Clock(Protocol):
    """Time and chance, passed in so that tests need no patience."""

    def now_ns(self) -> int:
        """Wall time in nanoseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back; the event loop's own."""
        ...

    def random(self) -> float:
        """A number from 0 up to 1."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real clock."""

    def now_ns(self) -> int:
        """Wall time in nanoseconds since 1970."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Seconds of the clock that asyncio's timeouts use."""
        return time.monotonic()

    def random(self) -> float:
        """A number from 0 up to 1; for back-off only."""
        return random.random()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
