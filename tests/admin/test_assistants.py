"""Assistants in the admin: servers in order, the whitelist, the policy, prompts, limits, hooks."""

from __future__ import annotations

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from agents.models import Assistant, AssistantServer, Provider, Server, Tool, TrustedName
from tests.admin.posting import Fields, changed, errors_of, read_form, submit

ADD = "/admin/agents/assistant/add/"
FORM = "assistant_form"


def make_server(server_id: str, tools: list[str], **fields: object) -> Server:
    now = timezone.now()
    row = Server.objects.create(
        server_id=server_id, transport="python", module="m",
        **{"checked_at": now, "protocol": "python", **fields},
    )  # fmt: skip
    for position, name in enumerate(tools):
        Tool.objects.create(
            server=row, name=name, position=position, definition_hash="0" * 64,
            description=f"Does {name}.", input_schema={"type": "object"},
            annotations={"readOnlyHint": name.startswith("get")}, first_seen=now, last_seen=now,
        )  # fmt: skip
    return row


@pytest.fixture
def weather(db: None) -> Server:
    return make_server("weather", ["get", "history", "station_admin"])


@pytest.fixture
def notes(db: None) -> Server:
    return make_server("notes", ["read", "write"])


@pytest.fixture
def desk(weather: Server, notes: Server) -> Assistant:
    provider = Provider.objects.create(
        provider_id="main", base_url="https://api.example.org/v1", default_model="m1"
    )
    row = Assistant.objects.create(
        assistant_id="desk", name="Desk", provider=provider,
        prompts=[{"role": "system", "content": "You help."}],
        approval={"weather.*_admin": "deny", "notes.write": "ask"},
        starters=["Hello", {"title": "Rain", "text": "Does it rain?"}, {"text": "odd"}],
    )  # fmt: skip
    AssistantServer.objects.create(
        assistant=row, server=weather, position=0, allowed_tools=["get", "gone"]
    )
    AssistantServer.objects.create(assistant=row, server=notes, position=1)
    return row


def page_of(row: Assistant) -> str:
    return f"/admin/agents/assistant/{row.pk}/change/"


def links(row: Assistant) -> list[tuple[str, list[str] | None]]:
    rows = row.server_links.order_by("position")
    return list(rows.values_list("server__server_id", "allowed_tools"))


def row_of(fields: Fields, server: Server, tool: str) -> str:
    """The number of a tool's row."""
    prefix = f"name-{server.pk}-"
    return next(
        name.removeprefix(prefix)
        for name, values in fields.items()
        if name.startswith(prefix) and values == [tool]
    )


def choose(client: Client, row: Assistant, server: Server, tool: str, action: str) -> None:
    """Choose allow, ask or deny for a tool, and save."""
    number = row_of(read_form(client.get(page_of(row)), FORM), server, tool)
    field = {f"policy__{server.pk}__{number}": action}
    assert submit(client, page_of(row), FORM, **field).status_code == 302
    row.refresh_from_db()


def values(row: Assistant) -> dict[str, object]:
    return {**Assistant.objects.filter(pk=row.pk).values().get(), "links": links(row)}


def test_saving_without_a_change_changes_nothing(operator: Client, desk: Assistant) -> None:
    before = values(desk)
    assert submit(operator, page_of(desk), FORM).status_code == 302
    assert values(desk) == before
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_an_assistant_is_added_with_a_server_whose_tools_are_ticked(
    operator: Client, weather: Server
) -> None:
    Provider.objects.create(provider_id="main", base_url="https://api.example.org/v1")
    fields = read_form(operator.get(ADD), FORM)
    given = changed(
        fields, assistant_id="new", name="New", provider=str(Provider.objects.get().pk),
        prompts__1__content="You help.", new_server=str(weather.pk),
    )  # fmt: skip
    box = read_form(_wrapped(operator, given), FORM)
    number = row_of(box, weather, "history")
    given = changed(given, **{key.replace("-", "__"): value for key, value in box.items()})
    given = changed(
        given, new_server=[], **{f"tool__{weather.pk}": ["get", "history"]},
        **{f"policy__{weather.pk}__{number}": "ask"},
    )  # fmt: skip
    assert operator.post(ADD, given).status_code == 302
    row = Assistant.objects.get(assistant_id="new")
    assert links(row) == [("weather", ["get", "history"])]
    assert row.approval == {"weather.history": "ask"}
    assert row.prompts == [{"role": "system", "content": "You help."}]
    assert (row.max_turn, row.max_tools, row.max_run_tokens) == (5, 20, None)


def _wrapped(client: Client, fields: Fields) -> object:
    """The boxes that the page fetches for a server to add, as a form."""
    response = client.post("/admin/agents/assistant/box/", fields)
    assert response.status_code == 200
    response.content = b'<form id="assistant_form">' + response.content + b"</form>"
    return response


def test_all_these_and_none_are_kept_apart(
    operator: Client, desk: Assistant, weather: Server, notes: Server
) -> None:
    def save(**fields: str | list[str]) -> list[tuple[str, list[str] | None]]:
        assert submit(operator, page_of(desk), FORM, **fields).status_code == 302
        return links(desk)

    w, n = f"mode__{weather.pk}", f"mode__{notes.pk}"
    assert save(**{n: "none"}) == [("weather", ["get", "gone"]), ("notes", [])]
    assert save(**{w: "all"}) == [("weather", None), ("notes", [])]
    assert save(**{n: "these", f"tool__{notes.pk}": ["write"]})[1] == ("notes", ["write"])
    assert save(**{n: "these", f"tool__{notes.pk}": []})[1] == ("notes", [])
    assert save(**{w: "these", f"tool__{weather.pk}": ["history", "get"]})[0] == (
        "weather", ["history", "get"],
    )  # fmt: skip


def test_a_tool_that_is_gone_is_shown_and_kept_until_it_is_unticked(
    operator: Client, desk: Assistant, weather: Server
) -> None:
    page = operator.get(page_of(desk)).content.decode()
    assert "not listed by the server" in page
    assert submit(operator, page_of(desk), FORM, name="Desk 2").status_code == 302
    assert "gone" in (links(desk)[0][1] or [])
    submit(operator, page_of(desk), FORM, **{f"tool__{weather.pk}": ["get"]})
    assert links(desk)[0] == ("weather", ["get"])


def test_servers_change_places_and_go(
    operator: Client, desk: Assistant, weather: Server, notes: Server
) -> None:
    submit(operator, page_of(desk), FORM, **{f"pos__{weather.pk}": "9"})
    assert [name for name, _ in links(desk)] == ["notes", "weather"]
    submit(operator, page_of(desk), FORM, **{f"remove__{weather.pk}": "1"})
    desk.refresh_from_db()
    assert links(desk) == [("notes", None)]
    assert desk.approval == {"notes.write": "ask"}


def test_a_server_without_scripts_is_added_by_saving(operator: Client, desk: Assistant) -> None:
    other = make_server("other", ["x"])
    submit(operator, page_of(desk), FORM, new_server=str(other.pk))
    assert links(desk)[-1] == ("other", [])


def test_what_is_chosen_for_a_tool_becomes_a_rule_of_its_own(
    operator: Client, desk: Assistant, weather: Server, notes: Server
) -> None:
    choose(operator, desk, weather, "get", "ask")
    assert desk.approval == {
        "weather.*_admin": "deny", "notes.write": "ask", "weather.get": "ask",
    }  # fmt: skip
    choose(operator, desk, weather, "get", "allow")
    choose(operator, desk, notes, "write", "allow")
    assert desk.approval == {"weather.*_admin": "deny"}


def test_patterns_are_kept_changed_added_and_removed(operator: Client, desk: Assistant) -> None:
    def save(**fields: str) -> dict[str, str]:
        assert submit(operator, page_of(desk), FORM, **fields).status_code == 302
        desk.refresh_from_db()
        return dict(desk.approval)

    assert save(rule__1__action="ask")["weather.*_admin"] == "ask"
    given = {"rule__2__key": "notes.*", "rule__2__action": "deny", "default__action": "ask"}
    assert save(**given) == {
        "default": "ask", "weather.*_admin": "ask", "notes.*": "deny", "notes.write": "ask",
    }  # fmt: skip
    # The rules stand in the order of the alphabet.
    assert save(rule__2__key="", default__action="allow") == {
        "default": "allow", "notes.*": "deny", "notes.write": "ask",
    }  # fmt: skip


def test_the_page_says_what_a_pattern_fits_and_what_beats_a_choice(
    operator: Client, desk: Assistant
) -> None:
    desk.approval = {"weather.*_admin": "deny", "weather.station_admin": "allow"}
    desk.save()
    page = operator.get(page_of(desk)).content.decode()
    assert "today: station_admin" in page
    assert "Denied by the rule weather.*_admin; deny wins." in page


def test_a_rule_of_a_server_that_is_not_there_is_refused(operator: Client, desk: Assistant) -> None:
    before = values(desk)
    given = {"rule__2__key": "nowhere.*", "name": "Other"}
    assert "nowhere.*: expected default, server.tool" in errors_of(
        submit(operator, page_of(desk), FORM, **given)
    )
    assert values(desk) == before


def test_a_server_that_was_never_asked_says_so(operator: Client, desk: Assistant) -> None:
    fresh = make_server("fresh", [], checked_at=None, protocol="")
    AssistantServer.objects.create(assistant=desk, server=fresh, position=2)
    page = operator.get(page_of(desk)).content.decode()
    assert "This server was never asked for its tools." in page
    assert f"?only={fresh.pk}" in page


def test_read_only_and_writing_tools_are_marked(operator: Client, desk: Assistant) -> None:
    page = operator.get(page_of(desk)).content.decode()
    assert page.count('<span class="ann">read-only</span>') == 1
    assert page.count('<span class="ann warn">writes</span>') == 4


def test_prompts_are_added_changed_and_removed(operator: Client, desk: Assistant) -> None:
    submit(
        operator, page_of(desk), FORM, prompts__1__content="You help much.",
        prompts__2__role="user", prompts__2__content="Hi\r\nthere",
    )  # fmt: skip
    desk.refresh_from_db()
    assert desk.prompts == [
        {"role": "system", "content": "You help much."},
        {"role": "user", "content": "Hi\nthere"},
    ]
    submit(operator, page_of(desk), FORM, prompts__1__content=" ")
    desk.refresh_from_db()
    assert desk.prompts == [{"role": "user", "content": "Hi\nthere"}]


def test_starters_are_lines(operator: Client, desk: Assistant) -> None:
    fields = read_form(operator.get(page_of(desk)), FORM)
    assert fields["starters"] == ['Hello\nRain | Does it rain?\n{"text": "odd"}']
    submit(operator, page_of(desk), FORM, starters="北京今天适合穿什么?\nA | b | c\n\n")
    desk.refresh_from_db()
    assert desk.starters == ["北京今天适合穿什么?", {"title": "A", "text": "b | c"}]


def test_an_empty_limit_is_its_default_and_every_limit_says_what_it_does(
    operator: Client, desk: Assistant
) -> None:
    submit(operator, page_of(desk), FORM, max_tools="3", max_run_tokens="5000")
    submit(operator, page_of(desk), FORM, max_tools="", max_run_tokens="", max_turn="")
    desk.refresh_from_db()
    assert (desk.max_tools, desk.max_run_tokens, desk.max_turn) == (20, None, 5)
    page = operator.get(page_of(desk)).content.decode()
    for name, shown in {"max_tools": "20", "run_timeout_seconds": "600", "max_turn": "5"}.items():
        assert re.search(rf'name="{name}"[^>]* placeholder="{shown}"', page)
        assert f'id="id_{name}_helptext"' in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_turn": "0"}, "a whole number from 1 on, got 0"),
        ({"max_turn": "2.5"}, "Expected a whole number, got “2.5”."),
        ({"max_tools": "-1"}, "Expected a whole number from 0 on, got -1."),
        ({"max_tools": "1000000000"}, "a whole number from 0 to 10000"),
        ({"run_timeout_seconds": "soon"}, "Expected a number, got “soon”."),
        ({"run_timeout_seconds": "1e9"}, "at most 31,536,000, got"),
        ({"repeat_limit": "0"}, "expected a whole number from 1"),
        ({"run_timeout_seconds": "-1"}, "a number greater than 0"),
        ({"compaction_trigger_ratio": "2"}, "at most 1"),
        ({"options": "[]"}, "expected an object such as {}, got an empty list"),
        ({"options": r'{"a": "\ud800"}'}, "a: expected text that can be stored"),
        ({"options": r'{"a": "\u0000"}'}, "a: expected text that can be stored"),
        ({"options": '{"a": 1e999}'}, "a: expected a finite number"),
        ({"options": '{"a": }'}, "line 1, column 7: expected JSON"),
        ({"prompt_presets": '{"short": [{"role": "robot", "content": "x"}]}'}, "short/0/role"),
        ({"prompts__1__role": "robot"}, "0/role: expected one of system, user, assistant"),
        ({"starters": r'"\ud800"'}, "expected text that can be stored"),
        ({"rule__9__key": "weather.\0"}, "expected text that can be stored"),
        ({"starters": '{"title": 3}'}, "expected a text, or an object of texts"),
        ({"next_hook": "no path"}, "the dotted path of a function"),
        ({"next_hook": "os.path.join"}, "not on the list of trusted names"),
        ({"provider": ""}, "This field is required."),
        ({"name": "x" * 201}, "at most 200 characters"),
    ],
)
def test_nonsense_is_told_and_nothing_is_saved(
    operator: Client, desk: Assistant, fields: dict[str, str], told: str
) -> None:
    before = values(desk)
    given = {"description": "changed", **fields}
    assert told in errors_of(submit(operator, page_of(desk), FORM, **given))
    assert values(desk) == before


def test_options_without_effect_are_named(operator: Client, desk: Assistant) -> None:
    path, options = page_of(desk), '{"model": "m", "messages": [], "temperature": 1}'
    fields = changed(read_form(operator.get(path), FORM), options=options)
    response = operator.post(path, fields, follow=True)
    told = [str(message) for message in response.context["messages"]]
    assert [text.partition(":")[0] for text in told if "no effect" in text] == [
        "options/model",
        "options/messages",
    ]


def test_a_hook_is_imported_when_it_is_saved(operator: Client, desk: Assistant) -> None:
    given = {"trust_names": "on"}
    wrong = submit(operator, page_of(desk), FORM, next_hook="tests.faults.hooks.nothing", **given)
    assert "cannot be imported" in errors_of(wrong)
    assert TrustedName.objects.count() == 0
    path = "tests.admin.posting.changed"
    assert submit(operator, page_of(desk), FORM, next_hook=path, **given).status_code == 302
    desk.refresh_from_db()
    assert desk.next_hook == path
    assert TrustedName.objects.get().value == "tests.admin.posting"


def test_ids_of_the_application_are_refused_and_an_id_stays(
    operator: Client, desk: Assistant
) -> None:
    given = {"name": "x", "provider": str(desk.provider_id)}
    response = submit(operator, ADD, FORM, assistant_id="toolloop.mine", **given)
    assert "application&#x27;s own" in errors_of(response)
    assert submit(operator, page_of(desk), FORM, assistant_id="other").status_code == 302
    desk.refresh_from_db()
    assert desk.assistant_id == "desk"


def test_a_system_assistant_has_provider_model_and_prompts_only(operator: Client) -> None:
    row = Assistant.objects.filter(is_system=True).first()
    assert row is not None
    fields = read_form(operator.get(page_of(row)), FORM)
    assert {name.partition("-")[0] for name in fields} == {
        "provider", "model", "prompts", "seen_version", "_save",
    } - {"_save"}  # fmt: skip
    assert submit(operator, page_of(row), FORM, model="m2", name="Mine").status_code == 302
    name = row.name
    row.refresh_from_db()
    assert (row.model, row.name) == ("m2", name)
    assert operator.post(f"/admin/agents/assistant/{row.pk}/delete/").status_code == 403


def test_a_copy_keeps_servers_and_policy(operator: Client, desk: Assistant) -> None:
    response = submit(
        operator, page_of(desk), FORM, _saveasnew="1", assistant_id="copy", name="Copy"
    )
    assert response.status_code == 302
    copy = Assistant.objects.get(assistant_id="copy")
    assert (links(copy), copy.approval) == ([("weather", ["gone", "get"]), ("notes", None)],
                                            desk.approval)  # fmt: skip
    assert len(links(desk)) == 2


def test_the_history_tells_of_servers_and_tools(
    operator: Client, desk: Assistant, notes: Server
) -> None:
    submit(operator, page_of(desk), FORM, **{f"mode__{notes.pk}": "none"})
    assert "servers and tools" in LogEntry.objects.get().get_change_message()


def test_a_reader_reads_and_cannot_post(reader: Client, desk: Assistant) -> None:
    page = reader.get(page_of(desk))
    assert page.status_code == 200
    assert "weather (2), notes (all)" in page.content.decode()
    assert 'name="name"' not in page.content.decode()
    before = values(desk)
    assert reader.post(page_of(desk), {"name": "x", "servers_shown": "1"}).status_code == 403
    for route in ("preview", "box", "ask"):
        path = f"/admin/agents/assistant/{route}/?id={desk.pk}"
        assert reader.post(path, {"name": "x"}).status_code == 403
    assert values(desk) == before


def test_a_server_with_hundreds_of_tools_is_shown_and_saved(
    operator: Client, desk: Assistant
) -> None:
    large = make_server("large", [f"tool-{number}" for number in range(300)])
    AssistantServer.objects.create(assistant=desk, server=large, position=2, allowed_tools=[])
    ticks = {f"mode__{large.pk}": "these", f"tool__{large.pk}": ["tool-7", "tool-299"]}
    fields = changed(read_form(operator.get(page_of(desk)), FORM), **ticks)
    assert operator.post("/admin/agents/assistant/preview/", fields).status_code == 200
    assert operator.post(page_of(desk), fields).status_code == 302
    assert links(desk)[2] == ("large", ["tool-7", "tool-299"])
