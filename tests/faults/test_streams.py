"""Odd streams and odd arguments (faults 14 to 25)."""

from __future__ import annotations

import json

import pytest

from tests.fake_provider import FakeProvider, Step, call, calls, chunk, chunks, text, usage_chunk
from tests.running import Json, Runner
from tests.servers import stdio_entry

ECHO_A = '{"message": "a"}'
ECHO_B = '{"message": "b"}'


def piece(arguments: object, *, name: str | None = None, **fields: object) -> Json:
    """A chunk with one tool call delta."""
    function: Json = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    return chunk({"tool_calls": [{**fields, "function": function}]})


def whole(*pieces: Json, finish: str = "tool_calls") -> Step:
    return chunks([*pieces, chunk({}, finish)])


TWO_CALLS = {
    "every delta has index 0": whole(
        piece(ECHO_A, name="echo__echo", index=0, id="a"),
        piece(ECHO_B, name="echo__echo", index=0, id="b"),
    ),
    "in pieces, every delta has index 0": whole(
        piece('{"mess', name="echo__echo", index=0, id="a"),
        piece('age": "a"}', index=0, id="a"),
        piece('{"message"', name="echo__echo", index=0, id="b"),
        piece(': "b"}', index=0, id="b"),
    ),
    "no index": whole(
        piece(ECHO_A, name="echo__echo", id="a"), piece(ECHO_B, name="echo__echo", id="b")
    ),
    "no index and no ids": whole(
        piece(ECHO_A, name="echo__echo"), piece(ECHO_B, name="echo__echo")
    ),
    "sparse indexes": whole(
        piece(ECHO_A, name="echo__echo", index=1, id="a"),
        piece(ECHO_B, name="echo__echo", index=2, id="b"),
    ),
    "name and id in every chunk": whole(
        piece('{"mess', name="echo__echo", index=0, id="a"),
        piece('age": "a"}', name="echo__echo", index=0, id="a"),
        piece('{"message": ', name="echo__echo", index=1, id="b"),
        piece('"b"}', name="echo__echo", index=1, id="b"),
    ),
    "arguments as objects": whole(
        piece({"message": "a"}, name="echo__echo", index=0, id="a"),
        piece({"message": "b"}, name="echo__echo", index=1, id="b"),
    ),
    "both in one delta, finished with stop": whole(
        chunk(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "a",
                        "function": {"name": "echo__echo", "arguments": ECHO_A},
                    },
                    {
                        "index": 1,
                        "id": "b",
                        "function": {"name": "echo__echo", "arguments": ECHO_B},
                    },
                ]
            }
        ),
        finish="stop",
    ),
}


@pytest.mark.parametrize("step", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_calls_stay_two_calls(runner: Runner, step: Step) -> None:
    with FakeProvider([step, text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    results = [m["content"] for m in provider.requests[1].messages if m["role"] == "tool"]
    assert results == ["a", "b"]
    assert ran.outcomes == ["ok", "ok"]


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}", None])
def test_no_arguments_are_an_empty_object(runner: Runner, arguments: str | None) -> None:
    step = whole(
        piece(arguments, name="echo__ping", index=0, id="a"),
        piece(arguments, name="echo__echo", index=1, id="b"),
    )
    with FakeProvider([step, text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["ok", "invalid_arguments"]
    result = provider.requests[1].messages[-2]["content"]
    assert "message" in result


def test_an_answer_cut_off_by_length_executes_nothing_and_ends_the_second_time(
    runner: Runner,
) -> None:
    cut = calls(
        call("c1", "echo__echo", {"message": "whole"}),
        call("c2", "echo__echo", '{"message": "ha'),
        finish="length",
    )
    with FakeProvider([cut, cut, text("from the fallback")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["invalid_arguments"] * 4
    told = [m["content"] for m in provider.requests[1].messages if m["role"] == "tool"]
    assert all("cut off" in content for content in told)
    finished = ran.finished
    assert (finished["status"], finished["stop_reason"], finished["level"]) == (
        "completed", "truncated", 2,
    )  # fmt: skip
    assert len(provider.requests) == 3


def test_one_cut_off_answer_is_not_the_end(runner: Runner) -> None:
    cut = calls(call("c1", "echo__echo", '{"message": "ha'), finish="length")
    good = calls(call("c2", "echo__echo", {"message": "whole"}))
    with FakeProvider([cut, good, cut, good, text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.finished["stop_reason"] == "answered"


@pytest.mark.parametrize("arguments", ["42", '"x"', "[1]", "true", '"{\\"message\\": \\"a\\"}"'])
def test_arguments_that_are_no_object_are_told_to_be_one(runner: Runner, arguments: str) -> None:
    with FakeProvider([calls(call("c1", "echo__echo", arguments)), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert "must be an object" in ran.of("tool_call_finished")[0]["error"]
    assert ran.of("tool_call_finished")[0]["correctable"] is True
    assert ran.of("parameter_retry")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"message": "http://example.test/a//b",}',
        "{'message': 'http://example.test/a//b'}",
        '```json\n{"message": "http://example.test/a//b"}\n```',
        '{message: "http://example.test/a//b"}',
    ],
)
def test_broken_syntax_is_repaired_and_a_url_is_no_comment(runner: Runner, arguments: str) -> None:
    with FakeProvider([calls(call("c1", "echo__echo", arguments)), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["ok"]
    assert provider.requests[1].messages[-1]["content"] == "http://example.test/a//b"
    sent = provider.requests[1].messages[-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(sent), dict)


@pytest.mark.parametrize(
    "step",
    [
        chunks([chunk({"content": "hi"}), chunk({}, "stop"), usage_chunk(7, 3)]),
        chunks(
            [chunk({"content": "hi"}), {**chunk({}, "stop"), "usage": usage_chunk(7, 3)["usage"]}]
        ),
        chunks(
            [
                {**chunk({"content": "h"}), "usage": usage_chunk(7, 1)["usage"]},
                {**chunk({"content": "i"}), "usage": usage_chunk(7, 2)["usage"]},
                {**chunk({}, "stop"), "usage": usage_chunk(7, 3)["usage"]},
                usage_chunk(7, 3),
            ]
        ),
    ],
    ids=["on a last chunk without choices", "on an empty delta", "on every chunk"],
)
def test_usage_is_counted_once_wherever_it_stands(runner: Runner, step: Step) -> None:
    with FakeProvider([step]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
    assert ran.finished["answer"] == "hi"
    assert ran.finished["usage"] == {"input_tokens": 7, "output_tokens": 3}


def test_calls_decide_and_not_the_finish_reason(runner: Runner) -> None:
    step = calls(call("c1", "echo__ping"), content="Let me look.", finish="stop")
    with FakeProvider([step, text("done", finish="tool_calls")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["ok"]
    assert ran.finished["answer"] == "done"


def test_reasoning_goes_back_with_its_message_and_to_its_provider_only(runner: Runner) -> None:
    step = calls(call("c1", "echo__ping"), reasoning_content="I think so")
    with FakeProvider([step, text("done")]) as own, FakeProvider([text("other")]) as other:
        runner.configure(own, servers=[stdio_entry("echo")])
        first = runner.run("go")
        runner.import_bundle(
            {
                "version": 1,
                "providers": [{"id": "other", "base_url": other.base_url, "default_model": "m2"}],
                "assistants": [{"id": "helper", "name": "Helper", "provider": "other"}],
            }
        )
        runner.run("on", conversation=first.conversation)
    assert own.requests[1].messages[1]["reasoning_content"] == "I think so"
    assert not any("reasoning_content" in message for message in other.requests[0].messages)
