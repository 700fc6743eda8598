"""The command ``run_assistant``: what scripts and people at a terminal rely on."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connections

from agents.models import Conversation, Run
from tests.fake_provider import FakeProvider, Step, call, calls, error, hang, text
from tests.running import Json, Runner, wait_until
from tests.servers import stdio_entry

PROJECT = Path(__file__).parents[1]
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


def environment() -> dict[str, str]:
    """The environment of a child process that works on this test's database."""
    name = connections["default"].settings_dict["NAME"]
    return {
        **os.environ,
        "DATABASE_URL": os.environ.get("DATABASE_URL") or f"sqlite:///{name}",
        "DJANGO_SETTINGS_MODULE": "toolloop_site.settings",
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(PROJECT / "manage.py"), "run_assistant", "helper", *arguments]


@contextmanager
def started(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own, ended in any case."""
    process = subprocess.Popen(
        command(*arguments),
        env=environment(),
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        **options,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


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


def test_standard_output_holds_events_only_whatever_a_tool_prints(runner: Runner) -> None:
    local = {"server_id": "local", "transport": "python", "module": "tests.faults.local_tools"}
    with FakeProvider([calls(call("c1", "local__chatter")), text("döne")]) as provider:
        runner.configure(provider, servers=[local])
        with started("--message", "go", "--json") as process:
            stdout, stderr = process.communicate(timeout=60)
    events = [json.loads(line) for line in stdout.splitlines()]
    assert events[-1]["event"] == "run_finished"
    assert events[-1]["answer"] == "döne"
    assert "a tool says hello" in stderr
    assert process.returncode == 0


def test_sigint_cancels_the_run_of_a_process_and_gives_130(runner: Runner) -> None:
    with FakeProvider([hang()]) as provider:
        runner.configure(provider)
        with started("--message", "go", "--json") as process:
            provider.wait_for(lambda: len(provider.requests) == 1, 60)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
    last = json.loads(stdout.splitlines()[-1])
    assert (last["event"], last["status"], last["level"]) == ("run_finished", "cancelled", None)
    assert (process.returncode, stderr) == (130, "")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_twenty_servers_leave_no_process_behind(
    runner: Runner, tmp_path: Path, number: signal.Signals | None
) -> None:
    pids = tmp_path / "pids"
    names = [f"s{n}" for n in range(20)]
    tool = [{"name": "t", "inputSchema": {"type": "object"}}]
    servers = [
        stdio_entry(name, tools=tool, pid_file=str(pids), stubborn=name == "s7") for name in names
    ]
    with FakeProvider([hang() if number else text("done")]) as provider:
        runner.configure(provider, servers=servers)
        with started("--message", "go", "--json") as process:
            provider.wait_for(lambda: len(provider.requests) == 1, 60)
            if number:
                process.send_signal(number)
                time.sleep(0.05)
                process.send_signal(number)
            process.communicate(timeout=40)
    children = [int(line) for line in pids.read_text().split()]
    assert len(children) == 20
    wait_until(lambda: not any(is_alive(pid) for pid in children), 10)
    assert process.returncode == (130 if number else 0)


def test_a_call_that_needs_approval_is_denied_without_a_terminal(runner: Runner) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        with started("--message", "go", "--json") as process:
            stdout, _ = process.communicate(timeout=60)
    events = [json.loads(line) for line in stdout.splitlines()]
    [finished] = [event for event in events if event["event"] == "tool_call_finished"]
    assert finished["outcome"] == "denied"
    assert "approve" in finished["error"]
    assert process.returncode == 0


@contextmanager
def at_a_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command with a terminal of its own as standard input; the person's end of it."""
    person, terminal = pty.openpty()
    try:
        with started(*arguments, stdin=terminal) as process:
            yield process, person
    finally:
        os.close(person)
        os.close(terminal)


def read_until(process: subprocess.Popen[str], words: str, times: int = 1) -> None:
    """Read standard error until the words stood there so often."""
    assert process.stderr is not None
    seen = ""
    number = process.stderr.fileno()
    end = time.monotonic() + 60
    while len(re.findall(re.escape(words), seen)) < times:
        assert select.select([number], [], [], max(0.0, end - time.monotonic()))[0], seen
        piece = os.read(number, 4096).decode()
        assert piece, seen
        seen += piece


@pytest.mark.parametrize(
    ("answers", "outcomes"), [(["y", "n"], ["ok", "denied"]), (["", "YES"], ["denied", "ok"])]
)
def test_a_person_at_the_terminal_decides_one_call_after_the_other(
    runner: Runner, answers: list[str], outcomes: list[str]
) -> None:
    both = calls(
        call("c1", "echo__echo", {"message": "first"}),
        call("c2", "echo__echo", {"message": "second"}),
    )
    with FakeProvider([both, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"echo.*": "ask"}}
        )
        with at_a_terminal("--message", "go", "--json") as (process, person):
            for answer in answers:
                read_until(process, "[y/N]")
                os.write(person, f"{answer}\n".encode())
            stdout, _ = process.communicate(timeout=60)
    events = [json.loads(line) for line in stdout.splitlines()]
    ended = {e["id"]: e["outcome"] for e in events if e["event"] == "tool_call_finished"}
    assert [ended["c1"], ended["c2"]] == outcomes
    assert events[-1]["answer"] == "done"
    assert process.returncode == 0


def test_sigint_while_a_person_is_asked_ends_the_process_with_130(runner: Runner) -> None:
    with FakeProvider([PING, text("never")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        with at_a_terminal("--message", "go", "--json") as (process, _person):
            read_until(process, "[y/N]")
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, "")
    assert json.loads(stdout.splitlines()[-1])["status"] == "cancelled"


def test_a_terminal_that_is_closed_denies(runner: Runner) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        with at_a_terminal("--message", "go", "--json") as (process, person):
            read_until(process, "[y/N]")
            os.write(person, b"\x04")
            stdout, _ = process.communicate(timeout=30)
    assert json.loads(stdout.splitlines()[-1])["answer"] == "done"
    assert process.returncode == 0
