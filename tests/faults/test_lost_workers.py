"""Processes that end or fall silent in the middle: nothing is lost, nothing is stored twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import Assistant, Conversation, Message, Run
from agents.runs import lifecycle
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Runner, stored_path
from tests.servers import stdio_entry
from traces.models import Span, Trace

HOOKS = "tests.faults.hooks"


def let_leases_run_out() -> None:
    Run.objects.filter(lease_until__isnull=False).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_a_message_whose_process_died_in_the_queue_is_answered_and_blocks_nobody(
    runner: Runner,
) -> None:
    with FakeProvider([text("first"), text("third")]) as provider:
        runner.configure(provider)
        first = runner.run("one")
        conversation = Conversation.objects.get(pk=first.conversation)
        left = lifecycle.submit_message(conversation, "two", owner="a process that died")
        let_leases_run_out()
        third = runner.run("three", conversation=first.conversation)
    assert third.finished["answer"] == "third"
    left.refresh_from_db()
    assert (left.status, left.stop_reason, left.level) == ("interrupted", "worker_lost", 3)
    said = [(row.role, row.content) for row in stored_path(first.conversation)]
    assert [content for role, content in said if role == "user"] == ["one", "two", "three"]
    assert len(said) == 6


def test_a_worker_that_lost_its_run_executes_and_stores_nothing_more(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations: list[str] = []

    def take_away(body: object, number: int) -> object:
        run = Run.objects.get(status="running")
        conversations.append(run.conversation_id)
        let_leases_run_out()
        assert len(lifecycle.interrupt_lost_runs()) == 1
        return calls(call("c1", "count__count"))

    with FakeProvider([text("unused")]) as provider:
        runner.configure(provider, servers=[stdio_entry("count")])
        monkeypatch.setattr(provider, "next_step", lambda body: take_away(body, 0))
        ran = runner.run("go")
    assert ran.code == 1
    assert ran.of("tool_call_started") == []
    assert (ran.finished["status"], ran.finished["stop_reason"]) == ("interrupted", "worker_lost")
    stored = stored_path(conversations[0])
    assert [row.role for row in stored] == ["user", "assistant"]
    assert stored[1].level == 3
    assert Message.objects.count() == 2


def test_all_runs_below_a_lost_one_end_with_it(runner: Runner) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
    root = Run.objects.get(pk=ran.finished["run"])
    Run.objects.filter(pk=root.pk).update(status="running", finished_at=None)
    root.refresh_from_db()
    helper = Assistant.objects.get(assistant_id="helper")
    child = lifecycle.start_child_run(root, helper, "w")
    grandchild = lifecycle.start_child_run(child, helper, "w")
    assert lifecycle.interrupt_run(root.pk, "lost") is not None
    ended = Run.objects.filter(pk__in=[root.pk, child.pk, grandchild.pk])
    assert {run.status for run in ended} == {"interrupted"}


def test_arguments_that_are_no_json_do_not_go_back_to_the_provider(runner: Runner) -> None:
    script = [calls(call("c1", "echo__echo", '{"message": NaN}')), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("go")
    sent = provider.requests[1].messages[1]["tool_calls"][0]["function"]["arguments"]
    assert sent == "{}"


def test_the_trace_of_a_run_whose_process_died_ends_too(runner: Runner) -> None:
    with FakeProvider([text("hello"), text("next")]) as provider:
        runner.configure(provider)
        first = runner.run("go")
        conversation = Conversation.objects.get(pk=first.conversation)
        run = lifecycle.submit_message(conversation, "now")
        assert lifecycle.claim_run(run.pk, "a process that died")
        Trace.objects.create(id=run.trace_id, run=run.pk, start_ns=1)
        place = {"trace_id": run.trace_id, "position": 1, "kind": "agent", "start_ns": 1}
        Span.objects.create(id="s1", run=run.pk, name="root", **place)
        Span.objects.create(id="s2", run="child", name="child", **place)
        let_leases_run_out()
        runner.run("and then", conversation=first.conversation)
    trace = Trace.objects.get(pk=run.trace_id)
    assert (trace.status, trace.stop_reason, trace.level) == ("interrupted", "worker_lost", 3)
    assert {span.status for span in trace.spans.all()} == {"lost"}
