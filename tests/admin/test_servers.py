"""Servers in the admin: transports, secrets, who may touch a command, what was discovered."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from django.db.models import TextChoices
from django.test import Client
from django.utils import timezone
from django.utils.functional import Promise

from agents.admin.secret_lines import MASK
from agents.models import OnToolError, Server, Tool, Transport, TrustedName
from tests.admin.posting import errors_of, read_form, submit
from tests.servers import stdio_entry

SECRET = "ghp_0123456789abcdefghij0123456789"
ADD = "/admin/agents/server/add/"


def page_of(row: Server) -> str:
    return f"/admin/agents/server/{row.pk}/change/"


def make_http(**fields: object) -> Server:
    given = {"transport": "http", "url": "https://mcp.example.org/mcp", **fields}
    return Server.objects.create(server_id="docs", **given)


def make_stdio(**script: Any) -> Server:
    entry = stdio_entry("echo", **script)
    return Server.objects.create(**entry)


def press(client: Client, row: Server, button: str) -> str:
    """Press a button of the page; the lines that are shown then."""
    response = client.post(f"/admin/agents/server/{row.pk}/{button}/", follow=True)
    return " ".join(str(message) for message in response.context["messages"])


def test_an_http_server_is_added_with_headers_as_lines(operator: Client) -> None:
    TrustedName.objects.create(kind="env", value="DOCS_TOKEN", source="test")
    response = submit(
        operator, ADD, "server_form", server_id="docs", transport="http",
        url="https://mcp.example.org/mcp",
        headers_lines="Authorization=Bearer $ENV.DOCS_TOKEN\n\nX-Team = tools ",
        command="left over from another transport", tool_max_seconds="60",
    )  # fmt: skip
    assert response.status_code == 302
    row = Server.objects.get()
    assert row.headers == {"Authorization": "Bearer $ENV.DOCS_TOKEN", "X-Team": "tools"}
    assert (row.command, row.tool_max_seconds, row.tool_timeout_seconds) == ("", 60, None)


def test_a_command_is_shown_in_full_and_has_to_be_confirmed(operator: Client) -> None:
    given = {
        "server_id": "time", "transport": "stdio", "command": "uvx",
        "args_lines": "mcp-server-time\n--zone\nEurope/Oslo", "env_lines": "LOG=debug",
    }  # fmt: skip
    page = errors_of(submit(operator, ADD, "server_form", **given))
    assert "LOG=debug uvx mcp-server-time --zone Europe/Oslo" in page
    assert Server.objects.count() == 0
    assert submit(operator, ADD, "server_form", confirm_command="on", **given).status_code == 302
    row = Server.objects.get()
    assert (row.args, row.env) == (["mcp-server-time", "--zone", "Europe/Oslo"], {"LOG": "debug"})
    assert submit(operator, page_of(row), "server_form", parallel_calls="2").status_code == 302
    assert "tick" in errors_of(submit(operator, page_of(row), "server_form", command="bash"))


def test_staff_cannot_create_a_command(staff: Client) -> None:
    page = staff.get(ADD).content.decode()
    assert 'value="stdio"' not in page
    assert 'name="command"' not in page
    given = {"server_id": "x", "transport": "stdio", "command": "bash", "confirm_command": "on"}
    assert "stdio" in errors_of(submit(staff, ADD, "server_form", **given))
    assert Server.objects.count() == 0


def test_staff_cannot_change_delete_or_start_a_command(staff: Client) -> None:
    row = make_stdio()
    page = staff.get(page_of(row))
    assert page.status_code == 200
    assert 'name="server_id"' not in page.content.decode()
    stored = Server.objects.values().get()
    given = {"server_id": "echo", "transport": "http", "url": "https://mcp.example.org/mcp"}
    assert staff.post(page_of(row), given).status_code == 403
    assert staff.post(f"/admin/agents/server/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert staff.post(f"/admin/agents/server/{row.pk}/test/").status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    staff.post("/admin/agents/server/", chosen)
    assert Server.objects.values().get() == stored


def test_staff_cannot_turn_an_address_into_a_command(staff: Client) -> None:
    row = make_http()
    given = {"transport": "stdio", "command": "bash", "confirm_command": "on"}
    errors_of(submit(staff, page_of(row), "server_form", **given))
    row.refresh_from_db()
    assert (row.transport, row.command) == ("http", "")


def test_secrets_come_back_masked_and_stay_as_they_are(operator: Client) -> None:
    headers = {"Authorization": f"Bearer {SECRET}", "X-Team": "a", "X-Env": "$ENV.TEAM"}
    row = make_http(headers=headers)
    fields = read_form(operator.get(page_of(row)), "server_form")
    assert fields["headers_lines"] == [f"Authorization={MASK}\nX-Team={MASK}\nX-Env=$ENV.TEAM"]
    assert submit(operator, page_of(row), "server_form", parallel_calls="3").status_code == 302
    row.refresh_from_db()
    assert (row.headers, row.parallel_calls) == (headers, 3)


def test_masked_lines_are_kept_when_others_change(operator: Client) -> None:
    row = make_stdio()
    row.args, row.env = ["--token", SECRET, "--verbose"], {"API_KEY": SECRET, "MODE": "fast"}
    row.save()
    page = operator.get(page_of(row))
    fields = read_form(page, "server_form")
    assert SECRET not in page.content.decode()
    assert fields["args_lines"] == [f"--token\n{MASK}\n--verbose"]
    assert fields["env_lines"] == [f"API_KEY={MASK}\nMODE=fast"]
    saved = submit(
        operator, page_of(row), "server_form", confirm_command="on",
        args_lines=f"--verbose\n--token\n{MASK}", env_lines=f"MODE=slow\nAPI_KEY={MASK}",
    )  # fmt: skip
    assert saved.status_code == 302
    row.refresh_from_db()
    assert row.args == ["--verbose", "--token", SECRET]
    assert row.env == {"MODE": "slow", "API_KEY": SECRET}


def test_dots_without_a_stored_value_are_refused(operator: Client) -> None:
    row = make_http()
    response = submit(operator, page_of(row), "server_form", headers_lines=f"X-Key={MASK}")
    assert "there is no stored value for X-Key" in errors_of(response)


def test_arguments_that_fit_no_line_come_back_whole(operator: Client) -> None:
    row = make_stdio()
    row.args = ["two\nlines", "", " blank ", '"quoted"', "plain word"]
    row.save()
    assert submit(operator, page_of(row), "server_form", parallel_calls="1").status_code == 302
    row.refresh_from_db()
    assert row.args == ["two\nlines", "", " blank ", '"quoted"', "plain word"]


def test_secrets_are_on_no_page(operator: Client, reader: Client) -> None:
    make_http(url=f"https://mcp.example.org/mcp?token={SECRET}", headers={"X-Key": SECRET})
    row = make_stdio()
    Server.objects.filter(pk=row.pk).update(args=["--token", SECRET], env={"API_KEY": SECRET})
    for client in (operator, reader):
        for path in ["/admin/agents/server/", *(page_of(s) for s in Server.objects.all())]:
            response = client.get(path)
            assert response.status_code == 200
            assert SECRET not in response.content.decode()


@pytest.mark.parametrize(
    "query", ["q=ghp_", "url__contains=ghp_", "args__contains=ghp_", "env__isnull=0", "id__gt=0"]
)
def test_the_list_of_servers_answers_no_guess_at_a_secret(reader: Client, query: str) -> None:
    make_http(url=f"https://mcp.example.org/mcp?token={SECRET}")
    Server.objects.filter(pk=make_stdio().pk).update(args=["--token", SECRET])
    page = reader.get(f"/admin/agents/server/?{query}")
    assert page.status_code == (200 if query.startswith("q=") else 400)
    assert ">docs<" not in page.content.decode()


def test_servers_are_found_by_id_and_transport(operator: Client, reader: Client) -> None:
    make_http()
    for client, query in ((reader, "q=docs"), (reader, "transport__exact=http"),
                          (operator, "q=mcp.example")):  # fmt: skip
        assert ">docs<" in client.get(f"/admin/agents/server/?{query}").content.decode()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("url", "mcp.example.org", "expected a URL such as"),
        ("url", "", "a text that is not empty"),
        ("headers_lines", "Authorization: Bearer x", "expected NAME=value"),
        ("headers_lines", "A=1\nA=2", "stands here twice"),
        ("headers_lines", "X=$ENV", "expected $ENV.NAME"),
        ("headers_lines", "X=$ENV.NOT_LISTED", "NOT_LISTED"),
        ("tool_max_seconds", "-1", "a number greater than 0"),
    ],
)
def test_nonsense_is_told_and_nothing_is_saved(
    operator: Client, field: str, value: str, told: str
) -> None:
    row = make_http()
    given = {"parallel_calls": "7", field: value}
    assert told in errors_of(submit(operator, page_of(row), "server_form", **given))
    row.refresh_from_db()
    assert row.parallel_calls is None


def test_ids_are_unique_without_regard_to_case(operator: Client) -> None:
    make_http()
    given = {"server_id": "DOCS", "transport": "http", "url": "https://mcp.example.org/mcp"}
    assert "There is a server docs already" in errors_of(
        submit(operator, ADD, "server_form", **given)
    )
    wrong = given | {"server_id": "my_server"}
    assert "no underscore" in errors_of(submit(operator, ADD, "server_form", **wrong))


def test_refresh_stores_the_tools_and_the_page_shows_them(operator: Client) -> None:
    row = make_stdio()
    assert "never checked" in operator.get(page_of(row)).content.decode()
    assert "connected (2025-11-25), 8 tools" in press(operator, row, "refresh")
    page = operator.get(page_of(row)).content.decode()
    assert "MCP 2025-11-25" in page
    assert Tool.objects.filter(server=row).count() == 8
    assert all(f"<code>{tool.name}</code>" in page for tool in Tool.objects.all())


def test_messages_keep_the_case_of_an_id(operator: Client) -> None:
    row = make_stdio()
    page = operator.post(f"/admin/agents/server/{row.pk}/refresh/", follow=True).content.decode()
    assert ">echo: connected" in page


def test_tools_that_no_model_can_be_offered_say_why(operator: Client) -> None:
    tool = {"name": "same", "inputSchema": {"type": "object"}}
    bad = {"name": "bad", "inputSchema": {"$ref": "https://example.org/schema.json"}}
    row = make_stdio(tools=[tool, bad, tool, {**tool, "name": "good"}])
    assert "4 tools" in press(operator, row, "refresh")
    summaries = re.findall(
        r"<summary><code>(\w+)</code>(.*?)</summary>", operator.get(page_of(row)).content.decode()
    )
    marks = {name: re.findall("invalid_schema|name_collision", rest) for name, rest in summaries}
    assert marks == {"same": ["name_collision"], "bad": ["invalid_schema"], "good": []}
    Server.objects.filter(pk=row.pk).update(args=stdio_entry("echo", tools=[tool])["args"])
    row.refresh_from_db()
    press(operator, row, "refresh")
    assert "name_collision" not in operator.get(page_of(row)).content.decode()


def test_a_failing_server_shows_its_last_words(operator: Client) -> None:
    code = "import sys; sys.exit('cannot start: no database')"
    row = Server.objects.create(
        server_id="broken", transport="stdio", command=sys.executable, args=["-S", "-c", code]
    )
    assert "cannot start: no database" in press(operator, row, "test")
    assert "cannot start: no database" in operator.get(page_of(row)).content.decode()
    assert "cannot start" in operator.get("/admin/agents/server/").content.decode()


def test_vanished_tools_are_marked(operator: Client) -> None:
    row, now = make_http(), timezone.now()
    Tool.objects.create(
        server=row, name="old", definition_hash="0" * 64, first_seen=now, last_seen=now,
        vanished_at=now,
    )  # fmt: skip
    assert "not listed any more since" in operator.get(page_of(row)).content.decode()


def test_the_buttons_are_pressed_by_post_only(operator: Client) -> None:
    row = make_stdio()
    assert operator.get(f"/admin/agents/server/{row.pk}/refresh/").status_code == 302
    row.refresh_from_db()
    assert row.checked_at is None


@pytest.mark.parametrize("words", [Transport, OnToolError])
def test_the_words_of_choices_follow_the_language_of_the_page(words: type[TextChoices]) -> None:
    assert [kind for kind in words if not isinstance(kind.label, Promise)] == []


def test_stored_headers_do_not_follow_to_another_address(operator: Client, staff: Client) -> None:
    row = make_http(headers={"X-Key": "verysecretheader1234"})
    moved = {"url": "https://elsewhere.example/mcp"}
    for client in (operator, staff):
        refused = errors_of(submit(client, page_of(row), "server_form", **moved))
        assert "belong to https://mcp.example.org:443" in refused
    again = {**moved, "headers_lines": "X-Key=another"}
    assert submit(staff, page_of(row), "server_form", **again).status_code == 302
    row.refresh_from_db()
    assert row.headers == {"X-Key": "another"}


def test_only_a_superuser_says_where_variables_of_headers_go(
    operator: Client, staff: Client
) -> None:
    TrustedName.objects.create(kind="env", value="DOCS_TOKEN", source="test")
    row = make_http(headers={"Authorization": "Bearer $ENV.DOCS_TOKEN"})
    moved = {"url": "https://elsewhere.example/mcp"}
    added = {"headers_lines": "Authorization=Bearer $ENV.DOCS_TOKEN"}
    plain = Server.objects.create(
        server_id="plain", transport="http", url="https://elsewhere.example/mcp"
    )
    for path, fields in ((page_of(row), moved), (page_of(plain), added)):
        assert "only a superuser" in errors_of(submit(staff, path, "server_form", **fields))
        assert submit(operator, path, "server_form", **fields).status_code == 302


def test_an_id_stays_so_that_rules_that_name_it_hold(operator: Client, staff: Client) -> None:
    row = make_http()
    for client in (operator, staff):
        assert submit(client, page_of(row), "server_form").status_code == 302
        fields = read_form(client.get(page_of(row)), "server_form") | {"server_id": ["other"]}
        assert client.post(page_of(row), fields).status_code == 302
        row.refresh_from_db()
        assert row.server_id == "docs"


def test_a_server_is_deleted_with_the_tools_that_it_listed(operator: Client) -> None:
    row, kept = (
        make_http(),
        Server.objects.create(server_id="other", transport="python", module="m"),
    )
    now = timezone.now()
    for server in (row, kept):
        Tool.objects.create(server=server, name="find", position=0, first_seen=now, last_seen=now)
    assert (
        operator.post(f"/admin/agents/server/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    )
    assert list(Tool.objects.values_list("server__server_id", flat=True)) == ["other"]
    chosen = {"action": "delete_selected", "_selected_action": [kept.pk], "post": "yes"}
    assert operator.post("/admin/agents/server/", chosen).status_code == 302
    assert Server.objects.count() == 0
