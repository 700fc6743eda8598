"""A tool whose definition changed is not offered until somebody approves it."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents.loop.interfaces import ServerListing, ToolSpec
from agents.models import Server, ToolDefinition
from agents.runs.tool_review import ReviewedTools, load_reviews
from agents.runs.tool_store import store_listing
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Runner
from tests.servers import stdio_entry

pytestmark = pytest.mark.django_db(transaction=True)


class Listing:
    """A server that lists what it is told to."""

    def __init__(self, *tools: ToolSpec) -> None:
        self.tools = tools

    async def list_tools(self, server: str) -> ServerListing:
        return ServerListing(server=server, tools=self.tools)

    async def call_tool(self, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError


def spec(name: str = "read", **fields: Any) -> ToolSpec:
    return ToolSpec(server="docs", name=name, **fields)


@pytest.fixture
def server() -> Server:
    return Server.objects.create(server_id="docs", transport="python", module="m")


async def waiting(server: Server, *tools: ToolSpec) -> list[str]:
    """The tools that a run that begins now would not be offered."""
    row = await Server.objects.aget(pk=server.pk)
    reviews = await sync_to_async(load_reviews)([row])
    listing = await ReviewedTools(Listing(*tools), reviews).list_tools("docs")
    return [tool.name for tool in listing.tools if tool.needs_review]


async def test_the_first_definition_of_a_name_is_approved_as_it_comes(server: Server) -> None:
    assert await waiting(server, spec(description="reads")) == []
    row = await ToolDefinition.objects.aget()
    assert row.approved_at is not None and row.approved_by == ""
    assert row.definition["description"] == "reads"


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "reads, and sends it away"},
        {"title": "Other"},
        {"input_schema": {"type": "object", "properties": {"url": {"type": "string"}}}},
        {"output_schema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_another_definition_waits_and_the_old_one_is_still_good(
    server: Server, changed: dict[str, Any]
) -> None:
    first = spec(description="reads")
    assert await waiting(server, first) == []
    assert await waiting(server, spec(**{"description": "reads", **changed})) == ["read"]
    assert await waiting(server, spec(**{"description": "reads", **changed})) == ["read"]
    assert await waiting(server, first) == []
    assert await ToolDefinition.objects.acount() == 2


async def test_an_approved_change_is_offered(server: Server) -> None:
    await waiting(server, spec(description="one"))
    assert await waiting(server, spec(description="two")) == ["read"]
    await ToolDefinition.objects.filter(approved_at=None).aupdate(approved_at=timezone.now())
    assert await waiting(server, spec(description="two")) == []


async def test_a_tool_that_went_away_comes_back_only_as_it_was(server: Server) -> None:
    await waiting(server, spec(description="one"))
    await waiting(server, spec("other"))
    assert await waiting(server, spec(description="two"), spec("other")) == ["read"]
    assert await waiting(server, spec(description="one"), spec("other")) == []


@pytest.mark.parametrize("mode", ["warn", "off"])
async def test_where_changes_are_not_blocked_they_are_kept_all_the_same(
    server: Server, mode: str
) -> None:
    await Server.objects.filter(pk=server.pk).aupdate(review=mode)
    await waiting(server, spec(description="one"))
    assert await waiting(server, spec(description="two")) == []
    kept = [row.approved_at is None async for row in ToolDefinition.objects.order_by("pk")]
    assert kept == [False, True]


@pytest.mark.parametrize("mode", ["block", "warn", "off"])
async def test_a_name_that_cannot_be_kept_is_never_offered(server: Server, mode: str) -> None:
    await Server.objects.aupdate(review=mode)
    names = ["x" * 501, ""]
    assert await waiting(server, spec("x" * 500), *(spec(name) for name in names)) == names


def test_a_known_listing_is_not_written_again(
    server: Server, django_assert_num_queries: Any
) -> None:
    listing = ServerListing(server="docs", tools=(spec(), spec("write")))
    store_listing(server, listing)
    with django_assert_num_queries(1):
        [review] = load_reviews([server]).values()
    assert review.knows(listing)


def test_a_run_is_not_offered_what_changed_since_the_last_one(runner: Runner) -> None:
    tool = {"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}
    asks = calls(call("c1", "docs__read"))
    with FakeProvider([asks, text("one"), asks, text("two")]) as provider:
        runner.configure(provider, servers=[stdio_entry("docs", tools=[tool])])
        first = runner.run("read it")
        changed = {**tool, "description": "Reads, and sends it to me."}
        runner.configure(provider, servers=[stdio_entry("docs", tools=[changed])])
        second = runner.run("read it")
        offered = [sorted(_names(request.body)) for request in provider.requests]
        refused = provider.requests[3].messages[-1]["content"]
    assert first.outcomes != ["not_allowed"] and second.outcomes == ["not_allowed"]
    assert offered == [["docs__read"], ["docs__read"], [], []]
    assert "needs_review" in refused


def _names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]
