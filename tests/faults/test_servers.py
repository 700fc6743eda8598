"""Servers that are down, slow, talk nonsense or die, and the limits of calls (faults 38 to 47)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agents.mcp_client.pool import ServerPool
from tests.fake_provider import FakeProvider, Step, call, calls, text
from tests.faults.test_results import LOCAL, exported, told
from tests.running import Json, Runner
from tests.servers import http_entry, received, stdio_entry
from tests.servers.raw_http import raw_http_server

PING = calls(call("c1", "echo__ping"))


@pytest.fixture
def quick_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers get one second to connect."""
    monkeypatch.setattr(
        "agents.runs.resources.ServerPool.__init__",
        lambda self, _init=ServerPool.__init__: _init(self, connect_seconds=1.0),
    )


def offered(provider: FakeProvider, request: int = 0) -> list[str]:
    return [tool["function"]["name"] for tool in provider.requests[request].body.get("tools", [])]


def left_out(trace: Json) -> dict[str, str]:
    """Reason by flat name, from the catalog report of a trace."""
    for span in trace["spans"]:
        for value in span["attributes"].values():
            found = _report_in(value)
            if found is not None:
                return {entry["name"]: entry["reason"] for entry in found["left_out"]}
    raise AssertionError("the trace holds no report of the catalog")


def _report_in(value: object) -> Json | None:
    if isinstance(value, str) and "left_out" in value:
        value = json.loads(value)
    return value if isinstance(value, dict) and "left_out" in value else None


DOWN: dict[str, Json] = {
    "no such command": {"server_id": "bad", "transport": "stdio", "command": "/no/such/program"},
    "ends at once": stdio_entry("bad", exit_code=1, stderr="no licence found"),
    "says nothing": stdio_entry("bad", silent=["*"]),
    "lists nothing": stdio_entry("bad", silent=["tools/list"]),
    "talks nonsense": stdio_entry("bad", noise=["hello", "{}", "[1]"], silent=["*"]),
    "ends while listing": stdio_entry("bad", exit_on="tools/list"),
    "refuses connections": http_entry("bad", "http://127.0.0.1:1/mcp"),
    "needs a variable": stdio_entry("bad", entry={"env": {"TOKEN": "$ENV.NOT_SET_ANYWHERE"}}),
    "no such module": {"server_id": "bad", "transport": "python", "module": "no.such.module"},
}


@pytest.mark.usefixtures("quick_to_give_up")
@pytest.mark.parametrize("entry", DOWN.values(), ids=DOWN.keys())
def test_a_server_that_does_not_answer_is_left_out_and_the_run_goes_on(
    runner: Runner, entry: Json
) -> None:
    began = time.monotonic()
    script = [calls(call("c1", "echo__ping"), call("c2", "bad__anything")), text("done")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[entry, stdio_entry("echo")])
        ran = runner.run("go")
    assert "echo__ping" in offered(provider)
    assert ran.outcomes == ["ok", "server_unavailable"]
    assert ran.of("tool_call_finished")[0]["correctable"] is False
    assert ran.finished["answer"] == "done"
    assert left_out(exported(ran)) == {"bad__": "server_unavailable"}
    assert time.monotonic() - began < 10


def test_an_unset_variable_is_named_in_the_trace(runner: Runner) -> None:
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, servers=[DOWN["needs a variable"]])
        ran = runner.run("go")
    assert "NOT_SET_ANYWHERE" in json.dumps(exported(ran))


def test_a_server_that_dies_in_a_call_is_started_again_for_the_next(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    script = [
        calls(call("c1", "echo__crash")),
        calls(call("c2", "echo__echo", {"message": "back"})),
        text("done"),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", record=str(record))])
        ran = runner.run("go")
    assert ran.outcomes == ["server_unavailable", "ok"]
    assert told(provider, 2)[-1] == "back"
    names = [m["params"]["name"] for m in received(record, "tools/call")]
    assert names == ["crash", "echo"]


def test_a_crash_beside_other_calls_sends_none_of_them_twice(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    wanted = [call("c1", "echo__slow", {"seconds": 30}), call("c2", "echo__crash")]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", record=str(record))])
        ran = runner.run("go")
    assert ran.outcomes == ["server_unavailable"] * 2
    assert len(received(record, "tools/call")) == 2


NONSENSE = {
    "a result that is no object": '{"jsonrpc": "2.0", "id": $ID, "result": 7}',
    "content that is no list": '{"jsonrpc": "2.0", "id": $ID, "result": {"content": "x"}}',
    "an unknown kind of part": (
        '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "hologram"}]}}'
    ),
}


@pytest.mark.parametrize("line", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_in_an_answer_is_a_result(runner: Runner, line: str) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", lines={"ping": [line]})],
            assistant={"limits": {"tool_timeout_seconds": 2}},
        )
        ran = runner.run("go")
    assert ran.outcomes[0] in ("ok", "protocol_error", "tool_error")
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize("rule", [{"drop": True}, {"half": True}, {"status": 500, "body": "x"}])
def test_a_web_server_that_fails_in_a_call_gives_a_result(runner: Runner, rule: Json) -> None:
    with FakeProvider([PING, text("done")]) as provider, raw_http_server(**rule) as server:
        runner.configure(
            provider,
            servers=[http_entry("echo", server.url)],
            assistant={"limits": {"tool_timeout_seconds": 2}},
        )
        ran = runner.run("go")
        assert server.methods().count("tools/call") == 1
    assert ran.outcomes[0] in ("server_unavailable", "protocol_error")
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize(
    ("assistant", "server", "expected"),
    [
        ({"tool_timeout_seconds": 0.3}, {}, 0.3),
        ({"tool_max_seconds": 0.3}, {}, 0.3),
        ({}, {"tool_timeout_seconds": 0.3}, 0.3),
        ({}, {"tool_max_seconds": 0.3}, 0.3),
        ({"tool_timeout_seconds": 0.1}, {"tool_timeout_seconds": 0.6}, 0.6),
    ],
)
def test_a_call_ends_at_the_limit_and_the_servers_limit_wins(
    runner: Runner, tmp_path: Path, assistant: Json, server: Json, expected: float
) -> None:
    record = tmp_path / "received"
    with FakeProvider([calls(call("c1", "echo__slow", {"seconds": 3600})), text("done")]) as it:
        runner.configure(
            it,
            servers=[stdio_entry("echo", record=str(record), entry=server)],
            assistant={"limits": assistant},
        )
        ran = runner.run("go")
    [finished] = ran.of("tool_call_finished")
    assert (finished["outcome"], finished["correctable"]) == ("timeout", False)
    assert expected * 1000 <= finished["duration_ms"] < expected * 1000 + 1500
    assert received(record, "notifications/cancelled")
    assert told(it)[0].startswith("Error: No answer within")


def test_progress_moves_the_idle_limit_and_never_the_hard_one(runner: Runner) -> None:
    wanted = [
        call("c1", "echo__slow", {"seconds": 0.8, "steps": 8}),
        call("c2", "echo__slow", {"seconds": 30, "steps": 300}),
    ]
    limits = {"tool_timeout_seconds": 0.4, "tool_max_seconds": 1.5}
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"limits": limits})
        ran = runner.run("go")
    assert ran.outcomes == ["ok", "timeout"]


@pytest.mark.parametrize(("tool", "outcome"), [("stuck", "timeout"), ("leave", "tool_error")])
def test_a_python_tool_that_misbehaves_gives_a_result(
    runner: Runner, tool: str, outcome: str
) -> None:
    with FakeProvider([calls(call("c1", f"local__{tool}")), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[LOCAL],
            assistant={"limits": {"tool_timeout_seconds": 0.3, "parameter_attempts": 1}},
        )
        ran = runner.run("go")
    assert ran.outcomes == [outcome]
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize("servers", [["local", "local"], ["local", "more"]])
@pytest.mark.parametrize("width", [1, 2])
def test_calls_of_one_turn_meet_unless_their_server_takes_one_at_a_time(
    runner: Runner, servers: list[str], width: int
) -> None:
    wanted = [call(f"c{n}", f"{name}__meet") for n, name in enumerate(servers)]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[
                {**LOCAL, "server_id": name, "parallel_calls": width} for name in ("local", "more")
            ],
            assistant={"limits": {"parameter_attempts": 1}},
        )
        runner.run("go")
    is_alone = width == 1 and servers[0] == servers[1]
    assert told(provider) == ["nobody came" if is_alone else "met"] * 2


def test_calls_to_a_child_process_run_at_the_same_time(runner: Runner) -> None:
    wanted = [call(f"c{n}", "echo__slow", {"seconds": 0.5}) for n in range(6)]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        began = time.monotonic()
        ran = runner.run("go")
    assert ran.outcomes == ["ok"] * 6
    assert time.monotonic() - began < 2.5


@pytest.mark.parametrize(
    ("entry", "limits"), [({"parallel_calls": 1}, {}), ({}, {"parallel_calls": 1})]
)
def test_calls_run_one_after_the_other_and_in_order_where_it_is_wanted(
    runner: Runner, entry: Json, limits: Json
) -> None:
    wanted = [call(f"c{n}", "local__stamp", {"seconds": 0.1}) for n in range(3)]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[{**LOCAL, **entry}], assistant={"limits": limits})
        runner.run("go")
    times = [float(moment) for content in told(provider) for moment in content.split()]
    assert times == sorted(times)


def test_results_stand_in_the_order_of_the_calls_whenever_they_come(runner: Runner) -> None:
    wanted = [
        call("c1", "echo__slow", {"seconds": 0.3}),
        call("c2", "echo__ping"),
        call("c3", "nothing"),
    ]
    once = {"limits": {"parameter_attempts": 1}}
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=once)
        ran = runner.run("go")
    assert [m.get("tool_call_id") for m in provider.requests[1].messages[2:]] == ["c1", "c2", "c3"]
    assert [event["id"] for event in ran.of("tool_call_finished")] == ["c3", "c2", "c1"]


def test_a_changed_list_of_tools_is_seen_by_the_next_run(runner: Runner) -> None:
    later = [{"name": "fresh", "inputSchema": {"type": "object"}}]
    script: list[Step] = [calls(call("c1", "echo__change")), text("one"), text("two")]
    with FakeProvider(script) as provider:
        tools = [{"name": "change", "inputSchema": {"type": "object"}}]
        runner.configure(provider, servers=[stdio_entry("echo", tools=tools, changed_tools=later)])
        runner.run("go", "on")
    assert [offered(provider, n) for n in range(3)] == [
        ["echo__change"], ["echo__change"], ["echo__fresh"],
    ]  # fmt: skip
