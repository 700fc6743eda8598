"""What happened in a run, as frozen values.

Place in the house: ``agents.loop``; the one module of ``agents`` that ``traces`` may import. Events
tell, hooks decide: no event can change a run. Every event carries ``run`` and ``at_ns`` (wall
clock, nanoseconds since 1970). ``turn`` is 0 for the first answer, 1 to ``max_turn`` in the loop,
``"F"`` for the fallback; ``attempt`` is 1 to 3 in turn 0, else 1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agents.loop.event_base import Event as Event
from agents.loop.event_base import Turn as Turn
from agents.loop.history_events import Compacted as Compacted
from agents.loop.history_events import CompactionStarted as CompactionStarted
from agents.loop.history_events import HistoryRepaired as HistoryRepaired
from agents.loop.interfaces import ModelAnswer, ModelDelta
from agents.loop.messages import JsonObject, JsonValue, Message, ToolCall
from agents.loop.results import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run began. ``user`` is the user's primary key as text; ``limits`` are the run's limits,
    with ``context_window`` (tokens) where it is known."""

    conversation: str
    trace: str
    assistant: str
    assistant_name: str = ""
    parent_run: str | None = None
    user: str = ""
    message: str = ""
    limits: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(Event):
    """A process goes on with a run that another one began; its ``RunStarted`` follows.

    ``turn`` is the last one that was stored, ``takeover`` counts from 1, ``started_ns`` is when the
    run began.
    """

    turn: Turn
    takeover: int
    started_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBuilt(Event):
    """What the model is offered and what was left out, as the catalog's report (JSON ready).

    ``report`` = ``{"offered": [{"name", "server", "tool"}], "left_out": [{"server", "tool", "name",
    "reason", "detail"}], "servers": [{"server", "protocol", "tools", "error"}]}``.
    """

    report: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A turn began."""

    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(Event):
    """A turn ended. ``decision`` says what comes next and ``reason`` why.

    Decisions: ``answered``, ``continued``, ``stopped`` (``reason`` = the stop reason), ``failed``,
    ``delegated``, ``cancelled``.
    """

    turn: Turn
    decision: str
    reason: str = ""
    calls: int = 0
    failed_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestStarted(Event):
    """A request goes out. ``messages`` and ``tools`` are the wire dictionaries, never changed
    later.

    ``passed_over`` is that of the ``ModelTarget``. ``try_number``
    counts the tries for one answer from 1, over all models asked. ``tool_names`` are
    the flat names offered.
    """

    turn: Turn
    attempt: int
    try_number: int
    provider: str
    model: str
    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...]
    tool_names: tuple[str, ...]
    options: JsonObject
    passed_over: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDeltaReceived(Event):
    """A piece of the answer; for browsers, never stored."""

    turn: Turn
    attempt: int
    delta: ModelDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered(Event):
    """An answer is whole. ``message`` is what is stored; its calls carry their keys.

    ``is_final`` tells that this message is the run's answer (no calls will be executed after it).
    ``exchange`` is what went over the wire (``agents.loop.exchange``), ``price`` what a million
    tokens of the model cost then (``ModelTarget``; empty where nobody told). ``passed_over`` is
    that of the request.
    """

    turn: Turn
    attempt: int
    provider: str
    model: str
    message: Message
    answer: ModelAnswer
    is_final: bool
    exchange: JsonObject = field(default_factory=dict)
    price: JsonObject = field(default_factory=dict)
    passed_over: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed(Event):
    """One request failed. ``partial`` is text that was shown before; ``detail`` the provider's
    own.
    """

    turn: Turn
    attempt: int
    provider: str
    model: str
    error: str
    kind: str
    status: int | None = None
    detail: str = ""
    hint: str = ""
    partial: str = ""
    exchange: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCancelled(Event):
    """A request was broken off by a stop or a time limit. ``partial`` is what had been shown."""

    turn: Turn
    attempt: int
    partial: str
    exchange: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRetry(Event):
    """The same request is sent again after ``delay_ms``; ``model`` is the next one asked."""

    turn: Turn
    attempt: int
    error: str
    delay_ms: int
    provider: str
    model: str
    is_failover: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallWaiting(Event):
    """A call waits for a person's approval."""

    turn: Turn
    attempt: int
    call: ToolCall
    server: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDecided(Event):
    """A person (or the absence of one) decided on a waiting call."""

    turn: Turn
    attempt: int
    call: ToolCall
    is_allowed: bool
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted(Event):
    """Work on a call began. ``server`` and ``tool`` are empty for an unknown name.

    ``call_id`` is the provider's id, or the one made for the wire where that is empty or repeated.

    ``arguments`` are the parsed ones, or the raw text where they could not be read.
    """

    turn: Turn
    attempt: int
    call: ToolCall
    call_id: str
    server: str
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallProgressed(Event):
    """A server reported progress."""

    turn: Turn
    attempt: int
    call: ToolCall
    progress: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRepeated(Event):
    """A failed call of a concurrent batch runs once more, one after the other (read-only tools
    only).
    """

    turn: Turn
    attempt: int
    call: ToolCall
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished(Event):
    """A call has its result. ``message`` is the tool message that is stored."""

    turn: Turn
    attempt: int
    call_id: str
    result: ToolResult
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallsObserved(Event):
    """Calls that a sandbox provider ran by itself: recorded, neither executed nor repeated."""

    turn: Turn
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRetry(Event):
    """The model is asked to correct arguments. ``attempt`` is the coming one, ``calls`` wire
    ids.
    """

    attempt: int
    calls: tuple[str, ...]
    notice: str
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(Event):
    """A limit or guard acted. ``option`` is its name, ``detail`` one sentence."""

    turn: Turn
    option: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStarted(Event):
    """A hook was called. ``hook`` is create, next, before_tool_call or after_tool_call."""

    hook: str
    path: str
    call_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFinished(Event):
    """A hook returned (``returned`` names the keys) or raised (``error``, ``traceback``)."""

    hook: str
    path: str
    returned: tuple[str, ...] = ()
    error: str = ""
    traceback: str = ""
    call_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLogged(Event):
    """A hook wrote into the trace."""

    level: str
    text: str
    fields: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated(Event):
    """Another assistant takes over as a child run; its own ``RunStarted`` follows."""

    assistant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackStarted(Event):
    """The run could not end by itself. ``level`` 2 asks the fallback assistant, 3 is the fixed
    text.
    """

    level: int
    reason: str
    assistant: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReady(Event):
    """The run's answer, to be stored.

    ``source`` is ``model``, ``fallback``, ``fixed``, ``hook`` or ``results``. ``is_stored`` tells
    that the text stands already in the last assistant message with calls and is not stored again.
    ``finish_reason`` is the provider's: ``length`` and ``content_filter`` mark half an answer.
    """

    message: Message
    level: int
    source: str
    is_stored: bool = False
    finish_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The run ended, in exactly one status. ``level`` is ``None`` when it was cancelled.

    ``error`` is one line for people with what to do, ``detail`` the technical side for the trace.
    """

    status: str
    stop_reason: str
    level: int | None
    answer: str
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    error: str = ""
    detail: str = ""


Emit = Callable[[Event], Awaitable[None]]
