"""The command ``run_assistant`` as a process: output, signals, children, a person at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.utils.module_loading import import_string

from agents.models import Run
from agents.runs.terminal import _Stop
from tests.fake_provider import FakeProvider, call, calls, hang, text
from tests.running import Runner, wait_until
from tests.servers import stdio_entry

PROJECT = Path(__file__).parents[1]
PING = calls(call("c1", "echo__ping"))


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


@pytest.mark.parametrize("is_json", [True, False])
def test_half_a_character_costs_no_line(runner: Runner, is_json: bool) -> None:
    with FakeProvider(
        [calls(call("c1", "echo__ping", '{"a": "\ud83d"}')), text("hi \ud83d")]
    ) as it:
        runner.configure(it, servers=[stdio_entry("echo")])
        with started("--message", "go", *["--json"] * is_json) as process:
            stdout, stderr = process.communicate(timeout=60)
    answer = json.loads(stdout.splitlines()[-1])["answer"] if is_json else stdout
    assert answer.startswith("hi ")
    assert "Traceback" not in stderr
    assert process.returncode == 0


def test_starting_the_process_costs_the_run_no_time(runner: Runner) -> None:
    script = [calls(call("c1", "echo__slow", {"seconds": 60})), text("what there is")]
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": {"run_timeout_seconds": 1.2}},
        )
        with started("--message", "go", "--json") as process:
            stdout, _ = process.communicate(timeout=60)
    events = [json.loads(line) for line in stdout.splitlines()]
    assert [e["outcome"] for e in events if e["event"] == "tool_call_finished"] == ["cancelled"]
    assert (events[-1]["stop_reason"], events[-1]["answer"]) == ("time", "what there is")


@pytest.mark.parametrize(
    "step",
    [
        "agents.runs.lifecycle.submit_message",
        "agents.runs.lifecycle.claim_run",
        "agents.runs.worker.load_plan",
    ],
)
def test_a_stop_before_the_run_has_begun_ends_it_all_the_same(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    asked = threading.Event()
    real_step, real_ask = import_string(step), _Stop.ask

    def ask(stop: _Stop) -> None:
        real_ask(stop)
        asked.set()

    def stopped_step(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked.wait(10)
        return real_step(*arguments)

    monkeypatch.setattr(_Stop, "ask", ask)
    monkeypatch.setattr(step, stopped_step)
    with FakeProvider([text("never")]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
    assert (ran.code, ran.finished["status"]) == (130, "cancelled")
    assert [run.status for run in Run.objects.all()] == ["cancelled"]
    assert provider.requests == []


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
                assert process.stdout is not None
                assert any("run_finished" in line for line in process.stdout)
                process.send_signal(number)  # an impatient person, while the servers are ended
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
