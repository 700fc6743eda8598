"""Who changed what, from what to what, and who decided: kept, shown, and exported."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from agents.bundle.importing import import_bundle
from agents.loop.interfaces import Approval
from agents.models import Assistant, AuditEntry, Conversation, Question, Run, Server, TrustedName
from agents.runs.approvals import store_answer
from tests.admin.posting import changed, read_form, submit
from tests.admin.test_assistants import FORM, desk, notes, weather

__all__ = ["desk", "notes", "weather"]

LIST = "/admin/agents/auditentry/"


def page(row: Assistant) -> str:
    return f"/admin/agents/assistant/{row.pk}/change/"


def entries() -> list[tuple[str, str, str, Any, Any]]:
    rows = AuditEntry.objects.order_by("pk")
    return [(row.who, row.kind, row.subject, row.before, row.after) for row in rows]


def exported(client: Client, suffix: str) -> str:
    response = client.get(f"{LIST}export.{suffix}")
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]


def test_a_changed_whitelist_is_noted_apart_from_the_rest(
    operator: Client, desk: Assistant
) -> None:
    fields = read_form(operator.get(page(desk)), FORM)
    link = desk.server_links.get(server__server_id="weather")
    posted = changed(fields, model="m2") | {f"tool-{link.server_id}": ["get", "history"]}
    assert operator.post(page(desk), posted).status_code == 302
    whitelist, rest = entries()
    assert whitelist[:3] == ("operator", "whitelist", "desk")
    assert whitelist[3]["mcp"]["servers"][0]["tools"] == ["get", "gone"]
    assert whitelist[4]["mcp"]["servers"][0]["tools"] == ["get", "history"]
    assert rest == ("operator", "assistant", "desk", {"model": ""}, {"model": "m2"})


def test_a_save_that_changes_nothing_is_no_entry(operator: Client, desk: Assistant) -> None:
    assert submit(operator, page(desk), FORM).status_code == 302
    assert entries() == []


def test_groups_of_an_assistant_are_noted(operator: Client, desk: Assistant) -> None:
    group = Group.objects.create(name="Friends")
    submit(operator, page(desk), FORM, groups=str(group.pk))
    [entry] = entries()
    assert entry == ("operator", "people", "desk", {"groups": []}, {"groups": ["Friends"]})


def test_secrets_are_in_no_entry(operator: Client, desk: Assistant) -> None:
    bundle = {
        "version": 1,
        "servers": [
            {
                "server_id": "docs", "transport": "http", "url": "https://docs.example.org/mcp",
                "headers": {"Authorization": "Bearer sk-very-secret-token"},
            }
        ],
    }  # fmt: skip
    import_bundle(json.dumps(bundle))
    kinds = [entry[1] for entry in entries()]
    assert kinds == ["server", "trust"]
    assert "very-secret" not in json.dumps(entries())
    assert entries()[0][0] == "bundle"


def test_a_secret_that_is_another_is_noted_and_not_shown(operator: Client, desk: Assistant) -> None:
    server = Server.objects.create(
        server_id="docs", transport="http", url="https://docs.example.org/mcp",
        headers={"Authorization": "Bearer old-one-11", "X-Team": "team-old"},
    )  # fmt: skip
    headers = "Authorization=Bearer new-one-22\nX-Team=team-new"
    path = f"/admin/agents/server/{server.pk}/change/"
    submit(operator, path, "server_form", headers_lines=headers)
    provider = f"/admin/agents/provider/{desk.provider_id}/change/"
    for key in ("key-one-33", "key-two-44"):
        submit(operator, provider, "provider_form", new_key=key)
    told = [(who, kind, after["secrets"]) for who, kind, _, _, after in entries()]
    assert told == [("operator", kind, "changed") for kind in ("server", "provider", "provider")]
    assert not re.search("old-one|new-one|team-|key-", json.dumps(entries()))


def test_deleting_and_trusting_are_noted(operator: Client, desk: Assistant) -> None:
    row = Server.objects.create(server_id="old", transport="python", module="m")
    operator.post(f"/admin/agents/server/{row.pk}/delete/", {"post": "yes"})
    operator.post("/admin/agents/trustedname/add/", {"kind": "host", "value": "127.0.0.1:1"})
    assert TrustedName.objects.count() == 1
    told = [(kind, subject, before is None, after is None) for _, kind, subject, before, after
            in entries()]  # fmt: skip
    assert told == [("server", "old", False, True), ("trust", "host: 127.0.0.1:1", True, False)]


def test_a_decision_is_noted_with_its_reason_once(operator: Client, desk: Assistant) -> None:
    person = get_user_model().objects.get(username="operator")
    talk = Conversation.objects.create(user=person, assistant=desk)
    run = Run.objects.create(
        conversation=talk, user=person, assistant=desk, trace_id="t", status="running"
    )
    Question.objects.create(run=run, call_key="k", server="notes", tool="write")
    answer = Approval(is_allowed=False, reason="not today", by="olga")
    assert store_answer("k", talk.pk, answer)
    assert not store_answer("k", talk.pk, answer)
    [entry] = AuditEntry.objects.all()
    assert (entry.who, entry.subject, entry.reason) == ("olga", "notes.write", "not today")
    assert entry.after == {"allowed": False, "run": run.pk}
    assert "denied" in operator.get(LIST).content.decode()


def test_the_exports_hold_everything_and_no_formula(operator: Client, desk: Assistant) -> None:
    for subject in ("=HYPERLINK(1)", "+1", "-1", "@x", "plain, with comma\nand line"):
        AuditEntry.objects.create(who="olga", kind="server", subject=subject, after={"a": "b"})
    rows = list(csv.reader(io.StringIO(exported(operator, "csv"))))
    assert rows[0] == ["at", "who", "kind", "subject", "before", "after", "reason"]
    assert [row[3] for row in rows[1:]] == [
        "'=HYPERLINK(1)", "'+1", "'-1", "'@x", "plain, with comma\nand line",
    ]  # fmt: skip
    lines = [json.loads(line) for line in exported(operator, "jsonl").splitlines()]
    assert [line["after"] for line in lines] == [{"a": "b"}] * 5
    assert operator.get(f"{LIST}export.xml").status_code == 404


@pytest.mark.parametrize("path", ["add/", "1/delete/"])
def test_nobody_adds_or_deletes_entries(operator: Client, desk: Assistant, path: str) -> None:
    AuditEntry.objects.create(pk=1, who="olga", kind="server", subject="s")
    assert operator.get(LIST + path).status_code == 403
    operator.post(f"{LIST}1/change/", {"who": "somebody"})
    assert AuditEntry.objects.get().who == "olga"


def test_who_may_not_see_it_exports_nothing(desk: Assistant, django_user_model: Any) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_user("staff", is_staff=True))
    assert client.get(f"{LIST}export.csv").status_code == 403
