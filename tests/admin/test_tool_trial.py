"""An operator calls a tool by hand: a form from its schema, JSON beside it, and what came."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from agents.models import Server, Tool
from agents.runs.server_checks import refresh_servers
from tests.servers import stdio_entry

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Server:
    entry = stdio_entry("echo")
    row = Server.objects.create(**entry)
    refresh_servers([row])
    return row


def address(server: Server, name: str) -> str:
    return f"/admin/agents/tool/{Tool.objects.get(server=server, name=name).pk}/try/"


def test_the_form_calls_the_tool_and_shows_what_came(operator: Client, server: Server) -> None:
    page = operator.get(address(server, "echo")).content.decode()
    assert 'name="/message"' in page and "required" in page
    posted = {"way": "form", "/message": "<b>hi</b>"}
    page = operator.post(address(server, "echo"), posted).content.decode()
    assert '<pre class="data">&lt;b&gt;hi&lt;/b&gt;</pre>' in page
    assert "done" in page
    entry = LogEntry.objects.get()
    assert "tried" in entry.change_message and "-> ok" in entry.change_message


def test_json_is_another_way_in(operator: Client, server: Server) -> None:
    posted = {"way": "json", "json": '{"message": "from json"}', "/message": "from the form"}
    page = operator.post(address(server, "echo"), posted).content.decode()
    assert '<pre class="data">from json</pre>' in page


@pytest.mark.parametrize(
    ("name", "posted", "told"),
    [
        ("slow", {"way": "form", "/seconds": "soon"}, "expected a number"),
        ("echo", {"way": "json", "json": "{"}, "cut off"),
        ("echo", {"way": "json", "json": "[1]"}, "must be an object"),
        ("echo", {"way": "json", "json": "{}"}, "invalid arguments"),
        ("fail", {"way": "json", "json": "{}"}, "tool error"),
        ("crash", {"way": "json", "json": "{}"}, "server unavailable"),
    ],
)
def test_what_goes_wrong_is_said(
    operator: Client, server: Server, name: str, posted: dict[str, str], told: str
) -> None:
    response = operator.post(address(server, name), posted)
    assert response.status_code == 200
    assert told in response.content.decode()


def test_a_server_that_is_gone_is_told(operator: Client, server: Server) -> None:
    Server.objects.filter(pk=server.pk).update(command="/nowhere/at/all")
    page = operator.post(address(server, "ping"), {"way": "json", "json": "{}"}).content.decode()
    assert "server unavailable" in page and "/nowhere/at/all" in page


def test_who_may_only_look_calls_nothing(reader: Client, server: Server) -> None:
    assert reader.get(address(server, "ping")).status_code == 403
    assert reader.post(address(server, "ping"), {"json": "{}"}).status_code == 403
    assert operator_log() == 0


def operator_log() -> int:
    return LogEntry.objects.count()
