"""Calls over stdio: every outcome, limits, cancel, and that nothing is ever sent twice."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agents.loop.interfaces import CallLimits, ToolSpec
from agents.loop.results import ContentPart, Outcome, PartKind, ToolReply
from agents.mcp_client.pool import ServerPool
from tests.mcp_client.calling import Server, text_of, until
from tests.servers import received, sdk_entry, stdio_entry

QUICK = CallLimits(idle_seconds=0.3, hard_seconds=5)
ERAS = [pytest.param(False, id="legacy"), pytest.param(True, id="modern")]


@pytest.mark.parametrize("modern", ERAS)
async def test_the_text_of_a_tool_arrives(pool: ServerPool, modern: bool) -> None:
    server = Server(pool, stdio_entry(modern=modern))
    reply = await server.call("echo", {"message": "héllo 世界"})
    part = ContentPart(kind=PartKind.TEXT, text="héllo 世界")
    assert reply == ToolReply(outcome=Outcome.OK, parts=(part,))


async def test_the_sdks_own_server_is_served_in_the_modern_era(pool: ServerPool) -> None:
    server = Server(pool, sdk_entry())
    listing = await server.caller.list_tools("echo")
    assert listing.protocol == "2026-07-28"
    assert text_of(await server.call("echo", {"message": "hi"})) == "hi"


async def test_a_null_argument_reaches_the_tool(pool: ServerPool, tmp_path: Path) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record)))
    await server.call("ping", {"a": None, "big": 2**63, "list": [None]})
    sent = received(record, "tools/call")[0]["params"]["arguments"]
    assert sent == {"a": None, "big": 2**63, "list": [None]}


async def test_isError_is_a_tool_error_with_its_parts(pool: ServerPool) -> None:
    reply = await Server(pool, stdio_entry()).call("fail")
    assert (reply.outcome, text_of(reply)) == (Outcome.TOOL_ERROR, "it failed")


@pytest.mark.parametrize("code", [-32602, -32601, -32603, -32000, 1, -32700])
async def test_a_json_rpc_error_is_a_protocol_error_with_its_code(
    pool: ServerPool, code: int
) -> None:
    entry = stdio_entry(errors={"ping": {"code": code, "message": "no such thing"}})
    reply = await Server(pool, entry).call("ping")
    assert (reply.outcome, reply.rpc_code) == (Outcome.PROTOCOL_ERROR, code)
    assert "no such thing" in reply.error


async def test_a_json_rpc_timeout_is_a_timeout(pool: ServerPool) -> None:
    entry = stdio_entry(errors={"ping": {"code": -32001, "message": "too slow"}})
    assert (await Server(pool, entry).call("ping")).outcome is Outcome.TIMEOUT


@pytest.mark.parametrize("modern", ERAS)
async def test_an_idle_call_times_out_and_the_server_is_told(
    pool: ServerPool, tmp_path: Path, modern: bool
) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record), modern=modern))
    await server.call("ping")
    began = time.monotonic()
    reply = await server.call("slow", {"seconds": 60}, limits=QUICK)
    assert time.monotonic() - began < 2
    assert reply.outcome is Outcome.TIMEOUT
    assert "No answer within 0.3 s" in reply.error
    await until(lambda: bool(received(record, "notifications/cancelled")))
    call = received(record, "tools/call")[-1]
    assert received(record, "notifications/cancelled")[0]["params"]["requestId"] == call["id"]
    assert text_of(await server.call("ping")) == "pong"


async def test_progress_extends_the_idle_limit_and_is_told(pool: ServerPool) -> None:
    seen: list[tuple[float, float | None, str]] = []

    async def note(progress: float, total: float | None, message: str) -> None:
        seen.append((progress, total, message))

    server = Server(pool, stdio_entry())
    reply = await server.call("slow", {"seconds": 0.9, "steps": 6}, limits=QUICK, on_progress=note)
    assert (reply.outcome, text_of(reply)) == (Outcome.OK, "slept")
    assert seen[0] == (1, 6, "step 1")


async def test_progress_never_extends_the_hard_maximum(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry())
    limits = CallLimits(idle_seconds=0.4, hard_seconds=0.6)
    began = time.monotonic()
    reply = await server.call("slow", {"seconds": 30, "steps": 200}, limits=limits)
    assert 0.5 < time.monotonic() - began < 2
    assert (reply.outcome, "0.6 s" in reply.error) == (Outcome.TIMEOUT, True)


async def test_a_failing_progress_callback_does_not_hurt_the_call(pool: ServerPool) -> None:
    async def fail(progress: float, total: float | None, message: str) -> None:
        raise ValueError("broken callback")

    server = Server(pool, stdio_entry())
    reply = await server.call("slow", {"seconds": 0.1, "steps": 2}, on_progress=fail)
    assert reply.outcome is Outcome.OK


@pytest.mark.parametrize("modern", ERAS)
async def test_a_cancelled_caller_is_cancelled_and_the_server_is_told(
    pool: ServerPool, tmp_path: Path, modern: bool
) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record), modern=modern))
    task = asyncio.create_task(server.call("slow", {"seconds": 60}))
    await until(lambda: bool(received(record, "tools/call")))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: bool(received(record, "notifications/cancelled")))
    assert text_of(await server.call("ping")) == "pong"


async def test_a_crash_is_a_result_and_is_sent_once(pool: ServerPool, tmp_path: Path) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record)))
    reply = await server.call("crash")
    assert reply.outcome is Outcome.SERVER_UNAVAILABLE
    assert "exit code 1" in reply.error
    assert "the server crashes now" in reply.error
    assert text_of(await server.call("echo", {"message": "back"})) == "back"
    names = [call["params"]["name"] for call in received(record, "tools/call")]
    assert names == ["crash", "echo"]


async def test_parallel_calls_of_a_crashing_server_all_get_a_result(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry())
    await server.names()
    slow = [asyncio.create_task(server.call("slow", {"seconds": 60})) for _ in range(3)]
    await asyncio.sleep(0)
    crash = await server.call("crash")
    replies = [crash, *await asyncio.gather(*slow)]
    assert {reply.outcome for reply in replies} == {Outcome.SERVER_UNAVAILABLE}


async def test_parallel_calls_do_not_wait_for_each_other(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry())
    await server.names()
    began = time.monotonic()
    replies = await asyncio.gather(*(server.call("slow", {"seconds": 0.3}) for _ in range(8)))
    assert {text_of(reply) for reply in replies} == {"slept"}
    assert time.monotonic() - began < 1.2


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"jsonrpc":"2.0","id":$ID,"result":[1,2]}'], "no JSON-RPC response"),
        (['{"jsonrpc":"2.0","id":$ID,"result":null}'], "no JSON-RPC response"),
        (['{"jsonrpc":"2.0","id":$ID}'], "no JSON-RPC response"),
        (['{"jsonrpc":"2.0","id":$ID,"error":"broken"}'], "broken"),
        (['{"jsonrpc":"2.0","id":$ID,"error":{"message":"no code"}}'], "no code"),
        (['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}'], "what?"),
        (['{"jsonrpc":"2.0","id":$ID,"result":{}}'], "neither content"),
    ],
)
async def test_a_nonsense_answer_is_a_protocol_error_in_one_line(
    pool: ServerPool, lines: list[str], said: str
) -> None:
    reply = await Server(pool, stdio_entry(lines={"ping": lines})).call("ping")
    assert reply.outcome is Outcome.PROTOCOL_ERROR
    assert said in reply.error
    assert "\n" not in reply.error


@pytest.mark.parametrize(
    "noise",
    [["Hello from the server", "", "{", "[]", "42", '"x"', "null", '{"a": 1}', "\x1b[31mred"]],
)
async def test_lines_that_are_no_messages_are_passed_over(
    pool: ServerPool, noise: list[str]
) -> None:
    good = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"fine"}]}}'
    server = Server(pool, stdio_entry(noise=noise, lines={"ping": [*noise, good]}))
    assert text_of(await server.call("ping")) == "fine"


async def test_a_server_that_only_prints_garbage_in_a_call_times_out(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry(lines={"ping": ["Traceback: boom"]}))
    reply = await server.call("ping", limits=QUICK)
    assert reply.outcome is Outcome.TIMEOUT


async def test_a_line_of_several_megabytes_arrives_whole(pool: ServerPool) -> None:
    reply = await Server(pool, stdio_entry()).call("big", {"chars": 5_000_000})
    assert len(text_of(reply)) == 5_000_000


async def test_an_image_arrives_as_base64(pool: ServerPool) -> None:
    reply = await Server(pool, stdio_entry()).call("img")
    (part,) = reply.parts
    assert (part.kind, part.mime_type, len(part.data)) == (PartKind.IMAGE, "image/png", 300_012)


@pytest.mark.parametrize("modern", ERAS)
async def test_a_result_that_does_not_fit_its_output_schema_still_arrives(
    pool: ServerPool, tmp_path: Path, modern: bool
) -> None:
    record = tmp_path / "record"
    tool: dict[str, Any] = {
        "name": "odd",
        "inputSchema": {"type": "object"},
        "outputSchema": {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer"}},
        },
    }
    result = {"content": [{"type": "text", "text": "still here"}], "structuredContent": {"n": "x"}}
    entry = stdio_entry(tools=[tool], results={"odd": result}, record=str(record), modern=modern)
    server = Server(pool, entry)
    reply = await server.call("odd")
    assert (reply.outcome, text_of(reply), reply.structured) == (
        Outcome.OK,
        "still here",
        {"n": "x"},
    )
    assert received(record, "tools/list") == []


async def test_numbers_keep_their_digits_and_nan_does_not_crash(pool: ServerPool) -> None:
    line = (
        '{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":'
        '{"id":9223372036854775807,"nan":NaN,"inf":-Infinity,"half":"\\ud800"}}}'
    )
    reply = await Server(pool, stdio_entry(lines={"ping": [line]})).call("ping")
    assert isinstance(reply.structured, dict)
    assert reply.structured["id"] == 9223372036854775807
    assert (reply.structured["nan"], reply.structured["inf"]) == ("NaN", "-Infinity")
    str(reply.structured["half"]).encode()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (
            "elicitation/create",
            {"message": "name?", "requestedSchema": {"type": "object", "properties": {}}},
        ),
        ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
        ("roots/list", {}),
        ("nonsense/method", {}),
    ],
)
async def test_what_the_server_asks_is_declined_at_once(
    pool: ServerPool, method: str, params: dict[str, Any]
) -> None:
    server = Server(pool, stdio_entry())
    reply = await server.call("ask", {"method": method, "params": params})
    assert '"error"' in text_of(reply)


async def test_a_result_that_asks_for_input_is_declined(pool: ServerPool) -> None:
    asked = {"resultType": "input_required", "inputRequests": {}}
    server = Server(pool, stdio_entry(modern=True, results={"ping": asked}))
    reply = await server.call("ping")
    assert reply.outcome is Outcome.PROTOCOL_ERROR
    assert "from a person" in reply.error


async def test_a_server_that_is_not_configured_is_a_result(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry())
    reply = await server.caller.call_tool(ToolSpec(server="other", name="x"), {}, limits=QUICK)
    assert reply.outcome is Outcome.SERVER_UNAVAILABLE
