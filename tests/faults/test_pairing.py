"""Calls and results stay paired, whatever happens (faults 1 to 10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, calls, chunk, error, hang, text
from tests.fake_provider import broken as broken_stream
from tests.running import Json, Runner, wait_until
from tests.servers import received, stdio_entry
from tests.watching import TEXT_SEEN

HOOKS = "tests.faults.hooks"


def tool_messages(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message["role"] == "tool"]


def half_call(arguments: str, call_id: str = "c9", name: str = "echo__echo") -> Json:
    """A chunk that begins a call and never ends it."""
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": call_id, "function": function}]})


def test_a_call_cut_off_beside_a_good_one_gets_an_error_in_its_place(runner: Runner) -> None:
    script = [
        calls(call("c1", "echo__echo", {"message": "a"}), call("c2", "echo__echo", '{"message":')),
        text("done"),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    results = tool_messages(provider.requests[1].messages)
    assert [result["tool_call_id"] for result in results] == ["c1", "c2"]
    assert results[0]["content"] == "a"
    assert "cut off" in results[1]["content"]
    assert ran.outcomes == ["ok", "invalid_arguments"]
    assert ran.finished["status"] == "completed"


@pytest.mark.parametrize(
    ("history", "kept"),
    [
        (  # 2: an aborted answer whose result stands there all the same
            [
                {"role": "user", "content": "start"},
                {"role": "tool", "tool_call_id": "c1", "content": "lost"},
                {"role": "user", "content": "continue"},
            ],
            ["user", "user"],
        ),
        (  # 5: a call without a name, and its result
            [
                {"role": "user", "content": "start"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "", "arguments": ""}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "lost"},
                {"role": "user", "content": "continue"},
            ],
            ["user", "user"],
        ),
        (  # the same result twice
            [
                {"role": "user", "content": "start"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "x", "arguments": ""}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "first"},
                {"role": "tool", "tool_call_id": "c1", "content": "second"},
                {"role": "user", "content": "continue"},
            ],
            ["user", "assistant", "tool", "user"],
        ),
    ],
)
def test_results_without_their_calls_are_not_sent(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, history: list[Json], kept: list[str]
) -> None:
    monkeypatch.setattr(f"{HOOKS}.MESSAGES", history)
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, assistant={"hooks": {"create": f"{HOOKS}.create"}})
        ran = runner.run("ignored")
    assert [message["role"] for message in provider.requests[0].messages] == kept
    assert ran.of("history_repaired")[0]["notes"]
    assert ran.finished["answer"] == "done"


def test_calls_without_results_are_closed_right_behind_their_message(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [
        {"id": f"c{n}", "type": "function", "function": {"name": "echo__ping", "arguments": "{}"}}
        for n in (1, 2, 3)
    ]
    history = [
        {"role": "user", "content": "start"},
        {"role": "assistant", "content": None, "tool_calls": wanted},
        {"role": "tool", "tool_call_id": "c2", "content": "pong"},
        {"role": "user", "content": "hi"},
    ]
    monkeypatch.setattr(f"{HOOKS}.MESSAGES", history)
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, assistant={"hooks": {"create": f"{HOOKS}.create"}})
        runner.run("ignored")
    sent = provider.requests[0].messages
    assert [message["role"] for message in sent] == [
        "user", "assistant", "tool", "tool", "tool", "user",
    ]  # fmt: skip
    assert [message["tool_call_id"] for message in sent[2:5]] == ["c1", "c2", "c3"]
    assert sent[3]["content"] == "pong"
    assert all("interrupted" in message["content"] for message in (sent[2], sent[4]))


@pytest.mark.parametrize("clean", [False, True])
def test_a_stream_that_breaks_in_a_call_leaves_nothing_behind(runner: Runner, clean: bool) -> None:
    script = [broken_stream([half_call('{"mess')], clean=clean), text("here I am")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        first = runner.run("one")
        second = runner.run("two", conversation=first.conversation)
    assert (first.finished["status"], first.finished["stop_reason"]) == ("failed", "provider_error")
    assert first.finished["level"] == 3
    assert second.finished["answer"] == "here I am"
    sent = provider.requests[-1].messages
    assert [message["content"] for message in sent if message["role"] == "user"] == ["one", "two"]
    assert not any(message.get("tool_calls") for message in sent)


def test_two_messages_after_a_stop_in_the_arguments_are_both_answered(runner: Runner) -> None:
    script = [hang([half_call('{"pa')]), text("first"), text("second")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        stopped = runner.run_and_stop(
            "go", when=lambda: provider.wait_for(lambda: len(provider.requests) == 1)
        )
        later = runner.run("again", "and again", conversation=stopped.conversation)
    assert (stopped.code, later.stderr) == (130, "")
    assert (stopped.finished["status"], stopped.finished["level"]) == ("cancelled", None)
    assert [event["answer"] for event in later.of("run_finished")] == ["first", "second"]
    assert not any(message.get("tool_calls") for message in provider.requests[-1].messages)


def test_text_that_was_written_before_a_stop_stays(runner: Runner, settings: Any) -> None:
    settings.TOOLLOOP_EVENT_SINKS = ["tests.watching.DeltaWatcher"]
    TEXT_SEEN.clear()
    with FakeProvider([hang([chunk({"content": "Half a sen"})]), text("whole")]) as provider:
        runner.configure(provider)
        stopped = runner.run_and_stop("go", when=lambda: TEXT_SEEN.wait(20))
        runner.run("again", conversation=stopped.conversation)
    stored = stopped.stored()
    assert [row.role for row in stored] == ["user", "assistant", "user", "assistant"]
    assert (stored[1].content, stored[1].is_aborted) == ("Half a sen", True)
    assert stopped.finished["answer"] == "Half a sen"


def test_a_stop_during_a_tool_gives_its_call_a_result_and_asks_no_model(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    script = [calls(call("c1", "echo__slow", {"seconds": 60})), text("answered")]

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", record=str(record))])
        stopped = runner.run_and_stop(
            "go", when=lambda: wait_until(lambda: received(record, "tools/call"))
        )
        assert len(provider.requests) == 1
        later = runner.run("test", conversation=stopped.conversation)
    assert stopped.outcomes == ["cancelled"]
    assert stopped.finished["status"] == "cancelled"
    assert received(record, "notifications/cancelled")
    assert later.finished["answer"] == "answered"
    [result] = tool_messages(provider.requests[1].messages)
    assert result["tool_call_id"] == "c1"
    assert "cancelled" in result["content"]


def test_a_call_that_succeeded_is_not_executed_again_by_a_parameter_retry(
    runner: Runner, tmp_path: Path
) -> None:
    counted = tmp_path / "counted"
    both = [call("c1", "count__count"), call("c2", "echo__echo", {})]
    script = [calls(*both), calls(call("c3", "count__count"), both[1]), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=[
                stdio_entry("echo"),
                stdio_entry("count", entry={"env": {"COUNT_FILE": str(counted)}}),
            ],
        )
        ran = runner.run("go")
    assert len(counted.read_text().splitlines()) == 1
    assert [event["kept"] for event in ran.of("tool_call_finished")][:3] == [False, False, True]
    assert ran.of("parameter_retry")[0]["calls"] == ["c2"]


def test_provider_retries_execute_nothing_again(runner: Runner, tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    script = [calls(call("c1", "count__count")), error(500), error(500), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("count", entry={"env": {"COUNT_FILE": str(counted)}})],
            provider_fields={"max_retries": 2},
        )
        ran = runner.run("go")
    assert ran.finished["answer"] == "done"
    assert len(ran.of("provider_retry")) == 2
    assert len(counted.read_text().splitlines()) == 1


def test_denied_calls_are_ordinary_results(runner: Runner) -> None:
    script = [calls(call("c1", "echo__ping")), calls(call("c2", "echo__ping")), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"approval": {"echo.ping": "ask"}, "limits": {"max_consecutive_errors": 1}},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["denied", "denied"]
    assert ran.finished["answer"] == "done"
