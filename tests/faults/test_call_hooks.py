"""The hooks around a tool call, and calls that hooks make themselves (section 10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, calls, text
from tests.faults.test_endings import PING, ending
from tests.faults.test_hooks import hooked
from tests.running import Json, Runner
from tests.servers import received, stdio_entry


def test_a_hook_before_the_call_may_change_its_arguments(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    wanted = calls(call("c1", "echo__echo", {"message": "a"}))
    with FakeProvider([wanted] * 5 + [text("done")]) as provider:
        hooks = hooked(monkeypatch, before_tool_call=lambda *_: {"arguments": {"message": "b"}})
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            assistant={"hooks": hooks},
        )
        ran = runner.run("go")
    sent = [m["params"]["arguments"] for m in received(record, "tools/call")]
    assert sent == [{"message": "b"}] * 3
    assert ran.outcomes == ["ok", "ok", "ok", "skipped", "skipped"]
    assert ran.of("tool_call_started")[0]["arguments"] == {"message": "b"}


@pytest.mark.parametrize("arguments", [{}, {"message": 3}])
def test_arguments_of_a_hook_are_validated_again(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: Json
) -> None:
    record = tmp_path / "received"
    with FakeProvider([calls(call("c1", "echo__echo", {"message": "a"})), text("x")]) as provider:
        hooks = hooked(monkeypatch, before_tool_call=lambda *_: {"arguments": arguments})
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            assistant={"hooks": hooks},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["invalid_arguments"]
    assert received(record, "tools/call") == []
    assert ran.finished["answer"] == "x"


@pytest.mark.parametrize("arguments", [[1], "text", None, {"message": object()}])
def test_arguments_of_a_hook_that_are_no_object_fail_the_run(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: Any
) -> None:
    record = tmp_path / "received"
    with FakeProvider([calls(call("c1", "echo__echo", {"message": "a"})), text("x")]) as provider:
        hooks = hooked(monkeypatch, before_tool_call=lambda *_: {"arguments": arguments})
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            assistant={"hooks": hooks},
        )
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert received(record, "tools/call") == []
    assert ran.outcomes == ["cancelled"]


def test_a_kept_result_stays_kept_where_a_hook_changes_arguments(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    good, bad = call("c1", "echo__echo", {"message": "a"}), call("c2", "echo__echo", {})
    with FakeProvider([calls(good, bad), calls(good), text("done")]) as provider:
        hooks = hooked(monkeypatch, before_tool_call=lambda *_: {"arguments": {"message": "b"}})
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            assistant={"hooks": hooks},
        )
        runner.run("go")
    assert len(received(record, "tools/call")) == 1


def test_a_hook_before_the_call_may_refuse_it(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    with FakeProvider([PING, text("done")]) as provider:
        hooks = hooked(monkeypatch, before_tool_call=lambda *_: {"refuse": "not on Sundays"})
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            assistant={"hooks": hooks},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["denied"]
    assert provider.requests[1].messages[-1]["content"] == "Error: not on Sundays"
    assert received(record, "tools/call") == []
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize(
    ("returned", "told", "outcome"),
    [
        ({"content": "[gone]"}, "[gone]", "ok"),
        ({"content": ""}, "(no output)", "ok"),
        ({"error": "not for you: connection"}, "Error: not for you: connection", "tool_error"),
        ({"error": ""}, "Error: The tool failed without saying why.", "tool_error"),
    ],
)
def test_a_hook_after_the_call_may_replace_its_result_whole(
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    returned: Json,
    told: str,
    outcome: str,
) -> None:
    with FakeProvider([calls(call("c1", "echo__img")), text("done")]) as provider:
        hooks = hooked(monkeypatch, after_tool_call=lambda *_: returned)
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"hooks": hooks, "limits": {"parameter_attempts": 1}},
            provider_fields={"vision": True},
        )
        ran = runner.run("go")
    assert [m["content"] for m in provider.requests[1].messages][2:] == [told]
    assert ran.outcomes == [outcome]


def test_an_error_that_a_hook_writes_is_judged_by_its_words(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = iter(["the date is missing", "the network is down"])
    with FakeProvider([PING, PING, text("done")]) as provider:
        hooks = hooked(monkeypatch, after_tool_call=lambda *_: {"error": next(errors)})
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"hooks": hooks})
        ran = runner.run("go")
    assert [event["correctable"] for event in ran.of("tool_call_finished")] == [True, False]
    assert len(ran.of("parameter_retry")) == 1


def test_a_hook_calls_tools_through_the_same_policy(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: dict[str, Json] = {}
    record = tmp_path / "received"

    async def next_hook(context: Any, payload: Json) -> Json:
        for name, arguments in [
            ("echo__ping", {}),
            ("echo__echo", {"message": 3}),
            ("echo__count", {}),
            ("echo__fail", {}),
            ("echo__crash", {}),
            ("nothing", {}),
        ]:
            found[name] = await context.call_tool(name, arguments)
        for _ in range(4):
            found["again"] = await context.call_tool("echo__ping", {})
        return {"data": ", ".join(context.tools)}

    with FakeProvider([text("hi")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", record=str(record))],
            use=[{"server_id": "echo", "tools": ["ping", "echo", "fail", "crash"]}],
            assistant={
                "hooks": hooked(monkeypatch, next=next_hook),
                "approval": {"echo.fail": "ask", "echo.crash": "deny"},
            },
        )
        ran = runner.run("go")
    assert {name: result["outcome"] for name, result in found.items()} == {
        "echo__ping": "ok",
        "echo__echo": "invalid_arguments",
        "echo__count": "not_allowed",
        "echo__fail": "denied",
        "echo__crash": "denied",
        "nothing": "unknown_tool",
        "again": "ok",
    }
    assert found["echo__ping"]["text"] == "pong"
    assert ran.finished["answer"] == "echo__echo, echo__ping, echo__fail"
    assert {m["params"]["name"] for m in received(record, "tools/call")} == {"ping"}
