"""Tools in the admin: to read, with their samples to write."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import Server, Tool, ToolSample
from tests.admin.posting import errors_of, submit


@pytest.fixture
def tool(db: None) -> Tool:
    server = Server.objects.create(server_id="echo", transport="python", module="m")
    now = timezone.now()
    return Tool.objects.create(
        server=server, name="ping", description="Answers <b>pong</b>.", definition_hash="0" * 64,
        input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        annotations={"readOnlyHint": True}, first_seen=now, last_seen=now,
    )  # fmt: skip


def page_of(tool: Tool) -> str:
    return f"/admin/agents/tool/{tool.pk}/change/"


def add_sample(tool: Tool, name: str, position: int) -> ToolSample:
    return ToolSample.objects.create(
        server=tool.server, tool=tool.name, name=name, position=position, input={"n": position}
    )


def names(tool: Tool) -> list[str]:
    rows = ToolSample.objects.filter(server=tool.server, tool=tool.name).order_by("position")
    assert [row.position for row in rows] == list(range(len(rows)))
    return [row.name for row in rows]


def test_the_definition_is_shown_escaped_and_cannot_be_changed(
    operator: Client, tool: Tool
) -> None:
    page = operator.get(page_of(tool)).content.decode()
    assert "&lt;b&gt;pong" in page
    assert "&quot;integer&quot;" in page
    assert 'name="description"' not in page
    operator.post(page_of(tool), {"name": "x", "description": "x"})
    tool.refresh_from_db()
    assert tool.name == "ping"
    assert operator.get("/admin/agents/tool/add/").status_code == 403


def test_samples_are_written_beside_the_tool(operator: Client, tool: Tool) -> None:
    response = submit(
        operator, page_of(tool), "tool_form", samples__0__name="one",
        samples__0__input='{"n": 1}', samples__0__output='"pong"', samples__0__position="0",
    )  # fmt: skip
    assert response.status_code == 302
    row = ToolSample.objects.get()
    assert (row.server, row.tool, row.name) == (tool.server, "ping", "one")
    assert (row.input, row.output) == ({"n": 1}, "pong")


def test_samples_change_places_and_go(operator: Client, tool: Tool) -> None:
    for position, name in enumerate(["a", "b", "c"]):
        add_sample(tool, name, position)
    submit(
        operator, page_of(tool), "tool_form", samples__0__position="2", samples__1__position="0",
        samples__2__position="1",
    )  # fmt: skip
    assert names(tool) == ["b", "c", "a"]
    submit(operator, page_of(tool), "tool_form", samples__1__DELETE="on")
    assert names(tool) == ["b", "a"]


def test_samples_of_other_tools_are_left_alone(operator: Client, tool: Tool) -> None:
    other = ToolSample.objects.create(server=tool.server, tool="other", name="x", position=0)
    add_sample(tool, "a", 0)
    submit(operator, page_of(tool), "tool_form", samples__0__name="changed")
    other.refresh_from_db()
    assert (other.name, other.position, names(tool)) == ("x", 0, ["changed"])


def test_broken_json_is_told_at_its_field(operator: Client, tool: Tool) -> None:
    add_sample(tool, "a", 0)
    response = submit(operator, page_of(tool), "tool_form", samples__0__input="{n: 1}")
    assert "line 1, column 2: expected JSON" in errors_of(response)
    assert names(tool) == ["a"]
