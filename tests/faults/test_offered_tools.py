"""Which tools the model is offered, under which names and schemas (faults 38 to 43 and 47)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, calls, text
from tests.faults.test_results import exported, told
from tests.faults.test_servers import left_out, offered
from tests.running import Json, Runner
from tests.servers import received, stdio_entry

OBJECT: Json = {"type": "object", "properties": {}}


def tool(name: str, schema: Any = OBJECT, **fields: Any) -> Json:
    return {"name": name, "inputSchema": schema, **fields}


def parameters(provider: FakeProvider) -> Json:
    return {
        t["function"]["name"]: t["function"]["parameters"]
        for t in provider.requests[0].body["tools"]
    }


def test_a_local_reference_is_inlined(runner: Runner) -> None:
    schema = {
        "type": "object",
        "$defs": {"F": {"enum": ["a", "b"]}},
        "properties": {"f": {"$ref": "#/$defs/F"}},
    }
    script = [calls(call("c1", "echo__pick", {"f": "z"})), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", tools=[tool("pick", schema)])])
        ran = runner.run("go")
    assert parameters(provider)["echo__pick"]["properties"]["f"]["enum"] == ["a", "b"]
    assert "$ref" not in str(parameters(provider))
    assert ran.outcomes == ["invalid_arguments"]


@pytest.mark.parametrize("modern", [True, False])
def test_odd_schemas_are_offered_in_a_shape_that_providers_accept(
    runner: Runner, modern: bool
) -> None:
    tools = [
        tool("empty", {}),
        tool("bare", {"type": "object"}),
        tool("null", None),
        tool("array", {"type": "object", "properties": {"a": {"type": "array"}}}),
    ]
    server = stdio_entry("echo", tools=tools, modern=modern)
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[server])
        runner.run("go")
    sent = parameters(provider)
    assert list(sent) == ["echo__empty", "echo__bare", "echo__null", "echo__array"]
    for schema in sent.values():
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
    assert "items" in sent["echo__array"]["properties"]["a"]


def test_a_tool_that_cannot_be_repaired_is_left_out_alone(runner: Runner) -> None:
    tools = [tool("good"), tool("bad", {"type": "array"}), tool("worse", "text"), tool("fine")]
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", tools=tools, modern=True)])
        ran = runner.run("go")
    assert offered(provider) == ["echo__good", "echo__fine"]
    assert left_out(exported(ran)) == {
        "echo__bad": "invalid_schema", "echo__worse": "invalid_schema",
    }  # fmt: skip


def test_long_names_that_begin_alike_are_both_offered_and_callable(runner: Runner) -> None:
    names = ["t" * 69 + "a", "t" * 69 + "b", "päth/ö", "do__it"]
    server = stdio_entry(
        "echo",
        tools=[tool(name) for name in names],
        results={name: {"content": [{"type": "text", "text": name}]} for name in names},
    )
    flat: list[str] = []

    def step(body: Json, n: int) -> Any:
        flat[:] = [t["function"]["name"] for t in body["tools"]]
        return calls(*(call(f"c{i}", name) for i, name in enumerate(flat))) if n == 0 else text("x")

    with FakeProvider(step) as provider:
        runner.configure(provider, servers=[server])
        ran = runner.run("go")
    assert len(set(flat)) == 4
    assert all(len(name) <= 64 for name in flat)
    assert told(provider) == names
    assert ran.outcomes == ["ok"] * 4


def test_two_servers_with_like_names_get_different_tools(runner: Runner, tmp_path: Path) -> None:
    servers = [
        stdio_entry(
            name, tools=[tool("t")], results={"t": {"content": [{"type": "text", "text": name}]}}
        )
        for name in ("a.b", "a-b", "A.C", "a-c")
    ]
    flat: list[str] = []

    def step(body: Json, n: int) -> Any:
        flat[:] = [t["function"]["name"] for t in body["tools"]]
        return calls(*(call(f"c{i}", name) for i, name in enumerate(flat))) if n == 0 else text("x")

    with FakeProvider(step) as provider:
        runner.configure(provider, servers=servers)
        runner.run("go")
    assert len({name.lower() for name in flat}) == 4
    assert told(provider) == ["a.b", "a-b", "A.C", "a-c"]


def test_all_pages_of_a_list_are_read_in_order(runner: Runner) -> None:
    pages = [[tool("a"), tool("b")], [tool("c")], [tool("d")]]
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", pages=pages)])
        runner.run("go")
    assert offered(provider) == ["echo__a", "echo__b", "echo__c", "echo__d"]


@pytest.mark.parametrize("cursor", ["same", "endless"])
def test_a_list_without_an_end_ends(runner: Runner, cursor: str) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", tools=[tool("a")], cursor=cursor)])
        ran = runner.run("go")
    assert offered(provider) == ["echo__a"]
    assert ran.finished["answer"] == "done"


def test_refusals_have_the_outcomes_of_the_contract_and_reach_no_server(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    named = ["echo__echo", "echo__ping", "other__ping", "echo__nothing", "third__ping"]
    wanted = [call(f"c{n}", name, {"message": "x"}) for n, name in enumerate(named)]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[
                stdio_entry("echo", record=str(record)),
                stdio_entry("other", record=str(record)),
                stdio_entry("third", record=str(record)),
            ],
            use=[{"server_id": "echo", "tools": ["ping", "fail"]}, {"other": []}],
            assistant={"approval": {"echo.ping": "deny"}, "limits": {"parameter_attempts": 1}},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["not_allowed", "denied", "not_allowed", "unknown_tool", "unknown_tool"]
    started = [(event["server"], event["tool"]) for event in ran.of("tool_call_started")]
    assert started == [("echo", "echo"), ("echo", "ping"), ("other", "ping"), ("", ""), ("", "")]
    assert offered(provider) == ["echo__fail"]
    assert received(record, "tools/call") == []
    reasons = left_out(exported(ran))
    assert reasons["echo__ping"] == "denied_by_policy"
    assert reasons["echo__echo"] == "not_whitelisted"


@pytest.mark.parametrize(
    ("approval", "decisions"),
    [
        ({"default": "deny", "echo.ping": "allow"}, {"ping": "ok", "count": "denied"}),
        ({"echo.*": "deny", "echo.ping": "allow"}, {"ping": "denied", "count": "denied"}),
        ({"echo.p*": "allow", "echo.*": "ask"}, {"ping": "denied", "count": "denied"}),
        ({"default": "ask", "echo.ping": "allow"}, {"ping": "ok", "count": "denied"}),
    ],
)
def test_deny_beats_the_exact_name_and_ask_beats_allow_among_patterns(
    runner: Runner, tmp_path: Path, approval: Json, decisions: Json
) -> None:
    wanted = [call(name, f"echo__{name}") for name in decisions]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", entry={"env": {"COUNT_FILE": str(tmp_path / "n")}})],
            assistant={"approval": approval},
        )
        ran = runner.run("go")
    assert ran.outcomes == list(decisions.values())


def test_tools_over_the_limit_are_left_out_in_order(runner: Runner) -> None:
    script = [calls(call("c1", "more__ping")), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo"), stdio_entry("more")],
            assistant={"limits": {"max_tools": 9}},
        )
        ran = runner.run("go")
    assert len(offered(provider)) == 9
    assert offered(provider)[-1] == "more__echo"
    assert ran.outcomes == ["not_allowed"]
    assert left_out(exported(ran))["more__ping"] == "over_limit"


def test_twenty_tools_are_offered_by_default(runner: Runner) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo", tools=[tool(f"t{n}") for n in range(25)])]
        )
        runner.run("go")
    assert offered(provider) == [f"echo__t{n}" for n in range(20)]


def test_a_name_listed_twice_is_offered_once(runner: Runner) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", tools=[tool("a"), tool("a")])])
        ran = runner.run("go")
    assert offered(provider) == ["echo__a"]
    assert "name_collision" in left_out(exported(ran)).values()


def test_samples_of_offered_tools_form_one_system_message(runner: Runner) -> None:
    ping = [
        {"name": f"s{n}", "description": f"d{n}", "input": {"n": n}, "output": "p"}
        for n in range(4)
    ]
    ping[0]["output"] = {"answer": ["ü"]}
    entry = {"samples": {"ping": ping, "fail": [{"name": "x", "input": {}, "output": "y"}]}}
    with FakeProvider([text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", entry=entry)],
            use=[{"server_id": "echo", "tools": ["ping"]}],
            assistant={
                "prompts": [
                    {"role": "system", "content": "You help."},
                    {"role": "user", "content": "An example"},
                ]
            },
        )
        runner.run("go")
    assert [m["role"] for m in provider.requests[0].messages] == [
        "system",
        "system",
        "user",
        "user",
    ]
    section = provider.requests[0].messages[1]["content"]
    assert section.startswith(
        "## MCP Tool Usage Examples\n\n### echo__ping\n\nAnswer pong.\n\n"
        "**Example 1 - s0**\n\nd0\n\n"
        'Input:\n```json\n{"n": 0}\n```\n\nOutput:\n```json\n{"answer": ["ü"]}\n```\n\n'
        "**Example 2 - s1**"
    )
    assert "**Example 3 - s2**" in section
    assert "s3" not in section and "echo__fail" not in section


def test_there_is_no_samples_section_without_samples(runner: Runner) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("go")
    assert [m["role"] for m in provider.requests[0].messages] == ["user"]
