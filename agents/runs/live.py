"""A run as it stands right now, kept in memory from its events.

Place in the house: ``agents.runs``, pure. The hub holds one ``LiveRun`` per run that is going on;
pages lay it over what is stored: text that is still being written, calls that have no result yet,
the turn rail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agents.loop.events import (
    AnswerReady,
    CatalogBuilt,
    Compacted,
    CompactionStarted,
    Event,
    FallbackStarted,
    ModelAnswered,
    ModelCancelled,
    ModelDeltaReceived,
    ModelFailed,
    ModelRequestStarted,
    ParameterRetry,
    ProviderRetry,
    RunFinished,
    RunStarted,
    ToolCallDecided,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    ToolCallWaiting,
    TurnFinished,
    TurnStarted,
)
from agents.loop.messages import JsonObject, JsonValue


@dataclass(slots=True, kw_only=True)
class LiveCall:
    """A tool call on its way. ``state`` is ``running``, ``awaiting_approval``, ``cancelling`` or an
    outcome; times are nanoseconds of the wall clock."""

    key: str
    turn: str
    attempt: int
    server: str
    tool: str
    name: str
    arguments: JsonValue
    state: str = "running"
    started_ns: int = 0
    ended_ns: int | None = None
    progress: float | None = None
    total: float | None = None
    message: str = ""


@dataclass(slots=True, kw_only=True)
class LiveBar:
    """One piece of time on the turn rail.

    ``kind`` is a letter: P policy, M model, C tool call, F the fallback's model, W back-off. A call
    that waits for a person has a bar for that, ``is_waiting``, and another one for its execution.
    """

    kind: str
    label: str
    turn: str
    started_ns: int
    ended_ns: int | None = None
    is_bad: bool = False
    is_waiting: bool = False
    key: str = ""


@dataclass(slots=True, kw_only=True)
class LiveRun:
    """One run, up to its last event. ``parts`` is the text of the answer that is being written."""

    run: str
    conversation: str = ""
    trace: str = ""
    parent_run: str | None = None
    limits: JsonObject = field(default_factory=dict)
    started_ns: int = 0
    ended_ns: int | None = None
    turn: str = "0"
    attempt: int = 1
    parts: list[str] = field(default_factory=list)
    is_thinking: bool = False
    is_compacting: bool = False
    calls: dict[str, LiveCall] = field(default_factory=dict)
    bars: list[LiveBar] = field(default_factory=list)
    turns: list[tuple[str, str, str]] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    notice: str = ""
    offered: int = 0
    left_out: int = 0
    finished: RunFinished | None = None

    @property
    def text(self) -> str:
        """What was written of the present answer so far."""
        return "".join(self.parts)

    @property
    def waiting(self) -> list[LiveCall]:
        """Calls that wait for a person."""
        return [call for call in self.calls.values() if call.state == "awaiting_approval"]

    @property
    def running(self) -> list[LiveCall]:
        """Calls that a server works on."""
        return [call for call in self.calls.values() if call.state in ("running", "cancelling")]

    def snapshot(self) -> LiveRun:
        """A copy that does not change any more, for rendering in another thread."""
        return replace(
            self,
            parts=list(self.parts),
            calls={key: replace(call) for key, call in list(self.calls.items())},
            bars=[replace(bar) for bar in self.bars],
            turns=list(self.turns),
        )

    def apply(self, event: Event) -> None:
        """Take note of an event of this run."""
        match event:
            case RunStarted():
                self.conversation, self.trace = event.conversation, event.trace
                self.parent_run, self.limits = event.parent_run, event.limits
                self.started_ns = event.at_ns
            case TurnStarted():
                self.turn, self.attempt = str(event.turn), 1
            case TurnFinished():
                self.turns.append((str(event.turn), event.decision, event.reason))
            case CatalogBuilt():
                self._note_catalog(event)
            case FallbackStarted():
                self.notice = event.reason
            case CompactionStarted() | Compacted():
                self.is_compacting = isinstance(event, CompactionStarted)
            case ParameterRetry():
                self.attempt = event.attempt
            case RunFinished():
                self.finished, self.ended_ns = event, event.at_ns
                self.parts.clear()
                self._close_bars(event.at_ns)
            case _:
                self._apply_model(event)
                self._apply_call(event)

    def _apply_model(self, event: Event) -> None:
        match event:
            case ModelDeltaReceived():
                self.is_thinking = bool(event.delta.reasoning) and not event.delta.text
                if event.delta.text:
                    self.parts.append(event.delta.text)
            case ModelRequestStarted():
                self.parts.clear()
                self._close_bars(event.at_ns)
                kind = "F" if event.turn == "F" else "M"
                self._open_bar(kind, event.model, str(event.turn), event.at_ns)
            case ModelAnswered():
                self._close_bars(event.at_ns)
                usage = event.answer.usage
                if usage is not None:
                    self.input_tokens += usage.input_tokens
                    self.output_tokens += usage.output_tokens
                if event.message.tool_calls:
                    self.parts.clear()
            case ModelFailed() | ModelCancelled():
                self._close_bars(event.at_ns, is_bad=isinstance(event, ModelFailed))
            case ProviderRetry():
                self.parts.clear()
                self.notice = event.error
                self._open_bar("W", event.error, self.turn, event.at_ns)
            case AnswerReady():
                self.parts[:] = [str(event.message.content or "")]

    def _apply_call(self, event: Event) -> None:
        match event:
            case ToolCallStarted():
                self.calls[event.call.key] = LiveCall(
                    key=event.call.key,
                    turn=str(event.turn),
                    attempt=event.attempt,
                    server=event.server,
                    tool=event.tool,
                    name=event.call.name,
                    arguments=event.arguments,
                    started_ns=event.at_ns,
                )
                label = f"{event.server} / {event.tool}" if event.tool else event.call.name
                self._open_bar("C", label, str(event.turn), event.at_ns, event.call.key)
            case ToolCallWaiting():
                self.calls[event.call.key].state = "awaiting_approval"
                for bar in self._open_bars(event.call.key):
                    bar.is_waiting = True
            case ToolCallDecided(is_allowed=True):
                call = self.calls[event.call.key]
                call.state = "running"
                for bar in self._open_bars(call.key):
                    bar.ended_ns = event.at_ns
                    self._open_bar("C", bar.label, bar.turn, event.at_ns, call.key)
            case ToolCallProgressed():
                call = self.calls[event.call.key]
                call.progress, call.total = event.progress, event.total
                call.message = event.message
            case ToolCallFinished():
                call = self.calls[event.result.call.key]
                call.state, call.ended_ns = event.result.outcome.value, event.at_ns
                for bar in self._open_bars(call.key):
                    bar.ended_ns, bar.is_bad = event.at_ns, event.result.is_failure

    def _note_catalog(self, event: CatalogBuilt) -> None:
        offered, left_out = event.report.get("offered"), event.report.get("left_out")
        self.offered = len(offered) if isinstance(offered, list) else 0
        self.left_out = len(left_out) if isinstance(left_out, list) else 0
        label = f"{self.offered} tools offered, {self.left_out} left out"
        self._open_bar("P", label, self.turn, self.started_ns)
        self.bars[-1].ended_ns = event.at_ns

    def _open_bars(self, key: str) -> list[LiveBar]:
        return [bar for bar in self.bars if bar.key == key and bar.ended_ns is None]

    def _open_bar(self, kind: str, label: str, turn: str, at_ns: int, key: str = "") -> None:
        self.bars.append(LiveBar(kind=kind, label=label, turn=turn, started_ns=at_ns, key=key))

    def _close_bars(self, at_ns: int, *, is_bad: bool = False) -> None:
        for bar in self.bars:
            if bar.ended_ns is None and not bar.key:
                bar.ended_ns, bar.is_bad = at_ns, is_bad
