"""The command ``run_assistant``: what scripts and people at a terminal rely on."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from agents.models import Conversation, Run
from tests.fake_provider import FakeProvider, Step, call, calls, error, text
from tests.running import Json, Runner
from tests.servers import stdio_entry

PING = calls(call("c1", "echo__ping"))

FIELDS = {
    "run_started": {"run", "conversation", "trace", "assistant", "parent_run"},
    "model_request": {"run", "turn", "attempt", "model", "tools"},
    "provider_retry": {"run", "turn", "error", "delay_ms", "model"},
    "tool_call_started": {"run", "id", "turn", "attempt", "server", "tool", "arguments"},
    "tool_call_finished": {
        "run", "id", "turn", "attempt", "server", "tool", "outcome", "correctable", "truncated",
        "chars", "duration_ms", "error",
    },
    "parameter_retry": {"run", "attempt", "calls"},
    "fallback": {"run", "level", "reason"},
    "history_repaired": {"run", "notes"},
    "run_finished": {
        "run", "status", "stop_reason", "level", "answer", "turns", "tool_calls", "usage",
    },
}  # fmt: skip


def eventful(body: Json, n: int) -> Step:
    """A run in which nearly everything happens once."""
    steps = [
        error(503, headers={"Retry-After": "0"}),
        calls(call("c1", "echo__echo", {})),
        calls(call("c2", "echo__echo", {"message": "a"})),
        PING,
        text("from the fallback"),
    ]
    return steps[n]


def test_every_event_has_its_fields_and_the_last_line_is_the_roots_end(runner: Runner) -> None:
    with FakeProvider(eventful) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            provider_fields={"max_retries": 1},
            assistant={"mcp": {"options": {"max_turn": 1}}},
        )
        ran = runner.run("go")
    seen = {event["event"] for event in ran.events}
    assert seen == FIELDS.keys() - {"history_repaired"}
    for event in ran.events:
        assert event.keys() >= FIELDS[event["event"]], event
    assert ran.events[0]["event"] == "run_started"
    assert ran.events[-1]["event"] == "run_finished"
    requests = [(e["turn"], e["attempt"], e["model"]) for e in ran.of("model_request")]
    assert requests == [(0, 1, "m1"), (0, 2, "m1"), (1, 1, "m1"), ("F", 1, "m1")]
    assert "echo__ping" in ran.of("model_request")[0]["tools"]
    assert ran.of("model_request")[-1]["tools"] == []
    assert ran.of("parameter_retry") == [
        {"event": "parameter_retry", "run": ran.events[0]["run"], "attempt": 2, "calls": ["c1"]}
    ]
    bad, good, last = ran.of("tool_call_finished")
    assert (bad["id"], bad["outcome"], bad["correctable"], bad["attempt"]) == (
        "c1", "invalid_arguments", True, 1,
    )  # fmt: skip
    assert (good["id"], good["server"], good["tool"], good["chars"], good["error"]) == (
        "c2", "echo", "echo", 1, None,
    )  # fmt: skip
    assert (last["turn"], last["attempt"]) == (1, 1)
    assert ran.of("fallback") == [
        {"event": "fallback", "run": ran.events[0]["run"], "level": 2, "reason": "max_turns"}
    ]
    finished = ran.finished
    assert (finished["turns"], finished["tool_calls"]) == (1, 3)
    assert finished["usage"] == {"input_tokens": 40, "output_tokens": 20}


def test_a_repaired_history_is_told(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    stray = [
        {"role": "tool", "tool_call_id": "x", "content": "?"},
        {"role": "user", "content": "a"},
    ]
    monkeypatch.setattr("tests.faults.hooks.MESSAGES", stray)
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, assistant={"hooks": {"create": "tests.faults.hooks.create"}})
        ran = runner.run("go")
    [event] = ran.of("history_repaired")
    assert event["notes"]


def test_messages_run_one_after_the_other_in_one_conversation(runner: Runner) -> None:
    with FakeProvider([text("one"), text("two"), text("three")]) as provider:
        runner.configure(provider)
        ran = runner.run("a", "b")
        later = runner.run("c", conversation=ran.conversation)
    assert [m["content"] for m in provider.requests[-1].messages] == ["a", "one", "b", "two", "c"]
    assert [event["answer"] for event in ran.of("run_finished")] == ["one", "two"]
    assert later.conversation == ran.conversation
    assert ran.code == 0


def test_one_failed_run_gives_exit_code_one_and_the_next_message_is_answered(
    runner: Runner,
) -> None:
    with FakeProvider([error(400), text("fine")]) as provider:
        runner.configure(provider)
        ran = runner.run("a", "b")
    assert [event["status"] for event in ran.of("run_finished")] == ["failed", "completed"]
    assert ran.code == 1


def test_without_a_user_the_first_superuser_is_taken_or_made(runner: Runner) -> None:
    users = get_user_model().objects
    assert users.count() == 0
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider)
        runner.run("go")
        runner.run("go")
    [operator] = users.all()
    assert (operator.is_superuser, operator.has_usable_password()) == (True, False)
    assert {c.user_id for c in Conversation.objects.all()} == {operator.pk}


def test_a_run_belongs_to_the_named_user_who_alone_may_go_on(runner: Runner) -> None:
    users = get_user_model().objects
    for name in ("mina", "omar"):
        users.create_user(name)
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider)
        ran = runner.run("go", user="mina")
        stranger = runner.run("go", user="omar", conversation=ran.conversation)
    assert Conversation.objects.get(pk=ran.conversation).user.get_username() == "mina"
    assert (stranger.code, stranger.events) == (1, [])
    assert "no conversation" in stranger.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "nobody"}, "nobody"),
        ({"conversation": "nothing"}, "nothing"),
        ({"assistant": "nowhere"}, "helper"),
    ],
)
def test_unknown_names_are_told_and_nothing_runs(
    runner: Runner, options: dict[str, str], words: str
) -> None:
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider)
        ran = runner.run("go", **options)
    assert (ran.code, ran.events) == (1, [])
    assert words in ran.stderr
    assert Run.objects.count() == 0


def test_a_conversation_with_another_assistant_is_refused(runner: Runner) -> None:
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
        other = {"id": "other", "name": "Other", "provider": "main"}
        runner.import_bundle({**runner.bundle, "assistants": [other]})
        refused = runner.run("on", assistant="other", conversation=ran.conversation)
    assert (refused.code, refused.events) == (1, [])
    assert "helper" in refused.stderr


def test_plain_output_is_the_answer_and_notes_go_to_stderr(runner: Runner) -> None:
    with FakeProvider([PING, PING, text("from the fallback")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"mcp": {"options": {"max_turn": 1}}}
        )
        stdout, stderr = StringIO(), StringIO()
        call_command("run_assistant", "helper", message=["go"], stdout=stdout, stderr=stderr)
    assert stdout.getvalue() == "from the fallback\n"
    assert "echo.ping ok" in stderr.getvalue()
    assert "max_turns" in stderr.getvalue()


def test_a_message_is_needed(runner: Runner) -> None:
    with pytest.raises(CommandError, match="--message"):
        call_command("run_assistant", "helper")
