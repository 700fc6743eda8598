"""Events become a tree of spans; each one closes, whatever way the run goes."""

from __future__ import annotations

import itertools

from agents.loop import events
from agents.loop.messages import Message, Role, ToolCall
from agents.loop.results import Outcome
from tests.traces.events import MS, START_NS, Teller, tool_call
from traces.attributes import ATTRIBUTES, PAYLOADS
from traces.records import Change, Payload, RunLost, SpanRecord, TraceRecord
from traces.span_builder import SpanBuilder


class Story:
    """A builder, the tellers of its runs, and the newest state of every span and trace."""

    def __init__(self) -> None:
        ids = itertools.count(1)
        self.builder = SpanBuilder(lambda: f"s{next(ids)}")
        self.spans: dict[str, SpanRecord] = {}
        self.traces: dict[str, TraceRecord] = {}
        self.lost: list[RunLost] = []

    def teller(self, run: str = "r1") -> Teller:
        return Teller(self.take, run=run)

    def take(self, event: events.Event) -> list[Change]:
        changes = self.builder.handle(event)
        for change in changes:
            if isinstance(change, SpanRecord):
                assert ATTRIBUTES.keys() >= change.attributes.keys()
                self.spans[change.id] = change
            elif isinstance(change, TraceRecord):
                self.traces[change.id] = change
            else:
                self.lost.append(change)
        return changes

    def tree(self, parent: str = "") -> list[object]:
        """``[name, [children]]`` of each span below a parent, in order."""
        children = [span for span in self.spans.values() if span.parent == parent]
        children.sort(key=lambda span: span.position)
        return [[span.name, self.tree(span.id)] for span in children]

    def span(self, name: str) -> SpanRecord:
        found = [span for span in self.spans.values() if span.name == name]
        assert len(found) == 1, [span.name for span in self.spans.values()]
        return found[0]

    def statuses(self) -> dict[str, str]:
        return {span.name: span.status for span in self.spans.values()}

    def assert_all_closed(self) -> None:
        assert all(span.end_ns is not None for span in self.spans.values())
        assert all(span.status != "running" for span in self.spans.values())


def test_a_run_with_a_call_is_a_tree() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    teller.start(assistant_name="Helper")
    teller.tell(events.CatalogBuilt, report={"offered": []})
    teller.tell(events.TurnStarted, turn=0)
    teller.ask()
    teller.answer("", call)
    teller.start_call(call)
    teller.finish_call(call)
    teller.tell(events.TurnFinished, turn=0, decision="continued", calls=1)
    teller.tell(events.TurnStarted, turn=1)
    teller.ask(turn=1)
    teller.answer("Done", turn=1)
    teller.tell(events.TurnFinished, turn=1, decision="answered")
    teller.finish(turns=1, tool_calls=1)
    assert story.tree() == [
        ["Helper", [
            ["catalog", []],
            ["turn 0", [["chat m1", []], ["echo.echo", []]]],
            ["turn 1", [["chat m1", []]]],
        ]],
    ]  # fmt: skip
    assert {span.turn for span in story.spans.values() if span.kind == "model"} == {"0", "1"}
    assert set(story.statuses().values()) == {"ok"}
    story.assert_all_closed()


def test_the_trace_tells_how_its_root_run_ended() -> None:
    story = Story()
    teller = story.teller()
    teller.start(user="7", message="x" * 1000)
    assert story.traces["t1"].status == "running"
    teller.finish("failed", stop_reason="provider_error", level=3, turns=2, tool_calls=5)
    trace = story.traces["t1"]
    assert (trace.status, trace.stop_reason, trace.level) == ("failed", "provider_error", 3)
    assert (trace.turns, trace.tool_calls, trace.input_tokens) == (2, 5, 3)
    assert (trace.run, trace.conversation, trace.user) == ("r1", "c1", "7")
    assert (trace.start_ns, trace.end_ns) == (START_NS + MS, START_NS + 2 * MS)
    assert len(trace.message) <= 300


def test_a_request_and_its_answer_are_told_in_the_names_of_opentelemetry() -> None:
    story = Story()
    teller = story.teller()
    question, tool = {"role": "user", "content": "Hi"}, {"type": "function"}
    teller.start()
    teller.tell(events.HistoryRepaired, turn=0, notes=("dropped a result",))
    teller.ask(question, tools=(tool,), tool_names=("echo__echo",), options={"temperature": 0})
    teller.answer("Done")
    attributes = story.span("chat m1").attributes
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "main",
        "gen_ai.request.model": "m1",
        "gen_ai.response.model": "m1-2026",
        "gen_ai.response.id": "x1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.time_to_first_chunk": 0.0005,
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.input.messages": (Payload(value=question),),
        "gen_ai.tool.definitions": (Payload(value=tool),),
        "gen_ai.output.messages": (Payload(value={"role": "assistant", "content": "Done"}),),
        "toolloop.history.notes": ["dropped a result"],
        "toolloop.tools": ["echo__echo"],
        "toolloop.is_final": True,
    }
    assert {name: attributes[name] for name in expected} == expected


def test_a_parameter_retry_holds_the_second_request_and_its_calls() -> None:
    story = Story()
    teller, bad, good = story.teller(), tool_call("k1"), tool_call("k2")
    teller.start()
    teller.tell(events.TurnStarted, turn=0)
    teller.ask()
    teller.answer("", bad)
    teller.start_call(bad)
    error = {"error": "message is required", "is_correctable": True}
    teller.finish_call(bad, Outcome.INVALID_ARGUMENTS, **error)
    teller.tell(events.ParameterRetry, attempt=2, calls=("call_k1",), notice="Again.")
    teller.ask(attempt=2)
    teller.answer("", good, attempt=2)
    teller.start_call(good, attempt=2)
    teller.finish_call(good, attempt=2)
    teller.tell(events.TurnFinished, turn=0, decision="continued")
    assert story.tree()[0][1] == [
        ["turn 0", [
            ["chat m1", []],
            ["echo.echo", []],
            ["parameter retry, attempt 2", [["chat m1", []], ["echo.echo", []]]],
        ]],
    ]  # fmt: skip
    retry = story.span("parameter retry, attempt 2")
    assert (retry.kind, retry.turn, retry.status) == ("retry", "0", "ok")
    assert retry.attributes["toolloop.calls"] == ["call_k1"]
    first = next(span for span in story.spans.values() if span.kind == "tool_call")
    assert first.status == "error"
    assert first.attributes["error.type"] == "invalid_arguments"
    assert first.attributes["toolloop.correctable"] is True


def test_each_provider_retry_is_a_request_of_its_own() -> None:
    story = Story()
    teller = story.teller()
    failure = {"turn": 0, "attempt": 1, "provider": "main", "model": "m1"}
    teller.start()
    teller.ask()
    teller.tell(events.ModelFailed, error="503", kind="ModelOverloaded", status=503, **failure)
    retry = {"turn": 0, "attempt": 1, "error": "503", "delay_ms": 40, "provider": "main"}
    teller.tell(events.ProviderRetry, model="m2", is_failover=True, **retry)
    teller.ask(model="m2", try_number=2)
    teller.answer("Done")
    assert story.statuses() == {"helper": "running", "chat m1": "error", "chat m2": "ok"}
    failed = story.span("chat m1").attributes
    assert failed["error.type"] == "ModelOverloaded"
    assert failed["toolloop.retry.next_model"] == "m2"
    assert failed["toolloop.retry.delay_ms"] == 40
    assert failed["toolloop.retry.is_failover"] is True


def test_a_result_is_kept_whole_beside_what_the_model_got() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    teller.start()
    teller.start_call(call)
    teller.finish_call(call, text="ab...", full_text="ab" * 9, is_truncated=True)
    attributes = story.span("echo.echo").attributes
    assert attributes["gen_ai.tool.call.result"] == Payload(value="ab" * 9)
    assert attributes["toolloop.result.text"] == Payload(value="ab...")
    assert (attributes["toolloop.chars"], attributes["toolloop.truncated"]) == (18, True)


def test_a_call_that_never_started_has_a_span_too() -> None:
    story = Story()
    teller = story.teller()
    teller.start()
    call = ToolCall(id="", name="nothing", arguments="{}", key="k9")
    teller.finish_call(call, Outcome.UNKNOWN_TOOL, server="", tool="", error="No such tool.")
    span = story.span("nothing")
    assert (span.status, span.start_ns) == ("error", span.end_ns)
    assert span.attributes["toolloop.outcome"] == "unknown_tool"
    assert span.attributes["gen_ai.tool.call.id"] == "made_up"
    assert span.attributes["toolloop.call.given_id"] == ""


def test_a_call_that_waits_for_a_person_tells_how_long() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    place = {"turn": 0, "attempt": 1, "call": call}
    teller.start()
    teller.tell(events.ToolCallWaiting, server="echo", tool="echo", arguments={}, **place)
    teller.tell(events.ToolCallDecided, is_allowed=False, reason="No.", by="ann", **place)
    teller.finish_call(call, Outcome.DENIED)
    span = story.span("echo.echo")
    assert span.status == "ok"
    assert span.attributes["toolloop.approval.allowed"] is False
    assert span.attributes["toolloop.approval.wait_ms"] == 1.0
    assert span.attributes["toolloop.approval.by"] == "ann"


def test_calls_run_by_the_provider_are_marked() -> None:
    story = Story()
    teller = story.teller()
    teller.start()
    teller.tell(events.TurnStarted, turn=0)
    teller.tell(events.ToolCallsObserved, turn=0, calls=(tool_call("k1"), tool_call("k2")))
    marked = [span for span in story.spans.values() if span.kind == "tool_call"]
    assert [span.attributes["toolloop.run_by_provider"] for span in marked] == [True, True]


def test_hooks_that_run_at_the_same_time_all_close() -> None:
    story = Story()
    teller = story.teller()
    teller.start()
    teller.tell(events.HookStarted, hook="create", path="m.create")
    teller.tell(events.NoteLogged, level="info", text="looked", fields={"n": 1})
    teller.tell(events.HookFinished, hook="create", path="m.create", returned=("messages",))
    for kind in (events.HookStarted, events.HookStarted, events.HookFinished):
        teller.tell(kind, hook="before_tool_call", path="m.before")
    teller.tell(
        events.HookFinished, hook="before_tool_call", path="m.before", error="ValueError: x",
        traceback="Traceback ...",
    )  # fmt: skip
    story_spans = list(story.spans.values())
    assert [span.status for span in story_spans] == ["running", "ok", "ok", "error"]
    create = story.span("create hook").attributes
    assert create["toolloop.hook.returned"] == ["messages"]
    assert create["toolloop.notes"][0]["text"] == "looked"  # type: ignore[index]
    assert story_spans[3].attributes["toolloop.hook.traceback"] == "Traceback ..."


def test_a_hook_of_a_call_stands_below_the_call() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    teller.start()
    teller.start_call(call)
    teller.tell(events.HookStarted, hook="after_tool_call", path="m.after", call_key=call.key)
    teller.tell(events.HookFinished, hook="after_tool_call", path="m.after", call_key=call.key)
    assert story.tree()[0][1] == [["echo.echo", [["after_tool_call hook", []]]]]


def test_both_levels_of_a_fallback_are_visible() -> None:
    story = Story()
    teller = story.teller()
    teller.start()
    teller.tell(events.TurnStarted, turn=0)
    teller.tell(events.LimitReached, turn=0, option="max_turn", detail="5 of 5 turns used")
    teller.tell(events.TurnFinished, turn=0, decision="stopped", reason="max_turns")
    teller.tell(events.FallbackStarted, level=2, reason="max_turns", assistant="toolloop.x")
    teller.tell(events.TurnStarted, turn="F")
    teller.ask(turn="F")
    failure = {"turn": "F", "attempt": 1, "provider": "main", "model": "m1"}
    teller.tell(events.ModelFailed, error="no", kind="ModelUnreachable", **failure)
    teller.tell(events.FallbackStarted, level=3, reason="max_turns", error="no")
    message = Message(role=Role.ASSISTANT, content="Sorry.")
    teller.tell(events.AnswerReady, message=message, level=3, source="fixed")
    teller.finish("failed", stop_reason="max_turns", level=3)
    assert story.statuses() == {
        "helper": "error", "turn 0": "ok", "fallback, level 2": "error", "fallback turn": "error",
        "chat m1": "error", "fallback, level 3": "ok",
    }  # fmt: skip
    limits = story.span("turn 0").attributes["toolloop.limits_reached"]
    assert limits == [{"option": "max_turn", "detail": "5 of 5 turns used"}]
    assert story.span("fallback turn").turn == "F"
    story.assert_all_closed()


def test_a_child_run_stands_below_its_parent_in_one_trace() -> None:
    story = Story()
    parent, child = story.teller("r1"), story.teller("r2")
    parent.start()
    parent.tell(events.Delegated, assistant="other")
    child.start(assistant="other", parent_run="r1")
    child.ask()
    child.answer("Done")
    child.finish()
    parent.finish(stop_reason="delegated")
    assert story.tree() == [["helper", [["other", [["chat m1", []]]]]]]
    assert {span.trace for span in story.spans.values()} == {"t1"}
    positions = [span.position for span in story.spans.values()]
    assert len(set(positions)) == 3
    assert list(story.traces) == ["t1"]
    assert story.span("helper").attributes["toolloop.delegated_to"] == ["other"]


def test_a_cancelled_run_leaves_nothing_open() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    teller.start()
    teller.tell(events.TurnStarted, turn=0)
    teller.start_call(call)
    teller.tell(events.HookStarted, hook="next", path="m.next")
    teller.ask()
    teller.finish("cancelled", stop_reason="cancelled", level=None)
    assert set(story.statuses().values()) == {"cancelled"}
    story.assert_all_closed()


def test_a_run_that_is_not_in_memory_is_told_as_lost() -> None:
    story = Story()
    story.teller("r7").finish("interrupted", stop_reason="worker_lost", level=3)
    assert [(lost.run, lost.status, lost.stop_reason) for lost in story.lost] == [
        ("r7", "interrupted", "worker_lost")
    ]
    assert story.spans == {}


def test_events_of_unknown_runs_and_strange_order_are_no_error() -> None:
    story = Story()
    teller = story.teller()
    teller.ask()
    teller.start()
    teller.answer("x")
    teller.tell(events.TurnFinished, turn=3, decision="answered")
    teller.tell(events.HookFinished, hook="next", path="m.next")
    retry = {"turn": 0, "attempt": 1, "error": "x", "delay_ms": 1, "provider": "p", "model": "m"}
    teller.tell(events.ProviderRetry, **retry)
    teller.finish()
    teller.finish()
    assert story.statuses() == {"helper": "ok"}


def test_runs_that_never_finish_are_forgotten_at_last() -> None:
    story = Story()
    for number in range(2100):
        story.teller(f"r{number}").start(trace=f"t{number}")
    assert story.teller("r0").ask() == []
    assert len(story.teller("r2099").ask()) == 1


def test_a_failed_run_tells_why() -> None:
    story = Story()
    teller, call = story.teller(), tool_call()
    teller.start()
    teller.start_call(call, arguments="{broken")
    teller.finish_call(call, Outcome.TOOL_ERROR, text="x", structured={"a": 1}, error="no")
    teller.finish("failed", error="It failed.", detail="Traceback")
    attributes = story.span("helper").attributes
    assert attributes["toolloop.error"] == "It failed."
    assert attributes["toolloop.error.detail"] == "Traceback"
    broken = story.span("echo.echo").attributes
    assert broken["toolloop.call.raw_arguments"] == Payload(value=call.arguments)
    assert broken["toolloop.error"] == "no"


def test_payloads_are_attributes_of_the_table() -> None:
    assert ATTRIBUTES.keys() >= PAYLOADS
