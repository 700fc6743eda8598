"""Runs told as events and recorded as they would be stored, for the inspector's tests."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from typing import Any

from agents.loop import events
from agents.loop.interfaces import ModelAnswer, Usage
from agents.loop.limits import RunLimits
from agents.loop.messages import JsonObject, Message, Role, ToolCall
from agents.loop.results import Outcome
from tests.traces.events import MS, START_NS, Teller
from traces.inspection import build
from traces.inspection.detail_models import DetailView
from traces.inspection.panel_models import PanelsView
from traces.inspection.reading import Reading, read_trace
from traces.inspection.view_models import PageView, RowView, SentenceView
from traces.records import Payload, RunLost, SpanRecord, TraceRecord
from traces.span_builder import SpanBuilder

PROMPT: JsonObject = {"role": "system", "content": "You help."}
USAGE = Usage(input_tokens=100, output_tokens=10)
QUESTION: JsonObject = {"role": "user", "content": "What is the weather?"}


class Recorded:
    """What is stored of runs; ``teller`` tells their events. Payloads are hashes as in rows."""

    def __init__(self) -> None:
        ids = itertools.count(1)
        self._builder = SpanBuilder(lambda: f"s{next(ids)}")
        self.spans: dict[str, SpanRecord] = {}
        self.payloads: dict[str, object] = {}
        self.trace: TraceRecord | None = None

    def teller(self, run: str = "r1") -> RunTeller:
        """Somebody who tells the events of a run."""
        return RunTeller(self.take, run=run)

    def take(self, event: events.Event) -> None:
        """Record an event."""
        for change in self._builder.handle(event):
            match change:
                case SpanRecord():
                    self.spans[change.id] = self._stored(change)
                case TraceRecord():
                    self.trace = change
                case RunLost():
                    self._lose(change)

    def forget_process(self) -> None:
        """The process dies: what is open stays open until its runs are told to be lost."""
        self._builder = SpanBuilder(lambda: "never")

    def _lose(self, lost: RunLost) -> None:
        for span in self.spans.values():
            if span.run == lost.run and span.end_ns is None:
                span.status, span.end_ns = "lost", lost.at_ns
        assert self.trace is not None
        if self.trace.run == lost.run:
            self.trace = replace(
                self.trace, status=lost.status, stop_reason=lost.stop_reason, level=lost.level,
                end_ns=lost.at_ns,
            )  # fmt: skip

    def _stored(self, span: SpanRecord) -> SpanRecord:
        stored = span.copy()
        for name, value in span.attributes.items():
            if isinstance(value, Payload):
                stored.attributes[name] = self._hash(value.value)
            elif isinstance(value, tuple):
                stored.attributes[name] = [self._hash(item.value) for item in value]
        return stored

    def _hash(self, value: object) -> str:
        content = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        digest = hashlib.sha256(content.encode()).hexdigest()
        self.payloads[digest] = json.loads(content)
        return digest

    @property
    def rows(self) -> list[SpanRecord]:
        """All spans."""
        return list(self.spans.values())

    def now_ns(self) -> int:
        """A moment behind everything that was recorded."""
        return max((span.end_ns or span.start_ns) for span in self.rows) + MS

    def reading(self) -> Reading:
        """The trace laid out."""
        assert self.trace is not None
        return read_trace(self.trace, self.rows, self.payloads, now_ns=self.now_ns())

    def page(self, **options: Any) -> PageView:
        """The page, with nothing but the payloads that it says it needs."""
        assert self.trace is not None
        needed = set(build.page_hashes(self.rows))
        payloads = {key: value for key, value in self.payloads.items() if key in needed}
        return build.build_page(
            self.trace, self.rows, payloads, **{"now_ns": self.now_ns(), **options}
        )

    def details(self, name: str, **where: str) -> DetailView:
        """The details of the span of this name, with nothing but the payloads they need."""
        assert self.trace is not None
        span = self.span(name, **where)
        needed = set(build.detail_hashes(self.rows, span.id))
        payloads = {key: value for key, value in self.payloads.items() if key in needed}
        found = build.build_details(
            self.trace, self.rows, payloads, span_id=span.id, now_ns=self.now_ns()
        )
        assert found is not None
        return found

    def panels(self, **options: Any) -> PanelsView:
        """The panels, with nothing but the payloads that they need."""
        assert self.trace is not None
        needed = set(build.panel_hashes(self.rows))
        payloads = {key: value for key, value in self.payloads.items() if key in needed}
        return build.build_panels(
            self.trace, self.rows, payloads, **{"now_ns": self.now_ns(), **options}
        )

    def span(self, name: str, **where: str) -> SpanRecord:
        """The one span of this name, narrowed by fields (``turn="1"``)."""
        found = [
            span
            for span in self.rows
            if span.name == name and all(getattr(span, key) == v for key, v in where.items())
        ]
        assert len(found) == 1, [(span.name, span.turn) for span in self.rows]
        return found[0]

    def headline(self) -> str:
        """The verdict."""
        return self.page().verdict.headline

    def sentences(self) -> list[str]:
        """The sentences of the tree in order."""
        return [s.text for s in self.sentence_views()]

    def sentence_views(self) -> list[SentenceView]:
        """The sentences of the tree with their marks."""
        return [line.sentence for line in self.page().tree.lines if line.sentence is not None]

    def row_views(self) -> list[RowView]:
        """The rows of the tree."""
        return [line.row for line in self.page().tree.lines if line.row is not None]


class RunTeller(Teller):
    """Tells the events of a run as the engine would, step by step."""

    def wait(self, milliseconds: float) -> None:
        """Let time pass."""
        self.told += round(milliseconds)

    def begin(self, **limits: Any) -> None:
        """The run begins with these limits; its catalog is empty."""
        self.start(limits=RunLimits(**limits).as_json())
        self.tell(events.CatalogBuilt, report={"offered": [], "left_out": [], "servers": []})

    def turn(self, turn: events.Turn) -> None:
        """A turn begins."""
        self.tell(events.TurnStarted, turn=turn)

    def say(
        self,
        text: str = "",
        *calls: ToolCall,
        turn: events.Turn = 0,
        attempt: int = 1,
        messages: tuple[JsonObject, ...] = (PROMPT, QUESTION),
        usage: Usage | None = USAGE,
        finish: str = "stop",
        took: float = 10,
        **request: Any,
    ) -> None:
        """A request and its answer."""
        self.ask(*messages, turn=turn, attempt=attempt, **request)
        begun = self.told
        self.wait(took)
        message = Message(role=Role.ASSISTANT, content=text, tool_calls=calls)
        answer = ModelAnswer(
            text=text, tool_calls=calls, finish_reason=finish, model="m1", usage=usage,
            first_chunk_ns=START_NS + begun * MS + round(took * MS / 2),
        )  # fmt: skip
        self.tell(
            events.ModelAnswered, turn=turn, attempt=attempt, provider="main", model="m1",
            message=message, answer=answer, is_final=not calls,
        )  # fmt: skip

    def fail_request(
        self,
        error: str,
        *,
        turn: events.Turn = 0,
        attempt: int = 1,
        kind: str = "ModelOverloaded",
        status: int | None = None,
        hint: str = "",
        took: float = 5,
        try_number: int = 1,
    ) -> None:
        """A request that fails."""
        self.ask(PROMPT, QUESTION, turn=turn, attempt=attempt, try_number=try_number)
        self.wait(took)
        self.tell(
            events.ModelFailed, turn=turn, attempt=attempt, provider="main", model="m1",
            error=error, kind=kind, status=status, hint=hint,
        )  # fmt: skip

    def run_call(
        self,
        key: str,
        outcome: Outcome = Outcome.OK,
        *,
        turn: events.Turn = 0,
        attempt: int = 1,
        arguments: object = None,
        took: float = 10,
        tool: str = "get",
        **result: Any,
    ) -> ToolCall:
        """One call from its start to its result; the call."""
        call = weather_call(key, tool)
        given = {"city": "Lima"} if arguments is None else arguments
        where = {"server": "weather", "tool": tool}
        self.start_call(call, turn=turn, attempt=attempt, arguments=given, **where)
        self.wait(took)
        fields = {"text": "sunny", "duration_ms": took, **where, **result}
        self.finish_call(call, outcome, turn=turn, attempt=attempt, **fields)
        return call

    def close(
        self, turn: events.Turn, decision: str, reason: str = "", calls: int = 0, failed: int = 0
    ) -> None:
        """A turn ends."""
        self.tell(
            events.TurnFinished, turn=turn, decision=decision, reason=reason, calls=calls,
            failed_calls=failed,
        )  # fmt: skip

    def give_up(self, reason: str, *, option: str = "", turn: events.Turn = 1) -> None:
        """The loop gives up in a turn that is open."""
        if option:
            self.tell(events.LimitReached, turn=turn, option=option, detail="")
        self.close(turn, "stopped", reason)

    def fall_back(self, reason: str, text: str = "What was found.") -> None:
        """The fallback answers and the run ends."""
        self.tell(
            events.FallbackStarted, level=2, reason=reason, assistant="toolloop.loop_fallback"
        )
        self.turn("F")
        self.say(text, turn="F")
        self.close("F", "answered", reason)
        self.deliver(text, level=2, source="fallback")
        self.finish("completed", stop_reason=reason, level=2)

    def fail_fallback(self, reason: str, error: str = "the provider is down") -> None:
        """The fallback fails too, and the fixed text ends the run."""
        self.tell(
            events.FallbackStarted, level=2, reason=reason, assistant="toolloop.loop_fallback"
        )
        self.turn("F")
        self.fail_request(error, turn="F")
        self.end_fixed(reason, error)

    def end_fixed(self, reason: str, error: str = "", hint: str = "") -> None:
        """The fixed text ends the run."""
        self.tell(events.FallbackStarted, level=3, reason=reason, error=error)
        self.deliver("I could not finish.", level=3, source="fixed")
        said = " ".join(part for part in (error, hint) if part)
        self.finish("failed", stop_reason=reason, level=3, error=said)

    def deliver(self, text: str, *, level: int = 1, source: str = "model") -> None:
        """The answer is there."""
        message = Message(role=Role.ASSISTANT, content=text)
        self.tell(events.AnswerReady, message=message, level=level, source=source)

    def answer_in(self, turn: int, text: str = "Sunny.", **say: Any) -> None:
        """A turn without calls: the model's text ends the run."""
        self.turn(turn)
        self.say(text, turn=turn, **say)
        self.close(turn, "answered")
        self.deliver(text)
        self.finish()

    def loop_turn(
        self, turn: int, outcome: Outcome = Outcome.OK, *, decision: str = "continued", **call: Any
    ) -> ToolCall:
        """A turn with one call."""
        self.turn(turn)
        key = f"{self.run}:{turn}:1:0"
        self.say("", weather_call(key, call.get("tool", "get")), turn=turn)
        done = self.run_call(key, outcome, turn=turn, **call)
        if decision:
            self.close(turn, decision, calls=1, failed=int(outcome is not Outcome.OK))
        return done


def weather_call(key: str, tool: str = "get") -> ToolCall:
    """A call of the weather server as a model would send it."""
    name = f"weather__{tool}"
    return ToolCall(id=f"call_{key}", name=name, arguments='{"city": "Lima"}', key=key)
