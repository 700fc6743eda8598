"""The first turn: its attempts, the strict way, the loop switched off, sandboxes (section 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from tests.fake_provider import FakeProvider, call, calls, text
from tests.faults.test_endings import PING, ending
from tests.running import Runner
from tests.servers import stdio_entry


def test_a_correctable_failure_fails_the_run_at_the_third_attempt(runner: Runner) -> None:
    with FakeProvider([calls(call("c1", "echo__echo", {}))]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"on_tool_error": "fail"}
        )
        ran = runner.run("go")
    assert ending(ran) == ("failed", "errors", 3)
    assert ran.outcomes == ["invalid_arguments"] * 3
    assert len(provider.requests) == 3


def test_a_failure_that_is_not_correctable_fails_the_run_at_once(runner: Runner) -> None:
    refused = {"content": [{"type": "text", "text": "connection refused"}], "isError": True}
    wanted = [call("c1", "echo__fail"), call("c2", "echo__echo", {}), call("c3", "echo__ping")]
    with FakeProvider([calls(*wanted)]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", results={"fail": refused})],
            assistant={"on_tool_error": "fail"},
        )
        ran = runner.run("go")
    assert ending(ran) == ("failed", "errors", 3)
    assert len(provider.requests) == 1
    assert "connection refused" in ran.finished["answer"]
    assert "pong" in ran.finished["answer"]


def test_the_strict_way_acts_in_turn_zero_only(runner: Runner) -> None:
    with FakeProvider([PING, calls(call("c2", "echo__echo", {})), text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"on_tool_error": "fail"}
        )
        ran = runner.run("go")
    assert ending(ran) == ("completed", "answered", 1)


def test_the_strict_way_takes_a_corrected_call(runner: Runner) -> None:
    good = calls(call("c2", "echo__echo", {"message": "a"}))
    with FakeProvider([calls(call("c1", "echo__echo", {})), good, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"on_tool_error": "fail"}
        )
        ran = runner.run("go")
    assert ran.outcomes == ["invalid_arguments", "ok"]
    assert ran.finished["answer"] == "done"


def test_text_alone_on_a_retry_is_the_answer(runner: Runner) -> None:
    with FakeProvider([calls(call("c1", "echo__echo", {})), text("I cannot")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ending(ran) == ("completed", "answered", 1)
    assert (ran.finished["answer"], ran.finished["turns"]) == ("I cannot", 0)
    assert provider.requests[1].messages[-1]["role"] == "system"


def test_the_correction_notice_is_not_stored_for_later_runs(runner: Runner) -> None:
    with FakeProvider([calls(call("c1", "echo__echo", {})), text("no"), text("yes")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        first = runner.run("go")
        runner.run("on", conversation=first.conversation)
    assert [m["role"] for m in provider.requests[2].messages] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "answer"),
    [("Let me look.", "Let me look."), ("", "Tool results:\n\n**echo.ping**\n\npong")],
)
def test_with_the_loop_off_the_first_answer_stands(
    runner: Runner, content: str, answer: str
) -> None:
    with FakeProvider([calls(call("c1", "echo__ping"), content=content)]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"mcp": {"options": {"tool_loop": False}}},
        )
        ran = runner.run("go")
        runner.run("again", conversation=ran.conversation)
    assert ending(ran) == ("completed", "answered", 1)
    assert (ran.finished["answer"], ran.finished["turns"]) == (answer, 0)
    assert ran.outcomes == ["ok"]
    later = provider.requests[1].messages
    assert [m["content"] for m in later].count("Let me look.") == (1 if content else 0)


@pytest.mark.parametrize("value", [None, 0, "false", 1, "no"])
def test_the_loop_is_on_unless_it_is_exactly_false(runner: Runner, value: Any) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        try:
            runner.configure(
                provider,
                servers=[stdio_entry("echo")],
                assistant={"mcp": {"options": {"tool_loop": value}}},
            )
        except CommandError as refused:
            assert "tool_loop" in str(refused)
            return
        ran = runner.run("go")
    assert ran.finished["turns"] == 1


def test_a_sandbox_runs_its_own_tools(runner: Runner, tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    step = calls(call("c1", "count__count"), content="I did it.")
    with FakeProvider([step, text("more")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("count", entry={"env": {"COUNT_FILE": str(counted)}})],
            assistant={"sandbox": True},
        )
        ran = runner.run("go")
        runner.run("on", conversation=ran.conversation)
    assert not counted.exists()
    assert (ran.finished["answer"], ran.finished["turns"]) == ("I did it.", 0)
    assert ran.of("tool_call_started") == []
    assert provider.requests[1].messages[1] == {"role": "assistant", "content": "I did it."}
