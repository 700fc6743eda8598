"""Every page: as its owner, as somebody else, logged out."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from agents.chat.accepting import MAX_MESSAGE_CHARS
from agents.models import Assistant, Attachment, Conversation, Message, Run, RunStatus
from tests.chat.factory import Talk, every_state, make_user, running_talk, three_cities

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a route answers: to its owner, to another user, to nobody."""

    path: Callable[[Talk], str]
    method: str = "get"
    body: dict[str, str] | None = None
    owner: int = 200
    other: int = 404
    nobody: int = 302


def of_conversation(name: str) -> Callable[[Talk], str]:
    return lambda talk: reverse(name, args=[talk.conversation.pk])


def picture(talk: Talk) -> str:
    row = Message.objects.filter(conversation=talk.conversation, role="tool").first()
    assert row is not None
    Attachment.objects.get_or_create(
        message=row, position=0, kind="image", mime_type="image/png", content=PIXEL
    )
    return reverse("attachment", args=[row.pk, 0])


PAGES: dict[str, Page] = {
    "home": Page(path=lambda talk: "/", owner=302, other=200),
    "conversation_list": Page(path=lambda talk: "/c/list/", other=200),
    "new_conversation": Page(path=lambda talk: "/c/new/", other=200),
    "conversation": Page(path=of_conversation("conversation")),
    "conversation_log": Page(path=of_conversation("conversation_log")),
    "send_message": Page(
        path=of_conversation("send_message"), method="post", body={"text": "hi"}, owner=302
    ),
    "rename_conversation": Page(
        path=of_conversation("rename_conversation"), method="post", body={"title": "x"}, owner=302
    ),
    "pin_conversation": Page(
        path=of_conversation("pin_conversation"), method="post", body={"pinned": "1"}, owner=302
    ),
    "delete_conversation": Page(
        path=of_conversation("delete_conversation"), method="post", owner=302
    ),
    "export_conversation": Page(path=of_conversation("export_conversation")),
    "import_conversations": Page(path=lambda talk: "/c/import/", other=200),
    "notes": Page(path=lambda talk: "/notes/", other=200),
    "delete_note": Page(
        path=lambda talk: "/notes/delete/", method="post", body={"path": "x.md"}, owner=404
    ),
    "conversation_files": Page(path=of_conversation("conversation_files")),
    "conversation_file": Page(
        path=lambda talk: f"{of_conversation('conversation_files')(talk)}none.txt", owner=404
    ),
    "attachment": Page(path=picture),
    "approvals": Page(path=lambda talk: "/approvals/", other=200),
    "decide_approval": Page(
        path=lambda talk: "/approvals/decide/", method="post", body={"key": "x"}, owner=404
    ),
    "healthz": Page(path=lambda talk: "/healthz", other=200, nobody=200),
    "readyz": Page(path=lambda talk: "/readyz", owner=503, other=503, nobody=503),
    "login": Page(path=lambda talk: "/login/", owner=302, other=302, nobody=200),
    "logout": Page(path=lambda talk: "/logout/", method="post", owner=302, other=302),
    "set_language": Page(
        path=lambda talk: "/i18n/setlang/",
        method="post",
        body={"language": "zh-hans", "next": "/login/"},
        owner=302,
        other=302,
    ),
}
"""Every named route outside of the admin. A new one belongs here, with who may see it."""


def named_routes() -> set[str]:
    found: set[str] = set()

    def walk(patterns: list[URLPattern | URLResolver]) -> None:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                if pattern.app_name != "admin":
                    walk(pattern.url_patterns)
            else:
                found.add(pattern.name or str(pattern.pattern))

    walk(get_resolver().url_patterns)
    return found


def ask(client: Client, page: Page, talk: Talk) -> HttpResponse:
    path = page.path(talk)
    return client.post(path, page.body or {}) if page.method == "post" else client.get(path)


def test_every_route_says_who_may_see_it() -> None:
    own = {name for name in named_routes() if not name.startswith("trace")}
    assert own == set(PAGES)


@pytest.fixture
def written(talk: Talk) -> Talk:
    """A conversation with a finished run."""
    three_cities(talk)
    return talk


@pytest.mark.parametrize("name", PAGES)
def test_the_owner_sees_it(name: str, written: Talk, page: Client) -> None:
    assert ask(page, PAGES[name], written).status_code == PAGES[name].owner


@pytest.mark.parametrize("superuser", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_somebody_else_does_not(name: str, superuser: bool, written: Talk) -> None:
    before = Conversation.objects.values().get(pk=written.conversation.pk)
    client = Client()
    client.force_login(make_user("other", is_superuser=superuser))
    response = ask(client, PAGES[name], written)
    assert response.status_code == PAGES[name].other
    assert b"Coats" not in response.content
    assert Conversation.objects.values().get(pk=written.conversation.pk) == before


@pytest.mark.parametrize("name", PAGES)
def test_nobody_is_asked_to_log_in(name: str, written: Talk) -> None:
    response = ask(Client(), PAGES[name], written)
    assert response.status_code == PAGES[name].nobody
    if PAGES[name].nobody == 302 and name not in ("logout", "set_language"):
        assert response.headers["Location"].startswith("/login/?next=")


def test_a_page_can_be_read_without_scripts(written: Talk, page: Client) -> None:
    html = page.get(f"/c/{written.conversation.pk}/").content.decode()
    for text in ("I fly Beijing", "I will look up", "Yes, take the heavy coat", "tool error"):
        assert text in html
    assert html.count("<details") >= 6
    assert "Turn limit 5 reached" in html


def test_every_call_of_a_page_has_an_id_of_its_own(talk: Talk, page: Client) -> None:
    every_state(talk)
    three_cities(talk)
    running_talk(talk)
    html = page.get(f"/c/{talk.conversation.pk}/").content.decode()
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert len([name for name in ids if name.startswith("call-")]) >= 18


def test_what_people_and_tools_say_is_escaped(talk: Talk, page: Client) -> None:
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    talk.conversation.title = attack
    talk.conversation.save()
    talk.ask(attack)
    [key] = talk.call((attack, {attack: attack}), text=attack)
    talk.result(key, attack, tool=f"{attack} / {attack}", arguments={attack: attack}, error=attack)
    talk.say(attack, level=1)
    talk.finish(RunStatus.FAILED, "provider_error", level=3, error=attack)
    talk.queue(attack)
    html = page.get(f"/c/{talk.conversation.pk}/").content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("&lt;script&gt;") > 10


def test_nothing_is_inline_and_the_policy_says_so(written: Talk, page: Client) -> None:
    response = page.get(f"/c/{written.conversation.pk}/")
    html = response.content.decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", html)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"


def test_the_admin_has_the_same_policy(db: None) -> None:
    response = Client().get("/admin/login/")
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]


def test_a_new_conversation_begins_with_its_first_message(
    page: Client, assistant: Assistant, owner: User
) -> None:
    response = page.post("/c/new/", {"assistant": assistant.pk, "text": "What about Oslo?"})
    conversation = Conversation.objects.get(user=owner)
    assert response.headers["Location"] == f"/c/{conversation.pk}/"
    run = Run.objects.get(conversation=conversation)
    assert (run.status, run.message.content) == (RunStatus.QUEUED, "What about Oslo?")


@pytest.mark.parametrize("wanted", ["", "0", "999999", "x", "²"])
def test_a_conversation_needs_an_assistant_one_may_use(
    wanted: str, page: Client, assistant: Assistant
) -> None:
    assert page.post("/c/new/", {"assistant": wanted}).status_code == 404
    assert not Conversation.objects.exists()


def test_a_system_assistant_is_nobodys_partner(page: Client, assistant: Assistant) -> None:
    Assistant.objects.filter(pk=assistant.pk).update(is_system=True)
    assert page.post("/c/new/", {"assistant": assistant.pk}).status_code == 404
    assert "Nobody to talk to yet" in page.get("/c/new/").content.decode()


def test_an_operator_is_told_what_is_missing(db: None) -> None:
    client = Client()
    client.force_login(make_user("op", is_staff=True, is_superuser=True))
    html = client.get("/").content.decode()
    for model in ("provider", "server", "assistant"):
        assert f'href="/admin/agents/{model}/"' in html


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("coats", True),
        ("HEAVY coat", True),
        ("Lima does not", True),
        ("zebra", False),
        ("'", False),
    ],
)
def test_search_looks_into_titles_and_texts(
    query: str, found: bool, written: Talk, page: Client
) -> None:
    html = page.get("/c/list/", {"q": query}).content.decode()
    assert (f"cv-{written.conversation.pk}" in html) is found


@pytest.mark.parametrize("query", ["北京", "适合穿", "今天的天气"])
def test_search_finds_chinese(query: str, talk: Talk, page: Client) -> None:
    running_talk(talk)
    html = page.get("/c/list/", {"q": query}).content.decode()
    assert f"cv-{talk.conversation.pk}" in html


def test_conversations_are_grouped_and_show_how_they_stand(talk: Talk, page: Client) -> None:
    running_talk(talk)
    Talk(talk.conversation.user, talk.conversation.assistant, "Kept", is_pinned=True)
    html = page.get("/c/list/").content.decode()
    assert html.index("Pinned") < html.index("Kept") < html.index("Today") < html.index("Coats")
    assert "running" in html


def test_a_title_is_changed_and_never_emptied(written: Talk, page: Client) -> None:
    path = f"/c/{written.conversation.pk}/rename/"
    page.post(path, {"title": "  A   new\nname "})
    page.post(path, {"title": "   "})
    assert Conversation.objects.get(pk=written.conversation.pk).title == "A new name"


def test_renaming_does_not_move_a_conversation_to_the_top(written: Talk, page: Client) -> None:
    before = Conversation.objects.get(pk=written.conversation.pk).updated_at
    page.post(f"/c/{written.conversation.pk}/rename/", {"title": "Other"})
    assert Conversation.objects.get(pk=written.conversation.pk).updated_at == before


def test_a_conversation_is_not_deleted_under_a_run(talk: Talk, page: Client) -> None:
    running_talk(talk)
    response = page.post(f"/c/{talk.conversation.pk}/delete/")
    assert response.status_code == 409
    assert "stop it first" in response.content.decode()
    assert Conversation.objects.filter(pk=talk.conversation.pk).exists()


def test_a_deleted_conversation_is_gone_with_everything(written: Talk, page: Client) -> None:
    page.post(f"/c/{written.conversation.pk}/delete/")
    assert not Message.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("image/png", "image/png"),
        ("audio/mpeg", "audio/mpeg"),
        ("image/svg+xml", "application/octet-stream"),
        ("text/html", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("image/png\r\nX-Evil: 1", "application/octet-stream"),
    ],
)
def test_an_attachment_can_never_run(kind: str, sent: str, talk: Talk, page: Client) -> None:
    talk.ask("Draw.")
    [key] = talk.call(("weather_get", {}))
    row = talk.result(key, "a picture")
    Attachment.objects.create(message=row, position=0, kind="image", mime_type=kind, content=b"x")
    response = page.get(f"/attachments/{row.pk}/0/")
    assert response.headers["Content-Type"] == sent
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert ("Content-Disposition" in response.headers) is (sent == "application/octet-stream")
    assert response.content == b"x"


def test_pictures_of_a_result_are_shown_in_its_card(written: Talk, page: Client) -> None:
    path = picture(written)
    assert f'src="{path}"' in page.get(f"/c/{written.conversation.pk}/").content.decode()


@pytest.mark.parametrize("code", ["zh-hans", "en"])
def test_the_page_speaks_the_readers_language(code: str, written: Talk, page: Client) -> None:
    page.post("/i18n/setlang/", {"language": code, "next": "/"})
    html = page.get(f"/c/{written.conversation.pk}/").content.decode()
    assert f'<html lang="{code}">' in html
    assert ("已达到 5 轮上限" in html) is (code == "zh-hans")
    assert ("Turn limit 5 reached" in html) is (code == "en")


def test_texts_carry_their_language(talk: Talk, page: Client) -> None:
    running_talk(talk)
    html = page.get(f"/c/{talk.conversation.pk}/").content.decode()
    assert '<div class="bub" lang="zh">北京今天适合穿什么?</div>' in html


def test_an_unknown_page_is_found_missing_in_words(page: Client) -> None:
    response = page.get("/nowhere/")
    assert response.status_code == 404
    assert "There is no such page" in response.content.decode()


def test_a_message_that_is_too_long_is_refused_in_words(page: Client, assistant: Assistant) -> None:
    text = "x" * (MAX_MESSAGE_CHARS + 1)
    answer = page.post("/c/new/", {"assistant": assistant.pk, "text": text})
    assert answer.status_code == 400
    assert "may have 200,000 characters, this one has 200,001" in answer.content.decode()
    assert not Conversation.objects.exists()


def test_a_message_without_anything_to_see_is_refused(talk: Talk, page: Client) -> None:
    answer = page.post(f"/c/{talk.conversation.pk}/send/", {"text": "\u200b"})
    assert answer.status_code == 400
    assert not Run.objects.filter(status="queued").exists()
