"""Python modules as servers: what is offered, how arguments arrive, and what becomes of a call."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits
from agents.loop.results import Outcome, PartKind, reply_text
from agents.mcp_client.pool import ServerPool
from tests.mcp_client import sample_tools
from tests.mcp_client.calling import Server, text_of

QUICK = CallLimits(idle_seconds=0.2, hard_seconds=5)


@pytest.fixture(autouse=True)
def free_threads() -> Iterator[None]:
    """Let go of the threads that a test left behind."""
    sample_tools.RELEASE.clear()
    yield
    sample_tools.RELEASE.set()


def module(pool: ServerPool, name: str = "tests.mcp_client.sample_tools") -> Server:
    """A server for a module."""
    return Server(pool, {"server_id": "local", "transport": "python", "module": name})


async def schema_of(pool: ServerPool, tool: str) -> dict[str, Any]:
    """The schema of one of the sample tools."""
    (spec,) = [spec for spec in await module(pool).tools() if spec.name == tool]
    assert isinstance(spec.input_schema, dict)
    return spec.input_schema


async def test_only_marked_functions_are_offered_in_their_order(pool: ServerPool) -> None:
    listing = await module(pool).caller.list_tools("local")
    names = [spec.name for spec in listing.tools]
    assert listing.protocol == "python"
    assert names[:4] == ["add", "notes.search", "shapes", "loose"]
    assert "helper_that_is_not_marked" not in names


async def test_without_marks_the_public_functions_of_the_module_are_offered(
    pool: ServerPool,
) -> None:
    assert await module(pool, "tests.mcp_client.plain_tools").names() == ["last_part"]


async def test_descriptions_and_hints_come_from_docstring_and_mark(pool: ServerPool) -> None:
    specs = {spec.name: spec for spec in await module(pool).tools()}
    assert specs["add"].description == ("Add two numbers.\n\nThe second one is 1 unless given.")
    assert specs["notes.search"].description == "Look it up."
    assert specs["notes.search"].annotations == {"readOnlyHint": True, "idempotentHint": True}
    assert specs["shapes"].annotations == {"destructiveHint": True}
    assert (specs["notes.search"].is_repeatable, specs["add"].is_repeatable) == (True, False)


async def test_the_schema_follows_the_signature(pool: ServerPool) -> None:
    assert await schema_of(pool, "add") == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert await schema_of(pool, "nothing") == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


async def test_enums_dataclasses_and_literals_have_their_schemas(pool: ServerPool) -> None:
    schema = await schema_of(pool, "shapes")
    assert schema["required"] == ["colour", "point"]
    assert schema["properties"]["colour"]["enum"] == ["red", "blue"]
    assert schema["properties"]["point"]["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
    }
    options = {"properties": {"depth": {"type": "integer"}}, "type": "object"}
    assert schema["$defs"] == {"Options": options}
    assert schema["properties"]["kind"] == {
        "enum": ["a", "b"],
        "type": "string",
        "default": "a",
    }
    assert schema["properties"]["names"] == {"items": {"type": "string"}, "type": "array"}
    assert schema["properties"]["anything"] == {"default": None}


async def test_a_parameter_without_a_possible_schema_takes_anything(pool: ServerPool) -> None:
    schema = await schema_of(pool, "loose")
    assert schema["properties"]["mark"] == {"default": 3}
    assert schema["additionalProperties"] is True
    assert "rest" not in schema["properties"]
    reply = await module(pool).call("loose", {"first": "a", "other": 1})
    assert text_of(reply) == "a 3 ['other']"


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("add", {"a": 1}, "2"),
        ("add", {"a": 2**62, "b": 2**62}, str(2**63)),
        ("notes.search", {"query": "x", "limit": 2}, '["x","x"]'),
        ("nothing", {}, "(no output)"),
        ("now", {}, '{"at":"2026-01-02T03:04:05","nan":"NaN","set":[1]}'),
    ],
)
async def test_what_a_function_returns_reaches_the_model(
    pool: ServerPool, tool: str, arguments: dict[str, Any], text: str
) -> None:
    reply = await module(pool).call(tool, arguments)
    assert (reply.outcome, reply_text(reply)) == (Outcome.OK, text)


async def test_values_arrive_as_the_types_that_the_function_names(pool: ServerPool) -> None:
    arguments = {"colour": "red", "point": {"x": 1}, "options": {"depth": 2}}
    reply = await module(pool).call("shapes", arguments)
    assert reply.structured == {
        "colour": "red",
        "point": {"x": 1, "y": 0},
        "kind": "a",
        "options": {"depth": 2},
        "names": [],
    }


async def test_what_json_does_not_know_is_shown_as_python_shows_it(pool: ServerPool) -> None:
    assert str((await module(pool).call("odd")).structured).startswith("<object object")
    assert "[...]" in str((await module(pool).call("circle")).structured)


async def test_content_parts_are_passed_on(pool: ServerPool) -> None:
    (part,) = (await module(pool).call("picture")).parts
    assert (part.kind, part.data) == (PartKind.IMAGE, "aGk=")


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ("broken", "KeyError: 'missing key'"),
        ("broken_later", "ValueError: bad value"),
        ("leave", "RuntimeError: SystemExit: 3"),
        ("leave_later", "RuntimeError: SystemExit: 4"),
        ("cancel_itself", "CancelledError: it cancelled itself"),
    ],
)
async def test_an_exception_is_a_tool_error(pool: ServerPool, tool: str, error: str) -> None:
    reply = await module(pool).call(tool)
    assert (reply.outcome, reply.error) == (Outcome.TOOL_ERROR, error)


@pytest.mark.parametrize("tool", ["hang", "hang_later"])
async def test_a_function_that_hangs_is_abandoned_at_the_limit(pool: ServerPool, tool: str) -> None:
    began = time.monotonic()
    reply = await module(pool).call(tool, limits=QUICK)
    assert (reply.outcome, "0.2 s" in reply.error) == (Outcome.TIMEOUT, True)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("tool", ["hang", "hang_later"])
async def test_a_cancelled_caller_does_not_wait_for_the_function(
    pool: ServerPool, tool: str
) -> None:
    server = module(pool)
    await server.names()
    task = asyncio.create_task(server.call(tool))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


async def test_sync_functions_do_not_hold_up_each_other(pool: ServerPool) -> None:
    server = module(pool)
    hanging = [asyncio.create_task(server.call("hang")) for _ in range(40)]
    assert (await server.call("add", {"a": 1})).structured == 2
    sample_tools.RELEASE.set()
    assert {reply.outcome for reply in await asyncio.gather(*hanging)} == {Outcome.OK}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing a required argument: 'a'"),
        ({"a": "x"}, "argument a: Input should be a valid integer"),
        ({"a": 1, "c": 2}, "unexpected keyword argument 'c'"),
    ],
)
async def test_arguments_that_do_not_fit_are_invalid_params(
    pool: ServerPool, arguments: dict[str, Any], said: str
) -> None:
    reply = await module(pool).call("add", arguments)
    assert (reply.outcome, reply.rpc_code) == (Outcome.PROTOCOL_ERROR, -32602)
    assert said in reply.error


async def test_a_tool_that_the_module_does_not_have_is_not_found(pool: ServerPool) -> None:
    reply = await module(pool).call("helper_that_is_not_marked")
    assert (reply.outcome, reply.rpc_code) == (Outcome.PROTOCOL_ERROR, -32601)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tests.mcp_client.no_such_module", "there is no module tests.mcp_client.no_such_module"),
        ("no_such_package.tools", "there is no module no_such_package.tools"),
        ("tests.mcp_client.failing_tools", "RuntimeError: no licence file"),
        ("", "module is empty"),
        ("..", "failed while it was imported"),
    ],
)
async def test_a_module_that_cannot_be_imported_is_unavailable(
    pool: ServerPool, name: str, said: str
) -> None:
    with pytest.raises(ServerUnavailable) as caught:
        await module(pool, name).names()
    assert said in caught.value.reason


def test_a_function_that_hangs_does_not_hold_up_the_exit() -> None:
    code = """
import asyncio
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.pool import ServerPool
from agents.loop.interfaces import CallLimits, ToolSpec
async def main():
    config = ServerConfig(server_id="l", transport="python", module="tests.mcp_client.sample_tools")
    reply = await ServerPool().servers({"l": config}).call_tool(
        ToolSpec(server="l", name="hang"), {}, limits=CallLimits(idle_seconds=0.1, hard_seconds=1))
    print(reply.outcome)
asyncio.run(main())
"""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20
    )
    assert (done.stdout.strip(), done.stderr) == ("timeout", "")
    assert time.monotonic() - began < 10
