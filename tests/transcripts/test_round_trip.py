"""What was exported and imported again is the same conversation."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.models import Assistant, Attachment, Conversation, Message, Run, RunStatus
from agents.runs.stored_messages import split_path
from agents.transcripts.writing import conversation_lines
from tests.chat.factory import Talk, every_state, make_assistant, make_user, three_cities
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Runner, stored_path
from tests.servers import stdio_entry
from tests.transcripts.conftest import (
    HEAD,
    as_file,
    bring_in,
    lines_of,
    message,
    without_ids,
)

PIXEL = b"\x89PNG\r\n\x1a\n\x00\xff"


def exported(row: Conversation) -> bytes:
    return "".join(conversation_lines(row)).encode()


@pytest.mark.django_db
@pytest.mark.parametrize("fill", [three_cities, every_state])
def test_the_round_trip_gives_the_same_conversation(fill: object) -> None:
    talk = Talk(make_user(), make_assistant(), "Coats 北京")
    fill(talk)  # type: ignore[operator]
    Run.objects.exclude(status__in=["completed", "failed", "cancelled", "interrupted"]).delete()
    first = Message.objects.filter(role="tool").first()
    assert first is not None
    for position in (0, 1):
        Attachment.objects.create(
            message=first, position=position, kind="image", mime_type="image/png", content=PIXEL
        )
    row = Conversation.objects.get(pk=talk.conversation.pk)
    other = make_user("other")
    [copy] = bring_in(other, exported(row))
    copy.refresh_from_db()
    assert without_ids(lines_of(copy)) == without_ids(lines_of(row))
    assert copy.user == other and copy.pk != row.pk
    assert len({m.pk for m in copy.messages.all()} & {m.pk for m in row.messages.all()}) == 0
    assert [bytes(a.content) for a in Attachment.objects.filter(message__conversation=copy)] == [
        PIXEL, PIXEL,
    ]  # fmt: skip


@pytest.mark.django_db
def test_every_branch_comes_back_with_its_place(assistant: Assistant, mira: User) -> None:
    lines = [
        {**HEAD, "title": "Branches", "leaf": "a2"},
        message("u1", None, "user", "Hello"),
        message("a1", "u1", "assistant", "First"),
        message("a2", "u1", "assistant", "Second"),
        message("u9", None, "user", "Another beginning"),
        message("a9", "u9", "assistant", "Third"),
    ]
    [row] = bring_in(mira, as_file(lines))
    row.refresh_from_db()
    assert row.leaf is not None and row.leaf.content == "Second"
    tree = {m.content: m.parent.content if m.parent else None for m in row.messages.all()}
    assert tree == {
        "Hello": None,
        "First": "Hello",
        "Second": "Hello",
        "Another beginning": None,
        "Third": "Another beginning",
    }
    [copy] = bring_in(mira, exported(row))
    copy.refresh_from_db()
    assert without_ids(lines_of(copy)) == without_ids(lines_of(row))


@pytest.mark.django_db
def test_a_file_by_hand_needs_neither_runs_nor_keys(
    assistant: Assistant, mira: User, client: Client
) -> None:
    asked = [{"id": "c1", "name": "w__get", "arguments": '{"city": "Oslo"}'}]
    lines = [
        HEAD,
        message("u1", None, "user", "Weather?"),
        message("a1", "u1", "assistant", None, tool_calls=asked),
        message("t1", "a1", "tool", "-4", tool_call_id="c1", outcome="ok"),
        message("a2", "t1", "assistant", "It is -4 °C."),
        message("u2", "a2", "user", "Thanks"),
        message("a3", "u2", "assistant", "You are welcome."),
    ]
    [row] = bring_in(mira, as_file(lines))
    runs = list(row.runs.order_by("created_at"))
    assert [(run.status, run.tool_calls, run.turns) for run in runs] == [
        ("completed", 1, 1),
        ("completed", 0, 0),
    ]
    assert [run.answer.content for run in runs if run.answer] == [
        "It is -4 °C.",
        "You are welcome.",
    ]
    result = row.messages.get(role="tool")
    assert result.call_key == result.parent.tool_calls[0]["key"] == f"{runs[0].pk}:0:1:0"
    client.force_login(mira)
    page = client.get(f"/c/{row.pk}/").content.decode()
    assert "Weather?" in page and "It is -4 °C." in page and "You are welcome." in page


@pytest.mark.django_db
def test_a_summary_stands_for_the_same_messages(assistant: Assistant, mira: User) -> None:
    folded = {"through": "a1", "reason": "ratio", "messages": 2}
    lines = [
        {**HEAD, "leaf": "u2"},
        message("u1", None, "user", "Old"),
        message("a1", "u1", "assistant", "Older"),
        message("s1", "a1", "system", "They said old things.", details={"compaction": folded}),
        message("u2", "s1", "user", "New"),
    ]
    [row] = bring_in(mira, as_file(lines))
    path = stored_path(row.pk)
    assert path[2].details["compaction"]["through"] == path[1].pk
    history = split_path(path, path[3].pk).history
    assert len(history) == 1 and "They said old things." in str(history[0].content)


def test_a_real_run_goes_on_in_its_copy(runner: Runner, tmp_path: Path) -> None:
    script = [calls(call("c1", "echo__img")), text("done"), text("again")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("show me")
        file = tmp_path / "talk.jsonl"
        call_command("export_conversation", ran.conversation, output=str(file))
        out = StringIO()
        call_command("import_conversations", str(file), user="operator", stdout=out)
        copy = Conversation.objects.exclude(pk=ran.conversation).get()
        runner.run("and now?", conversation=copy.pk, user="operator")
        sent = provider.requests[2].messages
    assert "conversations: 1, messages: 4, for operator" in out.getvalue()
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"
    original, copied = (
        Attachment.objects.get(message__conversation=pk) for pk in (ran.conversation, copy.pk)
    )
    assert bytes(original.content) == bytes(copied.content)
    assert original.message_id != copied.message_id


@pytest.mark.django_db
def test_settings_of_the_operator_are_not_in_the_file(client: Client) -> None:
    talk = Talk(make_user(), make_assistant(), "Coats")
    three_cities(talk)
    Run.objects.update(configuration={"prompts": [{"content": "SECRET PROMPT"}]})
    client.force_login(talk.conversation.user)
    response = client.get(f"/c/{talk.conversation.pk}/export/")
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="coats-')
    assert "SECRET PROMPT" not in response.content.decode()
    assert json.loads(response.content.splitlines()[0])["title"] == "Coats"


@pytest.mark.django_db
def test_while_a_run_goes_on_nothing_is_exported(client: Client) -> None:
    talk = Talk(make_user(), make_assistant(), "Coats")
    three_cities(talk)
    Run.objects.update(status=RunStatus.RUNNING, finished_at=None)
    client.force_login(talk.conversation.user)
    response = client.get(f"/c/{talk.conversation.pk}/export/")
    assert response.status_code == 409 and b"A run is going on" in response.content
    with pytest.raises(CommandError, match="A run is going on"):
        call_command("export_conversation", talk.conversation.pk)
    out, err = StringIO(), StringIO()
    call_command("export_conversation", user="mira", stdout=out, stderr=err)
    assert out.getvalue() == "" and "left out: A run is going on" in err.getvalue()


@pytest.mark.django_db
def test_all_conversations_of_a_person_are_one_file(mira: User, assistant: Assistant) -> None:
    for title in ("One", "Two"):
        bring_in(mira, as_file([{**HEAD, "title": title}, message("u1", None, "user", title)]))
    out = StringIO()
    call_command("export_conversation", user="mira", stdout=out)
    other = make_user("other")
    rows = bring_in(other, out.getvalue().encode())
    assert [row.title for row in rows] == ["One", "Two"]
    assert [row.user for row in rows] == [other, other]


@pytest.mark.django_db
def test_the_number_of_statements_does_not_grow_with_the_messages(
    assistant: Assistant, mira: User
) -> None:
    def statements(count: int) -> int:
        chain = [message(f"m{n}", f"m{n - 1}" if n else None, "user", f"{n}") for n in range(count)]
        with CaptureQueriesContext(connection) as seen:
            bring_in(mira, as_file([HEAD, *chain]))
        return len(seen)

    assert statements(200) <= statements(2) + 5
