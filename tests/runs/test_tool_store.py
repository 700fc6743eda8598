"""What servers list is stored tool by tool, and cheaply when nothing changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from agents.loop.interfaces import Sample, ServerListing, ToolSpec
from agents.models import Server, Tool, ToolSample
from agents.runs.server_configs import server_config
from agents.runs.tool_store import store_failure, store_listing

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def server() -> Server:
    return Server.objects.create(server_id="echo", transport="stdio", command="x")


def listing(*tools: ToolSpec) -> ServerListing:
    return ServerListing(server="echo", tools=tools, protocol="2025-11-25")


def spec(name: str, **fields: Any) -> ToolSpec:
    return ToolSpec(server="echo", name=name, **fields)


def stored(server: Server) -> list[tuple[str, int, bool]]:
    rows = Tool.objects.filter(server=server)
    return [(row.name, row.position, row.vanished_at is None) for row in rows]


def test_a_listing_is_stored_in_its_order(server: Server) -> None:
    schema = {"type": "object", "properties": {"message": {"type": "string"}}}
    first = spec("b", description="B", input_schema=schema, annotations={"readOnlyHint": True})
    assert store_listing(server, listing(first, spec("a")), now=NOW)
    assert stored(server) == [("b", 0, True), ("a", 1, True)]
    tool = Tool.objects.get(name="b")
    assert (tool.description, tool.input_schema, tool.output_schema) == ("B", schema, None)
    assert tool.annotations == {"readOnlyHint": True}
    assert (tool.first_seen, tool.last_seen) == (NOW, NOW)
    server.refresh_from_db()
    assert (server.protocol, server.last_error, server.checked_at) == ("2025-11-25", "", NOW)


def test_a_tool_that_is_not_listed_any_more_vanishes_and_may_come_back(server: Server) -> None:
    store_listing(server, listing(spec("a"), spec("b")), now=NOW)
    store_listing(server, listing(spec("b")), now=LATER)
    assert stored(server) == [("a", 0, False), ("b", 0, True)]
    store_listing(server, listing(spec("a"), spec("b")), now=LATER)
    assert stored(server) == [("a", 0, True), ("b", 1, True)]
    assert Tool.objects.get(name="a").first_seen == NOW


def test_a_changed_definition_has_another_hash(server: Server) -> None:
    store_listing(server, listing(spec("a"), spec("b")), now=NOW)
    before = dict(Tool.objects.values_list("name", "definition_hash"))
    store_listing(server, listing(spec("a", description="new"), spec("b")), now=NOW)
    after = dict(Tool.objects.values_list("name", "definition_hash"))
    assert before["a"] != after["a"]
    assert before["b"] == after["b"]


def test_an_unchanged_listing_costs_one_query(
    server: Server, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    same = listing(spec("a"), spec("b"))
    store_listing(server, same, now=NOW)
    with django_assert_num_queries(1):
        assert not store_listing(server, same, now=NOW + timedelta(seconds=5))
    assert store_listing(server, same, now=LATER)
    assert Tool.objects.get(name="a").last_seen == LATER


def test_of_a_name_that_is_listed_twice_the_first_counts(server: Server) -> None:
    twice = listing(spec("a", description="one"), spec("a", description="two"), spec("b"))
    store_listing(server, twice, now=NOW)
    assert stored(server) == [("a", 0, True), ("b", 1, True)]
    assert Tool.objects.get(name="a").description == "one"


def test_odd_texts_and_names_are_stored_or_left_out(server: Server) -> None:
    odd = spec("a", description="x\0y\ud800", title="t" * 900, input_schema={"k\0": "v\ud800"})
    store_listing(server, listing(odd, spec("n" * 501), spec("")), now=NOW)
    tool = Tool.objects.get()
    assert (tool.description, len(tool.title)) == ("x\ufffdy?", 500)
    assert tool.input_schema == {"k\ufffd": "v?"}


def test_a_failure_is_noted_and_forgotten_after_the_next_listing(server: Server) -> None:
    store_listing(server, listing(spec("a")), now=NOW)
    store_failure(server, "refused", now=NOW)
    server.refresh_from_db()
    assert (server.last_error, server.checked_at) == ("refused", NOW)
    assert stored(server) == [("a", 0, True)]
    assert store_listing(server, listing(spec("a")), now=NOW)
    server.refresh_from_db()
    assert server.last_error == ""


def test_a_servers_configuration_has_its_limits_and_samples(server: Server) -> None:
    server.args, server.env, server.cwd = ["-x"], {"A": "$ENV.A"}, ""
    server.tool_timeout_seconds, server.parallel_calls = 3, 2
    server.save()
    for position, name in enumerate(("one", "two")):
        ToolSample.objects.create(server=server, tool="a", position=position, name=name, output=1)
    config = server_config(Server.objects.get())
    assert (config.server_id, config.transport, config.command) == ("echo", "stdio", "x")
    assert (config.args, config.env, config.cwd) == (("-x",), {"A": "$ENV.A"}, None)
    limits = config.limits
    assert (limits.idle_seconds, limits.hard_seconds, limits.parallel_calls) == (3, None, 2)
    assert config.samples == {"a": (Sample(name="one", output=1), Sample(name="two", output=1))}
