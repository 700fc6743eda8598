"""Each save of an assistant is kept: compared, and brought back."""

from __future__ import annotations

import json

from django.contrib.auth import get_user_model
from django.test import Client

from agents.bundle.exporting import assistant_entry
from agents.bundle.importing import import_bundle
from agents.models import Assistant, AssistantVersion, Conversation, Run, Server, TrustedName
from agents.runs.plans import snapshot
from tests.admin.posting import changed, errors_of, read_form, submit
from tests.admin.test_assistants import FORM, desk, notes, weather

__all__ = ["desk", "notes", "weather"]


def page(row: Assistant) -> str:
    return f"/admin/agents/assistant/{row.pk}/change/"


def versions(row: Assistant) -> str:
    return f"/admin/agents/assistant/{row.pk}/versions/"


def save(client: Client, row: Assistant, **fields: str) -> None:
    response = submit(client, page(row), FORM, **fields)
    assert response.status_code == 302


def take_servers_away(row: Assistant) -> None:
    row.server_links.all().delete()
    Assistant.objects.filter(pk=row.pk).update(approval={})


def numbers(row: Assistant) -> list[int]:
    return list(row.versions.order_by("number").values_list("number", flat=True))


def test_the_first_save_keeps_what_was_before_as_well(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2")
    assert numbers(desk) == [1, 2]
    first, second = desk.versions.order_by("number")
    assert (first.configuration["model"], second.configuration["model"]) == ("", "m2")
    assert (first.by, second.by) == ("", "operator")
    desk.refresh_from_db()
    assert desk.version == 2


def test_a_save_that_changes_nothing_is_no_version(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2")
    save(operator, desk)
    assert numbers(desk) == [1, 2]


def test_what_somebody_else_saved_is_not_undone_by_accident(
    operator: Client, staff: Client, desk: Assistant
) -> None:
    opened = changed(read_form(operator.get(page(desk)), FORM), model="m2")
    rule = {"rule__8__key": "weather.get", "rule__8__action": "deny"}
    save(staff, desk, **rule)
    refused = operator.post(page(desk), opened)
    assert "staff saved this assistant after you opened it" in errors_of(refused)
    desk.refresh_from_db()
    assert (desk.approval["weather.get"], desk.model) == ("deny", "")
    again = read_form(refused, FORM)
    assert (again["model"], operator.post(page(desk), again).status_code) == (["m2"], 302)


def test_the_page_tells_what_changed_and_compares_two(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2")
    save(operator, desk, model="m3", max_turn="7")
    html = operator.get(versions(desk)).content.decode()
    assert "model, mcp.options.max_turn" in html
    assert '<span class="add">+  &quot;model&quot;: &quot;m3&quot;,</span>' in html
    html = operator.get(versions(desk) + "?before=1&after=3").content.decode()
    assert '<span class="del">-  &quot;model&quot;: &quot;&quot;,</span>' in html
    for odd in ("?before=x&after=", "?before=99", "?before=-1&after=1e3"):
        assert operator.get(versions(desk) + odd).status_code == 200


def test_a_version_is_brought_back_whole_as_a_new_one(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2", name="Other")
    take_servers_away(desk)
    save(operator, desk, model="m3")
    operator.post(versions(desk), {"number": "1"})
    desk.refresh_from_db()
    links = desk.server_links.order_by("position")
    assert (desk.name, desk.model) == ("Desk", "")
    assert [(link.server.server_id, link.allowed_tools) for link in links] == [
        ("weather", ["get", "gone"]),
        ("notes", None),
    ]
    newest = desk.versions.order_by("-number").first()
    assert newest is not None and (newest.by, newest.note) == ("operator", "1")
    assert "version 1 again" in operator.get(versions(desk)).content.decode()


def test_what_a_version_needs_and_is_gone_is_said(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2")
    take_servers_away(desk)
    save(operator, desk, model="m3")
    Server.objects.filter(server_id="notes").delete()
    html = operator.post(versions(desk), {"number": "1"}, follow=True).content.decode()
    assert "notes" in html and 'class="error"' in html
    desk.refresh_from_db()
    assert desk.model == "m3" and numbers(desk) == [1, 2, 3]


def test_bringing_back_trusts_no_name_again(operator: Client, desk: Assistant) -> None:
    Assistant.objects.filter(pk=desk.pk).update(next_hook="somebody.hooks.next")
    save_as = AssistantVersion.objects.create(assistant=desk, number=1, configuration=_entry(desk))
    operator.post(versions(desk), {"number": str(save_as.number)})
    assert not TrustedName.objects.exists()


def _entry(row: Assistant) -> dict[str, object]:
    row.refresh_from_db()
    return assistant_entry(row)


def test_who_may_only_look_brings_nothing_back(
    reader: Client, operator: Client, desk: Assistant
) -> None:
    save(operator, desk, model="m2")
    assert reader.get(versions(desk)).status_code == 200
    assert reader.post(versions(desk), {"number": "1"}).status_code == 403
    assert "Bring version" not in reader.get(versions(desk)).content.decode()


def test_an_import_is_a_version_too(desk: Assistant) -> None:
    entry = {"id": "desk", "name": "Desk", "provider": "main", "model": "m9"}
    import_bundle(json.dumps({"version": 1, "assistants": [entry]}))
    assert numbers(desk) == [1, 2]
    assert desk.versions.get(number=2).by == "bundle"


def test_a_run_names_the_version_that_it_used(operator: Client, desk: Assistant) -> None:
    save(operator, desk, model="m2")
    desk.refresh_from_db()
    person = get_user_model().objects.get(username="operator")
    talk = Conversation.objects.create(user=person, assistant=desk)
    run = Run.objects.create(
        conversation=talk, user=person, assistant=desk, trace_id="t",
        configuration=snapshot(desk, []),
    )  # fmt: skip
    html = operator.get(f"/admin/agents/run/{run.pk}/change/").content.decode()
    assert f'{versions(desk)}?before=2&amp;after=2">2</a>' in html


def test_the_list_points_out_what_is_gone_and_what_waits(operator: Client, desk: Assistant) -> None:
    html = operator.get("/admin/agents/assistant/").content.decode()
    assert 'title="weather.gone"' in html and "1 ticked tool is gone" in html
    # The tools of this test were never listed by a server, so no definition is approved.
    assert "notes.read" in html
