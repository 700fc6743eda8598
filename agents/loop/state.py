"""What a run holds while it is going on.

Place in the house: ``agents.loop``. One ``RunState`` per run, used by one task and the calls it
starts; nothing here decides, the other modules do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from agents.loop.approval import ApprovalPolicy
from agents.loop.catalog import ToolCatalog
from agents.loop.events import Emit, Event, HookFinished, HookStarted, NoteLogged
from agents.loop.interfaces import Clock, Pausable, ToolCaller, Usage
from agents.loop.limits import Guards, RunLimits
from agents.loop.messages import JsonObject, JsonValue, Message
from agents.loop.request import AssistantConfig, ModelTarget, Outside, RunRequest
from agents.loop.results import ToolResult
from agents.loop.wire import Wire

EventType = TypeVar("EventType", bound=Event)


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run on its way. ``messages`` is the conversation with this run's turns, never the
    prompts. ``is_silent`` is set where what the model says is not for people.
    """

    request: RunRequest
    outside: Outside
    clock: Clock
    sink: Emit
    guards: Guards
    timer: RunTimer
    messages: list[Message] = field(default_factory=list)
    prompts: list[Message] = field(default_factory=list)
    options: JsonObject = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    targets: tuple[ModelTarget, ...] = ()
    target: ModelTarget | None = None
    wire: Wire | None = None
    tools: ToolCaller | None = None
    catalog: ToolCatalog = field(default_factory=ToolCatalog)
    policy: ApprovalPolicy = field(default_factory=ApprovalPolicy)
    results: list[ToolResult] = field(default_factory=list)
    turns: int = 0
    call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_tokens: int = 0
    call_ids: dict[str, str] = field(default_factory=dict)
    hook_calls: int = 0
    system_prompts: list[str] = field(default_factory=list)
    open_turn: int | None = None
    partial_text: str = ""
    failure_detail: str = ""
    has_compacted_on_overflow: bool = False
    compaction_failed: bool = False
    has_noted: bool = False
    is_silent: bool = False

    @property
    def assistant(self) -> AssistantConfig:
        """The assistant that this run is for."""
        return self.request.assistant

    @property
    def limits(self) -> RunLimits:
        """The run's limits."""
        return self.request.assistant.limits

    async def emit(self, event_type: type[EventType], /, **fields: Any) -> None:
        """Tell all sinks what happened, now."""
        await self.sink(event_type(run=self.request.run, at_ns=self.clock.now_ns(), **fields))

    def use_target(self, target: ModelTarget) -> None:
        """Ask this model from now on."""
        self.target = target
        self.wire = Wire(target.rules)

    def add_usage(self, usage: Usage | None, *, sent_chars: int, got_chars: int) -> None:
        """Count tokens as given; where a provider gives none, estimate for the guard alone."""
        if usage is None:
            self.estimated_tokens += (sent_chars + got_chars) // 4
            return
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens

    def stop_reason(self, *, is_last_turn: bool = False) -> str | None:
        """Why the loop must end after this turn, or ``None``."""
        return self.guards.stop_reason(
            is_out_of_time=self.timer.is_out,
            tokens=self.input_tokens + self.output_tokens + self.estimated_tokens,
            is_last_turn=is_last_turn,
        )

    async def note_hook_started(self, name: str, path: str) -> None:
        """Record that a hook was called."""
        await self.emit(HookStarted, hook=name, path=path)

    async def note_hook_finished(
        self,
        name: str,
        path: str,
        *,
        returned: JsonValue = None,
        error: str = "",
        trace: str = "",
    ) -> None:
        """Record what a hook returned or raised."""
        keys: Sequence[str] = [str(key) for key in returned] if isinstance(returned, dict) else []
        await self.emit(
            HookFinished,
            hook=name,
            path=path,
            returned=tuple(keys),
            error=error,
            traceback=trace,
        )

    async def note(self, text: str, /, level: str = "info", **fields: JsonValue) -> None:
        """Write a line into the trace."""
        await self.emit(NoteLogged, level=level, text=text, fields=fields)


class RunTimer:
    """The run's time limit; stands still while nothing but a person's decision is awaited."""

    def __init__(self, seconds: float, above: Pausable | None = None) -> None:
        self._seconds = seconds
        self._above = above
        self._timeout: asyncio.Timeout | None = None
        self._left: float | None = None

    async def __aenter__(self) -> RunTimer:
        self._timeout = asyncio.timeout(self._seconds)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._timeout is not None
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def is_out(self) -> bool:
        """Whether the limit has been reached."""
        when = self._timeout.when() if self._timeout is not None else None
        return when is not None and asyncio.get_running_loop().time() >= when

    def pause(self) -> None:
        """Stop counting, here and in the run above."""
        if self._above is not None:
            self._above.pause()
        if self._timeout is None or self._left is not None or self._timeout.expired():
            return
        when = self._timeout.when()
        if when is not None:
            self._left = max(when - asyncio.get_running_loop().time(), 0.0)
            self._timeout.reschedule(None)

    def resume(self) -> None:
        """Count on with what was left, here and in the run above."""
        if self._above is not None:
            self._above.resume()
        if self._timeout is None or self._left is None:
            return
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        self._left = None
