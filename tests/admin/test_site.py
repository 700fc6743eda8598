"""The admin as a whole: every page opens, for those who may, under the site's own rules."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.models import Conversation, GlobalPrompt, Run, TrustedName
from tests.admin.conftest import browser_of
from tests.chat.factory import Talk, make_assistant, make_user

INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:")


@pytest.fixture
def talk(db: None) -> Talk:
    """A conversation with a run, so that no list is empty."""
    talk = Talk(make_user(), make_assistant(), "Coats")
    talk.ask("Hello")
    GlobalPrompt.objects.create(position=0, content="Everybody.")
    TrustedName.objects.create(kind="env", value="TOKEN", source="bundle")
    return talk


def urls(talk: Talk) -> list[str]:
    """The index, every list, every form, and one page of everything that there is."""
    found = [reverse("admin:index")]
    for model, owner in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        found.append(reverse(f"{name}_changelist"))
        found.append(reverse(f"{name}_add"))
        row = model._default_manager.first()
        if row is not None and owner is not None:
            found.append(reverse(f"{name}_change", args=[row.pk]))
            found.append(reverse(f"{name}_history", args=[row.pk]))
    return found


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_opens_and_nothing_is_inline(
    operator: Client, talk: Talk, language: str
) -> None:
    operator.cookies["django_language"] = language
    opened = 0
    for url in urls(talk):
        response = operator.get(url)
        if response.status_code == 403:
            assert url.endswith("/add/"), url
            continue
        assert response.status_code == 200, url
        text = response.content.decode()
        assert f'lang="{language}"' in text
        assert not INLINE.search(text), (url, INLINE.search(text))
        assert "default-src 'none'" in response["Content-Security-Policy"]
        assert "css/tokens.css" in text
        opened += 1
    assert opened > 30


def test_a_reader_can_open_what_they_may_read(reader: Client, talk: Talk) -> None:
    for model in ("provider", "server", "assistant", "tool", "conversation", "run"):
        row = apps.get_model("agents", model)._default_manager.first()
        for url in (
            reverse(f"admin:agents_{model}_changelist"),
            reverse(f"admin:agents_{model}_change", args=[row.pk]),
        ):
            response = reader.get(url)
            assert response.status_code == 200, url
            assert 'name="_save"' not in response.content.decode()


def test_the_login_is_the_sites_own_and_leads_back(db: None) -> None:
    response = Client().get("/admin/agents/server/")
    assert response.status_code == 302
    response = Client().get(response.url)
    assert response.url == "/login/?next=/admin/agents/server/"


def test_who_is_no_staff_is_told_so_and_not_sent_in_circles(db: None) -> None:
    client = browser_of(make_user("guest"))
    response = client.get("/admin/", follow=True)
    assert response.status_code == 403
    assert "Not allowed" in response.content.decode()


def test_conversations_and_runs_are_only_read(operator: Client, talk: Talk) -> None:
    run, row = Run.objects.get(), Conversation.objects.get()
    before = Run.objects.values().get()
    assert operator.post(f"/admin/agents/run/{run.pk}/change/", {"status": "x"}).status_code == 403
    path = f"/admin/agents/conversation/{row.pk}/change/"
    assert operator.post(path, {"title": "x"}).status_code == 403
    assert operator.post(f"/admin/agents/run/{run.pk}/delete/", {"post": "1"}).status_code == 403
    assert Run.objects.values().get() == before


def test_a_conversation_is_deleted_with_its_runs(operator: Client, talk: Talk) -> None:
    row = Conversation.objects.get()
    path = f"/admin/agents/conversation/{row.pk}/delete/"
    assert Run.objects.get().status == "running"
    operator.post(path, {"post": "yes"})
    assert Conversation.objects.count() == 1
    Run.objects.update(status="completed", stop_reason="answered", finished_at=timezone.now())
    assert operator.post(path, {"post": "yes"}).status_code == 302
    assert (Conversation.objects.count(), Run.objects.count()) == (0, 0)


def test_the_runs_of_a_conversation_are_linked(operator: Client, talk: Talk) -> None:
    page = operator.get("/admin/agents/conversation/").content.decode()
    link = re.search(r'href="(/admin/agents/run/\?[^"]+)"', page)
    assert link
    assert str(Run.objects.get().pk) in operator.get(link[1]).content.decode()


def test_trusted_names_are_a_superusers_list(operator: Client, staff: Client) -> None:
    add = "/admin/agents/trustedname/add/"
    given = {"kind": "host", "value": "127.0.0.1:9001"}
    assert staff.post(add, given).status_code == 403
    assert operator.post(add, given).status_code == 302
    assert TrustedName.objects.get().source == "admin: operator"
    assert LogEntry.objects.count() == 1


def test_a_global_prompt_has_a_role_that_there_is(operator: Client) -> None:
    add = "/admin/agents/globalprompt/add/"
    wrong = operator.post(add, {"position": 0, "role": "robot", "content": "x"})
    assert "Select a valid choice" in wrong.content.decode()
    assert operator.post(add, {"position": 0, "role": "user", "content": "x"}).status_code == 302
    assert operator.get("/admin/agents/globalprompt/").status_code == 200


def test_users_are_added_as_django_does_it(operator: Client) -> None:
    given = {
        "username": "anna", "password1": "a-long-pass-word-1", "password2": "a-long-pass-word-1",
        "usable_password": "true",
    }  # fmt: skip
    assert operator.post("/admin/auth/user/add/", given).status_code == 302
    assert User.objects.filter(username="anna").exists()
