"""From events to spans: which span opens, which one closes, what it is called.

Place in the house: ``traces``. Pure but for the ids, whose source is passed in. The tree:

    agent (root run)
    ├── policy, hook (create)
    ├── turn 0
    │   ├── model, tool_call (hooks below it), hook (next)
    │   ├── retry (attempt 2)
    │   │   └── model, tool_call
    │   └── compaction
    │       └── model
    ├── turn 1 ...
    ├── turn F, fallback
    └── agent (child run) ...

What the spans hold is told in ``span_attributes``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from agents.loop import events
from traces import span_attributes as attributes_of
from traces.records import Change, RunTakenOver, SpanRecord, TraceRecord
from traces.tallies import Tally
from traces.trace_states import ended_trace, lost_run, started_trace

MAX_SPANS = 1_000_000
"""Spans of a run before it is taken over, at most: those of the next process come behind them."""

MAX_RUNS = 2000
"""Runs kept in memory. One that never finishes is forgotten when this many newer ones have begun.
"""

SPAN_STATUS_OF_RUN = {
    "completed": "ok",
    "failed": "error",
    "cancelled": "cancelled",
    "interrupted": "lost",
}


class RunSpans:
    """The spans of one run that are open, and what is needed to place the next ones."""

    def __init__(
        self,
        agent: SpanRecord,
        trace: TraceRecord | None,
        positions: list[int],
        tally: Tally,
    ) -> None:
        self.agent = agent
        self.trace = trace
        self.positions = positions
        self.tally = tally
        self.turn: SpanRecord | None = None
        self.retry: SpanRecord | None = None
        self.model: SpanRecord | None = None
        self.last_model: SpanRecord | None = None
        self.fallback: SpanRecord | None = None
        self.compaction: SpanRecord | None = None
        self.calls: dict[str, SpanRecord] = {}
        self.hooks: dict[tuple[str, str], list[SpanRecord]] = {}
        self.waiting_since: dict[str, int] = {}
        self.history_notes: list[str] = []
        self.prepared_since = agent.start_ns
        self.is_resumed = "toolloop.takeover" in agent.attributes

    def stage(self, turn: events.Turn, attempt: int = 1) -> SpanRecord:
        """The span under which work of a turn and attempt belongs."""
        if self.compaction is not None:
            return self.compaction
        if attempt > 1 and self.retry is not None:
            return self.retry
        if self.turn is not None and self.turn.turn == str(turn):
            return self.turn
        if str(turn) == "F" and self.fallback is not None:
            return self.fallback
        return self.agent

    def innermost(self) -> SpanRecord:
        """The span that runs now, for what has no place of its own."""
        hooks = next(reversed(self.hooks.values()), None)
        return (hooks and hooks[-1]) or self.turn or self.agent

    def open_spans(self) -> list[SpanRecord]:
        """Every open span but the agent's, the innermost first."""
        outer = (self.model, self.compaction, self.fallback, self.retry, self.turn)
        hooks = [span for spans in self.hooks.values() for span in spans]
        spans = [*hooks, *self.calls.values(), *(span for span in outer if span)]
        return [span for span in spans if span.end_ns is None]


class SpanBuilder:
    """Turns the events of all runs of a process into spans."""

    def __init__(self, new_span_id: Callable[[], str]) -> None:
        self._new_span_id = new_span_id
        self._runs: OrderedDict[str, RunSpans] = OrderedDict()
        self._resumed: dict[str, events.RunResumed] = {}

    def has_runs(self) -> bool:
        """Whether any run is going on."""
        return bool(self._runs)

    def handle(self, event: events.Event) -> list[Change]:
        """What changes by an event: the newest state of each span and trace that it touches."""
        if isinstance(event, events.RunStarted):
            return self._start_run(event)
        if isinstance(event, events.RunResumed):
            self._resumed[event.run] = event
            return [RunTakenOver(run=event.run, at_ns=event.at_ns)]
        run = self._runs.get(event.run)
        if run is None:
            return [lost_run(event)] if isinstance(event, events.RunFinished) else []
        changes = self._handle_in_run(run, event)
        run.tally.note_ended(changes)
        return changes

    def _handle_in_run(self, run: RunSpans, event: events.Event) -> list[Change]:
        match event:
            case events.RunFinished():
                return self._finish_run(run, event)
            case events.TurnStarted() | events.TurnFinished():
                return self._handle_turn(run, event)
            case (
                events.ModelRequestStarted()
                | events.ModelAnswered()
                | events.ModelFailed()
                | events.ModelCancelled()
                | events.ProviderRetry()
            ):
                return self._handle_model(run, event)
            case events.HookStarted() | events.HookFinished():
                return self._handle_hook(run, event)
            case events.ToolCallsObserved():
                return self._observe_calls(run, event)
            case events.ToolCallFinished():
                return self._finish_call(run, event)
        if hasattr(event, "call"):
            return self._handle_call(run, event)
        return self._handle_rest(run, event)

    def _handle_rest(self, run: RunSpans, event: events.Event) -> list[Change]:
        match event:
            case events.ParameterRetry():
                return self._start_retry(run, event)
            case events.CatalogBuilt():
                span = self._open(run, event, parent=run.agent, kind="policy", name="catalog")
                # The event tells that the servers have answered; asking them began before.
                span.start_ns = min(run.prepared_since, event.at_ns)
                return [_close(span, event.at_ns, "ok", attributes_of.catalog(event))]
            case events.FallbackStarted():
                return self._start_fallback(run, event)
            case events.AnswerReady():
                return self._finish_fallback(run, event)
            case events.HistoryRepaired():
                run.history_notes += event.notes
            case events.CompactionStarted() | events.Compacted():
                return self._handle_compaction(run, event)
            case events.LimitReached():
                stage = run.stage(event.turn)
                attributes_of.append(stage, "toolloop.limits_reached", attributes_of.limit(event))
                return [stage.copy()]
            case events.NoteLogged():
                attributes_of.append(run.innermost(), "toolloop.notes", attributes_of.note(event))
            case events.Delegated():
                attributes_of.append(run.agent, "toolloop.delegated_to", event.assistant)
                return [run.agent.copy()]
        return []

    def _handle_compaction(
        self, run: RunSpans, event: events.CompactionStarted | events.Compacted
    ) -> list[Change]:
        if isinstance(event, events.CompactionStarted):
            parent = run.stage(event.turn)
            span = self._open(run, event, parent=parent, kind="compaction", name="compaction")
            span.attributes = attributes_of.compaction_start(event)
            run.compaction = span
            return [span.copy()]
        opened, run.compaction = run.compaction, None
        if opened is None:
            return []
        status = "error" if event.error else "ok"
        return [_close(opened, event.at_ns, status, attributes_of.compaction_end(event))]

    def _open(
        self, run: RunSpans, event: events.Event, *, parent: SpanRecord, kind: str, name: str
    ) -> SpanRecord:
        turn = getattr(event, "turn", None)
        run.positions[0] += 1
        return SpanRecord(
            id=self._new_span_id(), trace=run.agent.trace, parent=parent.id, run=event.run,
            position=run.positions[0], kind=kind, name=name[:300],
            turn=parent.turn if turn is None else str(turn), start_ns=event.at_ns,
        )  # fmt: skip

    def _start_run(self, event: events.RunStarted) -> list[Change]:
        parent = self._runs.get(event.parent_run or "")
        resumed = self._resumed.pop(event.run, None)
        # What another process told of this run comes first.
        positions = parent.positions if parent else [MAX_SPANS * resumed.takeover if resumed else 0]
        positions[0] += 1
        agent = SpanRecord(
            id=self._new_span_id(), trace=event.trace, parent=parent.agent.id if parent else "",
            run=event.run, position=positions[0], kind="agent",
            name=(event.assistant_name or event.assistant)[:300], start_ns=event.at_ns,
            attributes=attributes_of.run_start(event) | attributes_of.takeover(resumed),
        )  # fmt: skip
        trace = None if event.parent_run else started_trace(event, resumed)
        tally = parent.tally if parent else Tally()
        self._runs[event.run] = RunSpans(agent, trace, positions, tally)
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)
        return [trace, agent.copy()] if trace else [agent.copy()]

    def _finish_run(self, run: RunSpans, event: events.RunFinished) -> list[Change]:
        del self._runs[event.run]
        status = SPAN_STATUS_OF_RUN.get(event.status, "error")
        leftover = "lost" if status == "lost" else "cancelled"
        changes: list[Change] = [_close(span, event.at_ns, leftover) for span in run.open_spans()]
        attributes = attributes_of.run_end(event)
        if run.history_notes:
            attributes["toolloop.history.notes"] = run.history_notes
        changes.append(_close(run.agent, event.at_ns, status, attributes))
        if run.trace:
            run.tally.note_ended(changes)
            tally = None if run.is_resumed else run.tally
            changes.append(ended_trace(run.trace, event, tally))
        return changes

    def _handle_turn(
        self, run: RunSpans, event: events.TurnStarted | events.TurnFinished
    ) -> list[Change]:
        if isinstance(event, events.TurnStarted):
            left = self._close_turn(run, event.at_ns, "ok")
            name = "fallback turn" if event.turn == "F" else f"turn {event.turn}"
            run.turn = self._open(run, event, parent=run.agent, kind="turn", name=name)
            run.turn.attributes["toolloop.turn"] = event.turn
            return [*left, run.turn.copy()]
        if run.turn is None or run.turn.turn != str(event.turn):
            return []
        status = {"failed": "error", "cancelled": "cancelled"}.get(event.decision, "ok")
        run.turn.attributes.update(attributes_of.turn_end(event))
        return self._close_turn(run, event.at_ns, status)

    def _close_turn(self, run: RunSpans, at_ns: int, status: str) -> list[Change]:
        spans = [span for span in (run.retry, run.turn) if span is not None]
        run.retry = run.turn = None
        return [_close(span, at_ns, status) for span in spans]

    def _start_retry(self, run: RunSpans, event: events.ParameterRetry) -> list[Change]:
        changes: list[Change] = [_close(run.retry, event.at_ns, "ok")] if run.retry else []
        parent = run.turn or run.agent
        name = f"parameter retry, attempt {event.attempt}"
        run.retry = self._open(run, event, parent=parent, kind="retry", name=name)
        run.retry.attributes = attributes_of.retry(event)
        return [*changes, run.retry.copy()]

    def _handle_model(self, run: RunSpans, event: events.Event) -> list[Change]:
        if isinstance(event, events.ModelRequestStarted):
            parent = run.stage(event.turn, event.attempt)
            name = f"chat {event.model}"
            run.model = self._open(run, event, parent=parent, kind="model", name=name)
            run.model.attributes = attributes_of.request(event, run.history_notes)
            if run.compaction is not None:
                run.model.attributes["toolloop.purpose"] = "summary"
            run.history_notes = []
            return [run.model.copy()]
        if isinstance(event, events.ProviderRetry):
            if run.last_model is None:
                return []
            run.last_model.attributes.update(attributes_of.provider_retry(event))
            return [run.last_model.copy()]
        span, run.model = run.model, None
        if span is None:
            return []
        run.last_model = span
        match event:
            case events.ModelAnswered():
                attributes = attributes_of.answer(event, span.start_ns)
                return [_close(span, event.at_ns, "ok", attributes)]
            case events.ModelFailed():
                return [_close(span, event.at_ns, "error", attributes_of.model_failure(event))]
            case events.ModelCancelled():
                return [_close(span, event.at_ns, "cancelled", attributes_of.model_cancel(event))]
        return []

    def _handle_hook(
        self, run: RunSpans, event: events.HookStarted | events.HookFinished
    ) -> list[Change]:
        key = (event.hook, event.call_key)
        if isinstance(event, events.HookStarted):
            parent = run.calls.get(event.call_key) or run.turn or run.agent
            name = f"{event.hook} hook"
            span = self._open(run, event, parent=parent, kind="hook", name=name)
            span.attributes = attributes_of.hook_start(event)
            run.hooks.setdefault(key, []).append(span)
            return [span.copy()]
        open_hooks = run.hooks.get(key)
        if not open_hooks:
            return []
        started = open_hooks.pop(0)
        if not open_hooks:
            del run.hooks[key]
        run.prepared_since = event.at_ns
        status = "error" if event.error else "ok"
        return [_close(started, event.at_ns, status, attributes_of.hook_end(event))]

    def _handle_call(self, run: RunSpans, event: events.Event) -> list[Change]:
        call: events.ToolCall = event.call  # type: ignore[attr-defined]
        span = run.calls.get(call.key)
        match event:
            case events.ToolCallStarted() | events.ToolCallWaiting():
                if span is None:
                    span = self._open_call(run, event, call, event.server, event.tool)
                span.attributes.update(attributes_of.call_start(event))
                if isinstance(event, events.ToolCallWaiting):
                    run.waiting_since[call.key] = event.at_ns
                return [span.copy()]
            case events.ToolCallDecided() if span is not None:
                since = run.waiting_since.pop(call.key, event.at_ns)
                span.attributes.update(attributes_of.decision(event, since))
                return [span.copy()]
            case events.ToolCallProgressed() if span is not None:
                count = span.attributes.get("toolloop.progress", 0)
                span.attributes["toolloop.progress"] = count + 1  # type: ignore[operator]
            case events.ToolCallRepeated() if span is not None:
                span.attributes["toolloop.repeated_alone"] = event.error
        return []

    def _open_call(
        self, run: RunSpans, event: events.Event, call: events.ToolCall, server: str, tool: str
    ) -> SpanRecord:
        parent = run.stage(getattr(event, "turn", ""), getattr(event, "attempt", 1))
        name = f"{server}.{tool}" if server and tool else call.name or "(no name)"
        span = self._open(run, event, parent=parent, kind="tool_call", name=name)
        span.attributes = attributes_of.call(call, server, tool)
        run.calls[call.key] = span
        return span

    def _finish_call(self, run: RunSpans, event: events.ToolCallFinished) -> list[Change]:
        result = event.result
        span = run.calls.get(result.call.key)
        if span is None:
            span = self._open_call(run, event, result.call, result.server, result.tool)
        run.calls.pop(result.call.key, None)
        run.waiting_since.pop(result.call.key, None)
        status = "error" if result.is_failure else "ok"
        if result.outcome in ("cancelled", "interrupted"):
            status = "cancelled"
        span.attributes |= {"toolloop.attempt": event.attempt, **attributes_of.call_id(event)}
        return [_close(span, event.at_ns, status, attributes_of.result(result))]

    def _observe_calls(self, run: RunSpans, event: events.ToolCallsObserved) -> list[Change]:
        changes: list[Change] = []
        for call in event.calls:
            span = self._open_call(run, event, call, "", "")
            run.calls.pop(call.key, None)
            changes.append(_close(span, event.at_ns, "ok", attributes_of.observed(call)))
        return changes

    def _start_fallback(self, run: RunSpans, event: events.FallbackStarted) -> list[Change]:
        changes: list[Change] = []
        if run.fallback:
            changes.append(_close(run.fallback, event.at_ns, "error"))
        if run.turn and run.turn.turn == "F":
            changes += self._close_turn(run, event.at_ns, "error")
        name = f"fallback, level {event.level}"
        run.fallback = self._open(run, event, parent=run.agent, kind="fallback", name=name)
        run.fallback.turn = "F"
        run.fallback.attributes = attributes_of.fallback(event)
        return [*changes, run.fallback.copy()]

    def _finish_fallback(self, run: RunSpans, event: events.AnswerReady) -> list[Change]:
        if run.fallback is None:
            run.agent.attributes["toolloop.answer.source"] = event.source
            return []
        span, run.fallback = run.fallback, None
        return [_close(span, event.at_ns, "ok", {"toolloop.answer.source": event.source})]


def _close(
    span: SpanRecord, at_ns: int, status: str, attributes: dict[str, object] | None = None
) -> SpanRecord:
    """End a span and return its last state."""
    span.end_ns = max(at_ns, span.start_ns)
    span.status = status
    span.attributes.update(attributes or {})
    return span.copy()
