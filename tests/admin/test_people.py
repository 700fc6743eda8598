"""Users and groups in the admin: what is noted of them, and what staff cannot do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from agents.access import may_chat
from agents.models import Assistant, AuditEntry
from tests.admin.conftest import browser_of
from tests.admin.posting import read_form, submit
from tests.chat.factory import make_assistant


@pytest.fixture
def clerk(db: None) -> Client:
    """The browser of a person who looks after users and groups, and is no superuser."""
    person = User.objects.create_user("clerk", is_staff=True)
    rights = Permission.objects.filter(content_type__app_label="auth")
    person.user_permissions.set(rights)
    return browser_of(person)


def page_of(row: User) -> str:
    return f"/admin/auth/user/{row.pk}/change/"


def entries() -> list[tuple[str, str, Any, Any]]:
    rows = AuditEntry.objects.filter(kind="people").order_by("pk")
    return [(row.who, row.subject, row.before, row.after) for row in rows]


@pytest.mark.parametrize("field", ["groups", "approver_groups"])
def test_a_group_that_an_assistant_names_cannot_be_deleted(operator: Client, field: str) -> None:
    assistant, group = make_assistant(), Group.objects.create(name="Legal")
    getattr(assistant, field).set([group])
    guest = User.objects.create_user("guest")
    page = operator.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})
    assert str(assistant) in page.content.decode()
    chosen = {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}
    operator.post("/admin/auth/group/", chosen)
    assert Group.objects.count() == 1
    assert may_chat(guest, Assistant.objects.get(pk=assistant.pk)) is (field != "groups")
    getattr(assistant, field).clear()
    operator.post("/admin/auth/group/", chosen)
    assert entries() == [
        ("operator", "group: Legal", {"name": "Legal", "permissions": []}, None),
    ]


def test_staff_make_nobody_a_superuser_and_touch_none(clerk: Client, operator: Client) -> None:
    me, chief = User.objects.get(username="clerk"), User.objects.get(username="operator")
    fields = read_form(clerk.get(page_of(me)), "user_form") | {"is_superuser": ["on"]}
    assert clerk.post(page_of(me), fields).status_code == 302
    me.refresh_from_db()
    assert not me.is_superuser
    new = {"password1": "a-new-passphrase-1", "password2": "a-new-passphrase-1"}
    assert clerk.post(f"/admin/auth/user/{chief.pk}/password/", new).status_code == 403
    assert clerk.post(page_of(chief), {"username": "x"}).status_code == 403
    assert clerk.post(f"/admin/auth/user/{chief.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [chief.pk], "post": "yes"}
    clerk.post("/admin/auth/user/", chosen)
    assert User.objects.filter(pk=chief.pk, username="operator").exists()


def test_who_came_into_which_group_is_noted(operator: Client) -> None:
    guest, group = User.objects.create_user("guest"), Group.objects.create(name="Approvers")
    submit(operator, page_of(guest), "user_form", groups=[str(group.pk)], is_staff="on")
    submit(operator, page_of(guest), "user_form", first_name="Gus")
    submit(operator, page_of(guest), "user_form", groups=[])
    before, after = {"is_staff": False, "groups": []}, {"is_staff": True, "groups": ["Approvers"]}
    assert entries() == [
        ("operator", "user: guest", before, after),
        ("operator", "user: guest", {"groups": ["Approvers"]}, {"groups": []}),
    ]


def test_users_are_added_and_deleted(operator: Client) -> None:
    words = {"password1": "a-new-passphrase-1", "password2": "a-new-passphrase-1"}
    submit(operator, "/admin/auth/user/add/", "user_form", username="guest", **words)
    guest = User.objects.get(username="guest")
    operator.post(f"/admin/auth/user/{guest.pk}/delete/", {"post": "yes"})
    assert [(subject, after) for _, subject, _, after in entries()] == [
        ("user: guest", {"username": "guest"}), ("user: guest", None),
    ]  # fmt: skip
