"""``manage.py verify_loop`` against real servers and a provider that fails in every way."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.models import Conversation, Run
from agents.runs.loop_checks.tools import CODE_WORD
from tests.fake_provider import (
    FakeProvider,
    Json,
    Step,
    call,
    calls,
    chunk,
    chunks,
    error,
    hang,
    text,
)
from tests.running import Runner
from tests.servers import stdio_entry

READ_ONLY = {"readOnlyHint": True}
LOOK = {
    "name": "look",
    "inputSchema": {
        "type": "object",
        "properties": {"page": {"type": "integer", "minimum": 3}},
        "required": ["page"],
    },
    "annotations": READ_ONLY,
}
COUNT = {"name": "count", "inputSchema": {"type": "object"}}


def verify(*arguments: str) -> tuple[str, int]:
    """What the command wrote on both streams, and its exit code."""
    out, code = StringIO(), 0
    try:
        call_command("verify_loop", *arguments, stdout=out, stderr=out)
    except SystemExit as end:
        code = int(end.code or 0)
    except CommandError as fault:
        code = fault.returncode
        out.write(str(fault))
    return out.getvalue(), code


def report(*arguments: str) -> tuple[Json, int]:
    """The report and the exit code."""
    told, code = verify("helper", "--json", *arguments)
    return json.loads(told), code


def causes(found: Json) -> list[str]:
    return [check["cause"] for check in found["checks"]]


def verdicts(found: Json) -> list[str]:
    return [check["verdict"] for check in found["checks"]]


def wanted(body: Json) -> list[tuple[str, Json]]:
    """The calls that the last question asks for."""
    asked = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
    found = re.findall(r"the tool `(\S+)` with exactly these arguments: (\{.*?\})", asked)
    return [(name, json.loads(given)) for name, given in found]


def answered(body: Json) -> list[Json]:
    return [message for message in body["messages"] if message["role"] == "tool"]


def obedient(body: Json, number: int) -> Step:
    """Makes the calls one by one, then says what the last result was."""
    orders, results = wanted(body), answered(body)
    if len(results) < len(orders):
        name, given = orders[len(results)]
        return calls(call(f"c{len(results)}", name, given))
    return text(f"I got: {results[-1]['content']}")


def in_the_loop(body: Json) -> bool:
    """Whether this is a request of the third check."""
    return "Work in steps" in str(body["messages"])


def tools(*specs: Json, **script: Any) -> list[Json]:
    return [stdio_entry("echo", tools=list(specs), **script)]


def test_a_closed_loop_passes_all_checks_and_stores_no_run(runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        found, code = report()
    assert (verdicts(found), code) == (["passed"] * 3, 0)
    assert causes(found) == ["called", "result_used", "ended"]
    assert found["is_closed"] is True
    assert (found["provider"], found["model"]) == ("main", "m1")
    assert Run.objects.count() == Conversation.objects.count() == 0


def test_the_second_check_hands_the_result_to_the_call_as_it_came(runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        report()
        asked, result = provider.requests[1].messages[-2:]
    assert asked["tool_calls"][0]["id"] == result["tool_call_id"] == "c0"
    assert CODE_WORD in result["content"]


def test_the_third_check_runs_the_real_loop_with_the_limits_of_the_assistant(
    runner: Runner,
) -> None:
    def endless(body: Json, number: int) -> Step:
        if in_the_loop(body):
            return calls(call(f"n{number}", "echo__look", {"page": number + 3}))
        return obedient(body, number)

    with FakeProvider(endless) as provider:
        runner.configure(
            provider,
            servers=tools(LOOK, results={"look": {"content": [{"type": "text", "text": "more"}]}}),
            assistant={"mcp": {"options": {"max_turn": 2}}},
        )
        found, code = report()
    assert (causes(found)[2], code) == ("max_turns", 1)
    assert "all 2 turns" in found["checks"][2]["sentence"]
    assert "max_turn" in found["checks"][2]["hint"]
    steps = found["checks"][2]["exchange"]
    assert sum("call" in step for step in steps) == 3
    assert len(provider.requests) == 2 + 3


FIRST = {
    "no_call": text("I cannot look."),
    "call_as_text": text('<tool_call>{"name": "echo__look", "arguments": {"page": 3}}</tool_call>'),
    "unknown_name": calls(call("c1", "look", {"page": 3})),
    "bad_arguments": calls(call("c1", "echo__look", {"page": "three"})),
    "cut_off": calls(call("c1", "echo__look", '{"pa'), finish="length"),
    "empty": chunks([chunk({"role": "assistant", "content": ""}), chunk(finish="stop")]),
}


@pytest.mark.parametrize("cause", FIRST)
def test_a_model_that_makes_no_good_call_fails_the_first_check_with_a_hint(
    runner: Runner, cause: str
) -> None:
    def script(body: Json, number: int) -> Step:
        return obedient(body, number) if answered(body) else FIRST[cause]

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=tools(LOOK))
        found, code = report()
    first = found["checks"][0]
    assert (first["cause"], first["verdict"], code) == (cause, "failed", 1)
    assert first["hint"] and first["exchange"][0]["status"] == 200
    # A call made by hand tells whether a result would be taken.
    assert verdicts(found)[1:] == ["passed", "not asked"]


SECOND = {
    "called_again": lambda body: calls(call("c2", *wanted(body)[0])),
    "called_on": lambda body: calls(call("c2", "echo__look", {"page": 99})),
    "empty": lambda body: FIRST["empty"],
    "result_refused": lambda body: error(400, {"error": {"message": "tool_call_id is too long"}}),
}


@pytest.mark.parametrize("cause", SECOND)
def test_a_model_that_does_not_go_on_fails_the_second_check_with_a_hint(
    runner: Runner, cause: str
) -> None:
    def script(body: Json, number: int) -> Step:
        is_second = answered(body) and not in_the_loop(body)
        return SECOND[cause](body) if is_second else obedient(body, number)

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=tools(LOOK))
        found, code = report()
    second = found["checks"][1]
    assert (second["cause"], second["verdict"], code) == (cause, "failed", 1)
    assert second["hint"]


def test_an_answer_that_ignores_the_result_passes_and_says_so(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        return text("It is sunny.") if answered(body) else obedient(body, number)

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=tools(LOOK))
        found, _ = report()
    assert (causes(found)[1], verdicts(found)[1]) == ("result_taken", "passed")
    assert "may not read results" in found["checks"][1]["hint"]


def looping(body: Json, number: int) -> Step:
    if in_the_loop(body):
        return calls(call(f"n{number}", *wanted(body)[0]))
    return obedient(body, number)


def erring(body: Json, number: int) -> Step:
    if in_the_loop(body):
        return calls(call(f"n{number}", "echo__look", {"page": number + 3}))
    return obedient(body, number)


def silent(body: Json, number: int) -> Step:
    return text("Fine.") if in_the_loop(body) else obedient(body, number)


def cut(body: Json, number: int) -> Step:
    step = obedient(body, number)
    return calls(call("c", "echo__look", '{"p'), finish="length") if in_the_loop(body) else step


def breaking(body: Json, number: int) -> Step:
    return error(500) if in_the_loop(body) and answered(body) else obedient(body, number)


LONG = {"content": [{"type": "text", "text": "much\n" * 5000}]}
BROKEN = {"content": [{"type": "text", "text": "no such page"}], "isError": True}


@pytest.mark.parametrize(
    ("cause", "script", "answer", "fields"),
    [
        ("repeats", looping, {"content": [{"type": "text", "text": "same"}]}, {"max_turn": 9}),
        ("errors", erring, BROKEN, {"max_turn": 9}),
        ("cut_results", looping, LONG, {"max_turn": 2}),
        ("not_begun", silent, LONG, {}),
        ("truncated", cut, LONG, {}),
        ("model_failed", breaking, LONG, {}),
        ("ended_early", obedient, BROKEN, {}),
    ],
)
def test_how_a_loop_ends_tells_its_cause(
    runner: Runner, cause: str, script: Any, answer: Json, fields: Json
) -> None:
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=tools(LOOK, results={"look": answer}),
            assistant={"mcp": {"options": fields}},
        )
        found, code = report()
    third = found["checks"][2]
    assert third["cause"] == cause
    assert third["verdict"] == ("passed" if cause == "ended_early" else "failed")
    assert code == (0 if cause == "ended_early" else 1)
    assert third["hint"]


def test_what_is_not_read_only_is_answered_by_hand(runner: Runner, tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    with FakeProvider(obedient) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", entry={"env": {"COUNT_FILE": str(counted)}})],
            use=[{"server_id": "echo", "tools": ["count"]}],
        )
        found, code = report("--raw")
    assert (code, counted.exists()) == (0, False)
    executed = [step for step in found["checks"][2]["exchange"] if "call" in step]
    assert CODE_WORD in executed[0]["result"]


def test_a_tool_that_a_person_named_is_executed_once(runner: Runner, tmp_path: Path) -> None:
    def greedy(body: Json, number: int) -> Step:
        if in_the_loop(body) and len(answered(body)) < 3:
            return calls(call(f"n{number}", "echo__count"))
        return obedient(body, number)

    counted = tmp_path / "counted"
    with FakeProvider(greedy) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo", entry={"env": {"COUNT_FILE": str(counted)}})]
        )
        found, _ = report("--tool", "echo.count")
    assert found["calls"][0] == {"tool": "echo.count", "arguments": {}}
    assert len(counted.read_text().splitlines()) == 1


def test_the_arguments_of_a_named_tool_can_be_given(runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        found, code = report("--tool", "echo.echo", "--arguments", '{"message": "hello"}')
    assert code == 0
    assert found["calls"][0] == {"tool": "echo.echo", "arguments": {"message": "hello"}}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nobody"], "There is no assistant 'nobody'. Known: helper"),
        (["helper", "--tool", "echo.nothing"], "There is no tool 'echo.nothing' here. Offered are"),
        (["helper", "--tool", "echo.fail"], "is not offered to the model (not_whitelisted)"),
        (["helper", "--tool", "echo.ping", "--arguments", "{"], "cut off"),
        (["helper", "--arguments", "{}"], "name it with --tool"),
        (["helper", "--seconds", "0"], "must be 1 to 3600"),
    ],
)
def test_bad_input_is_told_with_its_own_exit_code(
    runner: Runner, arguments: list[str], told: str
) -> None:
    with FakeProvider(obedient) as provider:
        use = [{"server_id": "echo", "tools": ["ping", "echo"]}]
        runner.configure(provider, servers=[stdio_entry("echo")], use=use)
        said, code = verify(*arguments)
    assert told in said
    assert code == 2
    assert provider.requests == []


def test_a_provider_that_refuses_the_key_ends_it_with_what_to_do(runner: Runner) -> None:
    with FakeProvider(obedient, key="right") as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        found, code = report()
    assert (causes(found), code) == (["model_failed", "earlier", "earlier"], 1)
    assert "refused the key" in found["checks"][0]["sentence"]
    assert found["checks"][0]["hint"]
    assert len(provider.requests) == 1


def test_without_a_tool_there_is_nothing_to_ask(runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], use=[])
        found, code = report()
    assert (causes(found), code) == (["no_tool", "earlier", "earlier"], 1)
    assert provider.requests == []


def test_an_assistant_without_a_loop_is_asked_for_the_first_two(runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(
            provider, servers=tools(LOOK), assistant={"mcp": {"options": {"tool_loop": False}}}
        )
        found, code = report()
    assert (verdicts(found), code) == (["passed", "passed", "not asked"], 0)


def test_a_silent_model_is_left_in_time(runner: Runner) -> None:
    with FakeProvider([hang()]) as provider:
        runner.configure(provider, servers=tools(LOOK))
        found, code = report("--seconds", "2")
    assert (causes(found), code) == (["time", "earlier", "earlier"], 1)
    assert found["seconds"] < 10


def test_the_raw_exchange_is_shown_where_a_check_failed(runner: Runner) -> None:
    with FakeProvider([text("I cannot look.")]) as provider:
        runner.configure(provider, servers=tools(LOOK))
        told, code = verify("helper")
    assert code == 1
    assert '"name": "echo__look"' in told and "status 200" in told and "I cannot" in told
    assert told.splitlines()[0] == "1. The model returns a well-formed tool call: failed"
    assert told.splitlines()[-1].startswith("The loop is not closed: 1 of 3 checks passed")


def test_a_key_is_shown_nowhere_even_where_it_comes_back_in_pieces(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret-key-0123456789"
    monkeypatch.setenv("SOME_KEY", key)
    with FakeProvider([text(f"Your key is {key}.")], key=key) as provider:
        runner.configure(provider, servers=tools(LOOK), provider_fields={"api_key_env": "SOME_KEY"})
        told, _ = verify("helper", "--raw")
        told_json, _ = verify("helper", "--raw", "--json")
    for said in (told, told_json):
        assert "Your key is [hidden]." in said
        assert key not in said and key[:14] not in said and key[-14:] not in said


def test_hooks_are_not_called(runner: Runner, settings: Any) -> None:
    settings.TOOLLOOP_HOOK_MODULES = ["tests.commands.test_verify_loop"]
    with FakeProvider(obedient) as provider:
        runner.configure(
            provider,
            servers=tools(LOOK),
            assistant={"hooks": {"create": "tests.commands.test_verify_loop.fail"}},
        )
        found, code = report()
    assert (verdicts(found), code) == (["passed"] * 3, 0)


def fail(*given: object) -> None:
    """A hook that nobody may call."""
    raise AssertionError("called")
