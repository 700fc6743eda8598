"""What tools give back, and what the model and the trace get of it (faults 35 to 37, 48, 55)."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Json, Ran, Runner
from tests.servers import received, stdio_entry

LOCAL: Json = {
    "server_id": "local",
    "transport": "python",
    "module": "tests.faults.local_tools",
}


def reply(*parts: str, **fields: Any) -> Json:
    return {"content": [{"type": "text", "text": part} for part in parts], **fields}


def told(provider: FakeProvider, request: int = 1) -> list[str]:
    """The tool messages of a request."""
    return [m["content"] for m in provider.requests[request].messages if m["role"] == "tool"]


def exported(ran: Ran) -> Json:
    """The run's trace, as ``export_trace`` writes it."""
    out = StringIO()
    call_command("export_trace", ran.of("run_started")[0]["trace"], "--format", "json", stdout=out)
    trace: Json = json.loads(out.getvalue())
    return trace


def run_one(runner: Runner, result: Json, **configured: Any) -> tuple[Ran, str, FakeProvider]:
    """One call of ``ping`` with this raw result: the run, and what the model was told."""
    with FakeProvider([calls(call("c1", "echo__ping")), text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo", results={"ping": result})], **configured
        )
        ran = runner.run("go")
    return ran, told(provider)[0], provider


def test_three_kinds_of_errors_are_results_and_the_run_goes_on(runner: Runner) -> None:
    rpc = {"code": -32603, "message": "broken inside"}
    servers = [stdio_entry("echo", errors={"ping": rpc}), LOCAL]
    wanted = [call("a", "echo__fail"), call("b", "echo__ping"), call("c", "local__explode")]
    once = {"limits": {"parameter_attempts": 1}}
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=servers, assistant=once)
        ran = runner.run("go")
    assert ran.outcomes == ["tool_error", "protocol_error", "tool_error"]
    results = told(provider)
    assert all(content.startswith("Error: ") for content in results)
    assert results[0] == "Error: it failed"
    assert "broken inside" in results[1]
    assert "boom" in results[2]
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize(
    ("error", "correctable"),
    [
        ({"code": -32602, "message": "timeout"}, True),
        ({"code": -32601, "message": "network"}, True),
        ({"code": -32603, "message": "argument missing"}, False),
        ({"code": -32000, "message": "invalid"}, False),
        ({"code": 7, "message": "required"}, False),
    ],
)
def test_a_protocol_error_is_judged_by_its_code(
    runner: Runner, error: Json, correctable: bool
) -> None:
    with FakeProvider([calls(call("c1", "echo__ping")), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", errors={"ping": error})])
        ran = runner.run("go")
    [finished] = ran.of("tool_call_finished")
    assert (finished["outcome"], finished["correctable"]) == ("protocol_error", correctable)
    assert bool(ran.of("parameter_retry")) is correctable


@pytest.mark.parametrize(
    ("error", "correctable"),
    [
        ("network_id is required", True),
        ("'timeout' must be a number", True),
        ("the field `connection` is missing", True),
        ("connection refused", False),
        ("Connection: invalid argument", False),
        ("Internal Error: missing", False),
        ("request timed out", False),
        ("something else", True),
        ("informational", True),
    ],
)
def test_a_tools_error_text_is_read_by_whole_words(
    runner: Runner, error: str, correctable: bool
) -> None:
    ran, content, _ = run_one(runner, reply(error, isError=True))
    assert ran.of("tool_call_finished")[0]["correctable"] is correctable
    assert content == f"Error: {error}"


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (reply("a", "b"), "a\nb"),
        (reply('"quoted"'), '"quoted"'),
        (reply("9007199254740993"), "9007199254740993"),
        (reply("  spaces \n"), "  spaces \n"),
        ({"content": [], "structuredContent": {"id": 9007199254740993}}, '{"id":9007199254740993}'),
        ({"content": [], "structuredContent": {"ü": [1, 2.5]}}, '{"ü":[1,2.5]}'),
        (reply("text", structuredContent={"n": 1}), "text"),
        ({"content": []}, "(no output)"),
        (reply(""), "(no output)"),
    ],
)
def test_a_results_text_reaches_the_model_untouched(
    runner: Runner, result: Json, content: str
) -> None:
    ran, got, _ = run_one(runner, result)
    assert got == content
    assert ran.outcomes == ["ok"]
    assert ran.finished["answer"] == "done"


def test_half_a_character_does_not_end_a_run(runner: Runner) -> None:
    ran, got, _ = run_one(runner, reply("bad \ud800 half"))
    assert got.startswith("bad ") and got.endswith(" half")
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize("vision", [True, False])
def test_an_image_goes_as_a_picture_or_as_a_short_text_and_never_as_base64_text(
    runner: Runner, vision: bool
) -> None:
    wanted = [call("c1", "echo__img"), call("c2", "echo__ping")]
    with FakeProvider([calls(*wanted), text("done"), text("later")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], provider_fields={"vision": vision}
        )
        ran = runner.run("go")
        runner.run("on", conversation=ran.conversation)
    for request in provider.requests[1:]:
        assert [m["role"] for m in request.messages][:4] == ["user", "assistant", "tool", "tool"]
        pictures = [m for m in request.messages if isinstance(m["content"], list)]
        assert len(pictures) == vision
        for message in request.messages:
            texts = [p for p in message["content"] or [] if not isinstance(p, dict)]
            assert len("".join(texts)) < 1000
        if vision:
            url = pictures[0]["content"][1]["image_url"]["url"]
            assert url.startswith("data:image/png;base64,") and len(url) > 300_000
    assert "image/png" in told(provider)[0]
    row = next(row for row in ran.stored() if row.role == "tool")
    [picture] = row.attachments.all()
    assert (picture.mime_type, len(bytes(picture.content))) == ("image/png", 225_008)
    assert len(json.dumps(row.content)) < 1000


def test_a_large_result_is_cut_says_so_and_is_whole_in_the_trace(runner: Runner) -> None:
    lines = "\n".join(f"line {n:06}" for n in range(80_000))
    wanted = calls(call("c1", "local__lines", {"count": 80_000}))
    with FakeProvider([wanted, text("done")]) as provider:
        runner.configure(provider, servers=[LOCAL])
        ran = runner.run("go")
    [content] = told(provider)
    assert len(content) <= 8000
    assert content.startswith("line 000000\n") and content.endswith("line 079999")
    [cut] = [line for line in content.splitlines() if "left out" in line]
    kept = len(content) - len(cut) - 2
    assert cut == f"[... {len(lines) - kept:,} of {len(lines):,} characters left out ...]"
    [finished] = ran.of("tool_call_finished")
    assert (finished["truncated"], finished["chars"]) == (True, len(lines))
    trace = json.dumps(exported(ran))
    assert "line 040000" in trace
    assert "tool_result_max_chars" in trace


def test_all_results_of_a_turn_fit_its_limit_and_the_longest_are_cut_first(
    runner: Runner,
) -> None:
    sizes = [9000, 300, 4000]
    wanted = [call(f"c{n}", "echo__big", {"chars": size}) for n, size in enumerate(sizes)]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": {"turn_result_max_chars": 6000}},
        )
        ran = runner.run("go")
    results = told(provider)
    assert sum(map(len, results)) <= 6000
    assert results[1] == "x" * 300
    assert "of 9,000 characters left out" in results[0]
    assert "of 4,000 characters left out" in results[2]
    finished = {event["id"]: event for event in ran.of("tool_call_finished")}
    assert [finished[f"c{n}"]["truncated"] for n in range(3)] == [True, False, True]
    assert [finished[f"c{n}"]["chars"] for n in range(3)] == sizes
    assert "turn_result_max_chars" in json.dumps(exported(ran))


def test_one_failed_call_leaves_its_neighbours_their_results(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    wanted = [
        call("c1", "echo__echo", {"message": "a"}),
        call("c2", "echo__fail"),
        call("c3", "echo__echo", {"message": "b"}),
    ]
    with FakeProvider([calls(*wanted), calls(wanted[1]), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo", record=str(record))])
        ran = runner.run("go")
    assert told(provider) == ["a", "Error: it failed", "b"]
    assert ran.outcomes == ["ok", "tool_error", "ok", "tool_error"]
    names = [m["params"]["name"] for m in received(record, "tools/call")]
    assert sorted(names) == ["echo", "echo", "fail", "fail"]


def test_a_read_only_tool_that_failed_in_company_runs_once_more_alone(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    schema = {"type": "object", "properties": {}}
    tools = [
        {"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
        {"name": "again", "inputSchema": schema, "annotations": {"idempotentHint": True}},
        {"name": "write", "inputSchema": schema},
        {"name": "down", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
        {"name": "good", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
    ]
    busy = reply("one request at a time", isError=True)
    server = stdio_entry(
        "echo",
        tools=tools,
        results={
            "read": busy,
            "again": busy,
            "write": busy,
            "down": reply("connection lost", isError=True),
            "good": reply("fine"),
        },
        record=str(record),
    )
    names = ["read", "again", "write", "down", "good"]
    wanted = [call(name, f"echo__{name}") for name in names]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(
            provider, servers=[server], assistant={"limits": {"parameter_attempts": 1}}
        )
        ran = runner.run("go")
    sent = [m["params"]["name"] for m in received(record, "tools/call")]
    assert sorted(sent) == sorted([*names, "read", "again"])
    assert sent[-2:] == ["read", "again"]
    assert len(ran.of("tool_call_finished")) == 5


def test_a_single_call_and_a_one_at_a_time_server_are_never_sent_twice(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    busy = {"ping": reply("one request at a time", isError=True)}
    server = stdio_entry("echo", results=busy, record=str(record), entry={"parallel_calls": 1})
    pair = [call("a", "echo__ping"), call("b", "echo__ping")]
    with FakeProvider([calls(pair[0]), text("done"), calls(*pair), text("done")]) as provider:
        runner.configure(
            provider, servers=[server], assistant={"limits": {"parameter_attempts": 1}}
        )
        runner.run("go", "again")
    assert len(received(record, "tools/call")) == 3
