"""Lists of tools: pages, odd entries, and when a list is asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import Sample
from agents.mcp_client.pool import ServerPool
from tests.mcp_client.calling import Server, text_of, until
from tests.servers import received, sdk_entry, stdio_entry

GOOD: dict[str, Any] = {"name": "good", "inputSchema": {"type": "object", "properties": {}}}
ERAS = [pytest.param(False, id="legacy"), pytest.param(True, id="modern")]


def tool(name: str, **fields: Any) -> dict[str, Any]:
    """A tool with odd fields."""
    return {**GOOD, "name": name, **fields}


@pytest.mark.parametrize("modern", ERAS)
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        True,
        {"type": "object"},
        {"properties": {"a": {"type": "array"}}},
        {"type": "string"},
        {"type": ["object", "null"]},
        {"type": "object", "properties": None},
        {"type": "object", "properties": [], "required": "a"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}},
    ],
)
async def test_an_odd_schema_is_listed_as_it_was_sent(
    pool: ServerPool, schema: Any, modern: bool
) -> None:
    odd = tool("odd", inputSchema=schema)
    server = Server(pool, stdio_entry(tools=[GOOD, odd, tool("last")], modern=modern))
    tools = await server.tools()
    assert [spec.name for spec in tools] == ["good", "odd", "last"]
    assert tools[1].input_schema == schema
    assert tools[1].invalid_reason == ""
    assert (await server.call("ping")).parts


@pytest.mark.parametrize("modern", ERAS)
@pytest.mark.parametrize("schema", [[], [1], "object", 5, 1.5, False])
async def test_a_schema_that_is_none_is_listed_as_invalid(
    pool: ServerPool, schema: Any, modern: bool
) -> None:
    odd = tool("odd", inputSchema=schema)
    tools = await Server(pool, stdio_entry(tools=[odd, GOOD], modern=modern)).tools()
    assert [bool(spec.invalid_reason) for spec in tools] == [True, False]


@pytest.mark.parametrize("modern", ERAS)
async def test_a_missing_schema_is_none(pool: ServerPool, modern: bool) -> None:
    tools = await Server(pool, stdio_entry(tools=[{"name": "bare"}], modern=modern)).tools()
    assert (tools[0].name, tools[0].input_schema, tools[0].invalid_reason) == ("bare", None, "")


@pytest.mark.parametrize(
    "odd",
    [
        tool(""),
        tool("  "),
        {"inputSchema": {"type": "object"}},
        {**GOOD, "name": None},
        {**GOOD, "name": 5},
        {**GOOD, "name": ["a"]},
        None,
        "tool",
        7,
        [],
    ],
)
async def test_a_tool_without_a_name_is_dropped_alone(pool: ServerPool, odd: Any) -> None:
    server = Server(pool, stdio_entry(tools=[GOOD, odd, tool("last")]))
    assert await server.names() == ["good", "last"]


@pytest.mark.parametrize("modern", ERAS)
async def test_odd_descriptions_annotations_and_output_schemas_are_passed_over(
    pool: ServerPool, modern: bool
) -> None:
    odd = [
        tool("a", description=None, annotations="x", outputSchema=[], title=5),
        tool("b", description=7, annotations=[1], outputSchema="x"),
        tool("c", description={"a": 1}, annotations={"readOnlyHint": "yes"}, outputSchema=True),
        tool("d", annotations={"idempotentHint": True}, icons="x", execution=3, _meta=4),
    ]
    tools = await Server(pool, stdio_entry(tools=odd, modern=modern)).tools()
    assert [spec.name for spec in tools] == ["a", "b", "c", "d"]
    assert [spec.description for spec in tools] == ["", "", "", ""]
    assert [spec.output_schema for spec in tools] == [None, None, None, None]
    assert [spec.is_repeatable for spec in tools] == [False, False, False, True]


@pytest.mark.parametrize("tools", [None, "x", {}, 5])
async def test_tools_that_are_no_list_are_no_tools(pool: ServerPool, tools: Any) -> None:
    assert await Server(pool, stdio_entry(tools=tools)).names() == []


@pytest.mark.parametrize("modern", ERAS)
async def test_all_pages_are_read_in_order(pool: ServerPool, modern: bool) -> None:
    pages = [[tool("a"), tool("b")], [], [tool("c")]]
    assert await Server(pool, stdio_entry(pages=pages, modern=modern)).names() == ["a", "b", "c"]


async def test_a_repeated_cursor_ends_the_pages(pool: ServerPool, tmp_path: Path) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(tools=[GOOD], cursor="same", record=str(record)))
    assert await server.names() == ["good", "good"]
    assert len(received(record, "tools/list")) == 2


async def test_endless_pages_end_after_a_hundred(pool: ServerPool) -> None:
    server = Server(pool, stdio_entry(tools=[GOOD], cursor="endless"))
    assert len(await server.names()) == 100


@pytest.mark.parametrize("cursor", [5, {"a": 1}, [], True])
async def test_a_cursor_of_a_wrong_type_is_the_end(pool: ServerPool, cursor: Any) -> None:
    assert await Server(pool, stdio_entry(tools=[GOOD], cursor=cursor)).names() == ["good"]


async def test_a_name_listed_twice_is_kept_twice(pool: ServerPool) -> None:
    same = [tool("same", description="one"), tool("same", description="two")]
    tools = await Server(pool, stdio_entry(tools=same)).tools()
    assert [spec.description for spec in tools] == ["one", "two"]


async def test_a_server_without_tools_lists_none(pool: ServerPool) -> None:
    from_prompts_only = stdio_entry(tools=[])
    assert await Server(pool, from_prompts_only).names() == []


@pytest.mark.parametrize("modern", ERAS)
async def test_a_list_is_asked_once_as_long_as_nothing_changes(
    pool: ServerPool, tmp_path: Path, modern: bool
) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record), modern=modern))
    if modern:
        await server.names()
        await until(lambda: bool(received(record, "subscriptions/listen")))
        await server.call("ping")
    await server.names()
    asked = len(received(record, "tools/list"))
    for _ in range(3):
        await server.names()
        await server.call("echo", {"message": "x"})
    assert len(received(record, "tools/list")) == asked


@pytest.mark.parametrize("modern", ERAS)
async def test_a_notice_of_change_makes_the_next_list_new(pool: ServerPool, modern: bool) -> None:
    server = Server(pool, stdio_entry(changed_tools=[tool("new")], modern=modern))
    assert "echo" in await server.names()
    assert text_of(await server.call("change")) == "changed"
    assert await server.names() == ["new"]


async def test_without_notices_every_list_is_asked_anew(pool: ServerPool, tmp_path: Path) -> None:
    record = tmp_path / "record"
    entry = stdio_entry(list_changed=False, changed_tools=[tool("new")], record=str(record))
    server = Server(pool, entry)
    await server.names()
    await server.call("change")
    assert await server.names() == ["new"]


async def test_a_change_on_the_sdks_server_is_seen(pool: ServerPool) -> None:
    server = Server(pool, sdk_entry())
    assert "added" not in await server.names()
    await server.call("change")
    assert "added" in await server.names()


async def test_a_list_that_is_never_answered_ends_at_the_limit() -> None:
    pool = ServerPool(connect_seconds=1)
    try:
        with pytest.raises(ServerUnavailable, match="tools/list was not answered within 1 s"):
            await Server(pool, stdio_entry(silent=["tools/list"])).names()
    finally:
        await pool.close()


async def test_samples_of_the_configuration_are_put_on_the_tools(pool: ServerPool) -> None:
    samples = {"echo": (Sample(name="simple", input={"message": "hi"}, output="hi"),)}
    tools = await Server(pool, stdio_entry(), samples=samples).tools()
    assert {spec.name: spec.samples for spec in tools if spec.samples} == samples
