"""Processes that end or fall silent in the middle: nothing is lost, nothing is stored twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from agents.models import Assistant, Conversation, Message, Run
from agents.runs import leases, lifecycle
from agents.runs.resources import HOST, release_dead_owners
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Runner, stored_path
from tests.servers import stdio_entry
from traces.models import Span, Trace

HOOKS = "tests.faults.hooks"


def let_leases_run_out() -> None:
    Run.objects.filter(lease_until__isnull=False).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_a_message_whose_process_died_in_the_queue_is_answered_first(runner: Runner) -> None:
    with FakeProvider([text("first"), text("second"), text("third")]) as provider:
        runner.configure(provider)
        first = runner.run("one")
        conversation = Conversation.objects.get(pk=first.conversation)
        left = lifecycle.submit_message(conversation, "two", owner="a process that died")
        let_leases_run_out()
        third = runner.run("three", conversation=first.conversation)
    assert third.finished["answer"] == "third"
    left.refresh_from_db()
    assert (left.status, left.stop_reason, left.level) == ("completed", "answered", 1)
    said = [(row.role, row.content) for row in stored_path(first.conversation)]
    assert said == [
        ("user", "one"), ("assistant", "first"), ("user", "two"), ("assistant", "second"),
        ("user", "three"), ("assistant", "third"),
    ]  # fmt: skip


def test_a_worker_that_lost_its_run_executes_and_stores_nothing_more(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_away(body: object, number: int) -> object:
        let_leases_run_out()
        [run_id], _ = leases.settle_lost_runs()
        assert leases.take_over_run(run_id, "another worker")
        connection.close()  # this is the provider's thread
        return calls(call("c1", "count__count"))

    with FakeProvider([text("unused")]) as provider:
        runner.configure(provider, servers=[stdio_entry("count")])
        monkeypatch.setattr(provider, "next_step", lambda body: take_away(body, 0))
        ran = runner.run("go")
    assert ran.code == 1
    assert ran.of("tool_call_started") == []
    assert (ran.finished["status"], ran.finished["stop_reason"]) == ("interrupted", "worker_lost")
    run = Run.objects.get()
    assert (run.status, run.lease_owner, run.takeovers) == ("running", "another worker", 1)
    assert Message.objects.count() == 1


def leave_behind(runner: Runner, provider: FakeProvider, *rows: dict[str, object]) -> Run:
    """A run whose process died after storing these messages."""
    first = runner.run("go")
    conversation = Conversation.objects.get(pk=first.conversation)
    run = lifecycle.submit_message(conversation, "now")
    assert lifecycle.claim_run(run.pk, "a process that died")
    lifecycle.keep_configuration(run.pk, {"assistant": "helper"})
    conversation.refresh_from_db()
    leaf = conversation.leaf_id
    for row in rows:
        message = Message.objects.create(conversation=conversation, run=run, parent_id=leaf, **row)
        leaf = message.pk
    Conversation.objects.filter(pk=conversation.pk).update(leaf_id=leaf)
    let_leases_run_out()
    run.refresh_from_db()
    return run


def asked(run_key: str, *names: str, turn: int = 0) -> dict[str, object]:
    """An assistant message with calls."""
    return {
        "role": "assistant", "content": "", "turn": str(turn), "details": {"usage": [7, 3]},
        "tool_calls": [
            {"id": f"c{turn}{at}", "name": name, "arguments": "{}", "extra": {},
             "key": f"{run_key}:{turn}:1:{at}"}
            for at, name in enumerate(names)
        ],
    }  # fmt: skip


def answered(run_key: str, content: str, *, turn: int = 0, at: int = 0) -> dict[str, object]:
    """The result of a call."""
    return {
        "role": "tool", "content": content, "turn": str(turn), "outcome": "ok",
        "tool_call_id": f"c{turn}{at}", "call_key": f"{run_key}:{turn}:1:{at}",
        "details": {"server": "count", "tool": "count", "arguments": {}},
    }  # fmt: skip


def test_a_run_goes_on_behind_what_was_stored(runner: Runner) -> None:
    script = [text("hello"), text("after"), text("next")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("count")])
        run = leave_behind(runner, provider, asked("k", "count__count"), answered("k", "one"))
        runner.run("and then", conversation=run.conversation_id)
        sent = provider.requests[1].messages
    run.refresh_from_db()
    assert (run.status, run.level, run.takeovers, run.turns) == ("completed", 1, 1, 1)
    assert (run.input_tokens, run.output_tokens, run.tool_calls) == (17, 8, 1)
    assert run.configuration["resumed"] == [0]
    assert [row["role"] for row in sent] == ["user", "assistant", "user", "assistant", "tool"]
    assert sent[-1]["content"] == "one"
    said = [row.content for row in stored_path(run.conversation_id) if row.role != "tool"]
    assert said == ["go", "hello", "now", "", "after", "and then", "next"]


def test_a_call_that_was_sent_is_not_sent_again(runner: Runner) -> None:
    with FakeProvider([text("hello"), text("after"), text("next")]) as provider:
        runner.configure(provider, servers=[stdio_entry("count")])
        run = leave_behind(runner, provider, asked("k", "count__count"))
        runner.run("and then", conversation=run.conversation_id)
        sent = provider.requests[1].messages
    results = Message.objects.filter(run=run, role="tool")
    assert [row.outcome for row in results] == ["interrupted"]
    assert "may or may not have had an effect" in str(sent[-1]["content"])


def test_a_call_that_only_reads_is_sent_again(runner: Runner) -> None:
    with FakeProvider([text("hello"), text("after"), text("next")]) as provider:
        runner.configure(provider, servers=[stdio_entry("reading")])
        run = leave_behind(runner, provider, asked("k", "reading__ping"))
        runner.run("and then", conversation=run.conversation_id)
    assert [row.outcome for row in Message.objects.filter(run=run, role="tool")] == ["ok"]


def test_the_turns_of_both_processes_count_together(runner: Runner) -> None:
    turns = [
        part
        for turn in range(5)
        for part in (asked("k", "count__count", turn=turn), answered("k", f"n{turn}", turn=turn))
    ]
    script = [
        text("hello"),
        calls(call("c9", "count__count")),
        text("by the fallback"),
        text("next"),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("count")])
        run = leave_behind(runner, provider, *turns)
        runner.run("and then", conversation=run.conversation_id)
    run.refresh_from_db()
    assert (run.status, run.stop_reason, run.level, run.turns) == ("completed", "max_turns", 2, 5)


def test_a_run_is_taken_over_twice_and_then_given_up(runner: Runner) -> None:
    with FakeProvider([text("hello"), text("next")]) as provider:
        runner.configure(provider)
        run = leave_behind(runner, provider)
        for takeover in (1, 2):
            assert leases.settle_lost_runs() == ([run.pk], [])
            assert leases.take_over_run(run.pk, f"worker {takeover}")
            assert not leases.take_over_run(run.pk, "another one")
            let_leases_run_out()
        assert leases.settle_lost_runs() == ([], [run.pk])
    run.refresh_from_db()
    assert (run.status, run.stop_reason, run.level) == ("interrupted", "worker_lost", 3)
    assert run.answer is not None


def test_what_was_given_back_is_no_takeover(runner: Runner) -> None:
    with FakeProvider([text("hello")]) as provider:
        runner.configure(provider)
        run = leave_behind(runner, provider)
    for _ in range(5):
        assert leases.take_over_run(run.pk, "worker")
        leases.release_run(run.pk, "worker")
    run.refresh_from_db()
    assert run.takeovers == 1


def test_a_lost_run_that_a_person_stopped_is_not_taken_over(runner: Runner) -> None:
    with FakeProvider([text("hello")]) as provider:
        runner.configure(provider)
        run = leave_behind(runner, provider)
    assert leases.request_stop(run.conversation_id) == [run.pk]
    assert leases.settle_lost_runs() == ([], [run.pk])
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == ("cancelled", "cancelled")


def test_leases_of_dead_processes_of_this_machine_run_out_at_once(runner: Runner) -> None:
    with FakeProvider([text("hello")]) as provider:
        runner.configure(provider)
        run = leave_behind(runner, provider)
    later = timezone.now() + timedelta(minutes=1)
    for owner, is_free in ((f"{HOST}/1/x", False), ("elsewhere/999999999/x", False),
                           (f"{HOST}/999999999/x", True)):  # fmt: skip
        Run.objects.filter(pk=run.pk).update(lease_owner=owner, lease_until=later)
        release_dead_owners()
        assert (leases.settle_lost_runs() == ([run.pk], [])) is is_free


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


def test_one_person_has_only_so_many_runs_at_once(runner: Runner, settings: Settings) -> None:
    settings.TOOLLOOP_RUNS_PER_USER = 2
    with FakeProvider([text("hello")]) as provider:
        runner.configure(provider)
        first = runner.run("go")
    conversation = Conversation.objects.get(pk=first.conversation)
    others = [
        lifecycle.start_conversation(conversation.user, conversation.assistant) for _ in range(3)
    ]
    queued = [lifecycle.submit_message(other, "now") for other in others]
    stranger = User.objects.create_user("stranger")
    strangers = lifecycle.start_conversation(stranger, conversation.assistant)
    last = lifecycle.submit_message(strangers, "me too")
    assert [lifecycle.claim_run(run.pk, "w") for run in queued] == [True, True, False]
    assert lifecycle.claimable_runs(10) == [last.pk]
    assert (lifecycle.place_in_queue(queued[2]), lifecycle.place_in_queue(last)) == (0, 1)
    Run.objects.filter(pk=queued[0].pk).update(
        status="completed", stop_reason="answered", level=1, finished_at=timezone.now()
    )
    assert lifecycle.claim_run(queued[2].pk, "w")


def test_the_trace_of_a_run_that_is_given_up_ends_too(runner: Runner) -> None:
    with FakeProvider([text("hello"), text("next")]) as provider:
        runner.configure(provider)
        first = runner.run("go")
        conversation = Conversation.objects.get(pk=first.conversation)
        run = lifecycle.submit_message(conversation, "now")
        assert lifecycle.claim_run(run.pk, "a process that died")
        Run.objects.filter(pk=run.pk).update(takeovers=leases.MAX_TAKEOVERS)
        Trace.objects.create(id=run.trace_id, run=run.pk, start_ns=1)
        place = {"trace_id": run.trace_id, "position": 1, "kind": "agent", "start_ns": 1}
        Span.objects.create(id="s1", run=run.pk, name="root", **place)
        Span.objects.create(id="s2", run="child", name="child", **place)
        let_leases_run_out()
        runner.run("and then", conversation=first.conversation)
    trace = Trace.objects.get(pk=run.trace_id)
    assert (trace.status, trace.stop_reason, trace.level) == ("interrupted", "worker_lost", 3)
    assert {span.status for span in trace.spans.all()} == {"lost"}
