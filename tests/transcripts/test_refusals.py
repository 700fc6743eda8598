"""A broken file is refused with its line, and nothing of it is imported."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from agents.models import Assistant, Conversation, Message, Run
from agents.transcripts import reading
from agents.transcripts.records import PAGE_BYTES, TranscriptRefused
from tests.transcripts.conftest import HEAD, as_file, bring_in, message

pytestmark = pytest.mark.django_db

HELLO = message("u1", None, "user", "Hello")
ASKED = [{"id": "c1", "name": "w__get", "arguments": "{}", "key": "r1:0:1:0"}]
CALLING = message("a1", "u1", "assistant", None, tool_calls=ASKED)
RESULT = message("t1", "a1", "tool", "ok", tool_call_id="c1", call_key="r1:0:1:0", outcome="ok")
PICTURE = {"kind": "image", "data": "AA=="}
RUN = {"type": "run", "id": "r1", "status": "completed", "stop_reason": "answered"}


def deep(levels: int) -> str:
    return '{"type": "message", "content": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        ([], 0, "There is no conversation"),
        (["{"], 1, "expected one JSON object"),
        (["[1]"], 1, "expected one JSON object"),
        ([HEAD, '{"a": NaN}'], 2, "NaN is no JSON value"),
        ([HEAD, '{"a": 1e999}'], 2, "too large"),
        ([HEAD, deep(70)], 2, "nested deeper"),
        ([HEAD, deep(100_000)], 2, "nested deeper"),
        ([HELLO], 1, "must come before"),
        ([{**HEAD, "version": 2}], 1, "version must be 1, got 2"),
        ([{**HEAD, "format": "x"}], 1, "format must be one of toolloop-conversation"),
        ([{**HEAD, "colour": "red"}], 1, "colour is not known here"),
        ([{**HEAD, "leaf": "m9"}, HELLO], 1, "leaf names the message m9"),
        ([{**HEAD, "assistant": "nobody"}, HELLO], 1, "the assistant nobody, which is not here"),
        ([HEAD, {"type": "note"}], 2, "type must be one of"),
        ([HEAD, {**HELLO, "id": ""}], 2, "id must be a text"),
        ([HEAD, {**HELLO, "id": "a b"}], 2, "id must be an id"),
        ([HEAD, HELLO, HELLO], 3, "u1 stands here twice"),
        ([HEAD, {**HELLO, "parent": "u0"}], 2, "parent names the message u0"),
        ([HEAD, {**HELLO, "parent": "u1"}], 2, "parent names the message u1"),
        ([HEAD, {**HELLO, "run": "r1"}], 2, "run names the run r1"),
        ([HEAD, {**HELLO, "content": 7}], 2, "content must be a text, a list of parts or null"),
        ([HEAD, {**HELLO, "content": ["x"]}], 2, "content must be"),
        ([HEAD, {**HELLO, "role": "system"}], 2, "a system message must be a summary"),
        ([HEAD, {**HELLO, "outcome": "ok"}], 2, "outcome must be left out"),
        ([HEAD, {**HELLO, "tool_calls": ASKED}], 2, "only an assistant calls tools"),
        ([HEAD, {**HELLO, "created_at": "yesterday"}], 2, "created_at must be a moment"),
        ([HEAD, {**HELLO, "created_at": "2026-01-01T00:00:00"}], 2, "created_at must be a moment"),
        ([HEAD, {**HELLO, "level": 4}], 2, "level must be a whole number from 1 to 3"),
        ([HEAD, {**HELLO, "level": True}], 2, "level must be a whole number"),
        ([HEAD, {**HELLO, "details": {"usage": [1]}}], 2, "details/usage must be"),
        ([HEAD, {**HELLO, "details": {"server": 7}}], 2, "details/server must be a text"),
        ([HEAD, {**HELLO, "details": {"compaction": {}}}], 2, "details/compaction must be left"),
        ([HEAD, HELLO, {**CALLING, "tool_calls": [7]}], 3, "tool_calls must be a list of objects"),
        (
            [HEAD, HELLO, {**CALLING, "tool_calls": [{**ASKED[0], "key": "x"}]}],
            3,
            "tool_calls/0/key must be a key",
        ),
        (
            [HEAD, HELLO, {**CALLING, "tool_calls": [{**ASKED[0], "arguments": 7}]}],
            3,
            "tool_calls/0/arguments must be a text or an object",
        ),
        ([HEAD, HELLO, {**CALLING, "tool_calls": ASKED * 2}], 3, "stands here twice"),
        ([HEAD, HELLO, {**RESULT, "parent": "u1"}], 3, "has no such call in the answer above"),
        (
            [HEAD, HELLO, CALLING, {**RESULT, "call_key": "r1:0:1:9"}],
            4,
            "the call r1:0:1:9 has no such call",
        ),
        (
            [HEAD, HELLO, CALLING, {**RESULT, "tool_call_id": "c2"}],
            4,
            "tool_call_id is c2, but the id of the call is c1",
        ),
        ([HEAD, HELLO, CALLING, RESULT, {**RESULT, "id": "t2"}], 5, "has a result already"),
        ([HEAD, HELLO, CALLING, {**RESULT, "outcome": "fine"}], 4, "outcome must be one of"),
        (
            [HEAD, HELLO, CALLING, {**RESULT, "attachments": [{"kind": "image", "data": "?"}]}],
            4,
            "attachments/0/data must be base64",
        ),
        (
            [HEAD, HELLO, CALLING, {**RESULT, "attachments": [{"kind": "film", "data": "AA=="}]}],
            4,
            "attachments/0/kind must be one of image, audio",
        ),
        (
            [HEAD, HELLO, CALLING, {**RESULT, "attachments": [PICTURE, PICTURE]}],
            4,
            "each position once",
        ),
        ([HEAD, {**RUN, "status": "running"}], 2, "status must be one of completed"),
        ([HEAD, {**RUN, "stop_reason": ""}], 2, "stop_reason must be a text"),
        ([HEAD, {**RUN, "parent_run": "r0"}], 2, "parent_run names the run r0"),
        ([HEAD, {**RUN, "answer": "m7"}], 2, "answer names the message m7"),
        ([HEAD, RUN, RUN], 3, "the run r1 stands here twice"),
        ([HEAD, {**RUN, "limits": {"max_turn": "5"}}], 2, "limits/max_turn must be a number"),
        ([HEAD, {**RUN, "limits": {"prompts": 5}}], 2, "limits/prompts is not known here"),
        ([HEAD, {**RUN, "turns": -1}], 2, "turns must be a whole number"),
        ([HEAD, {**RUN, "turns": 2**31}], 2, "turns must be a whole number"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line_and_nothing_is_imported(
    assistant: Assistant, mira: User, lines: list[Any], line: int, told: str
) -> None:
    with pytest.raises(TranscriptRefused) as refused:
        bring_in(mira, as_file(lines))
    assert told in str(refused.value)
    assert refused.value.line == line
    assert Conversation.objects.count() == 0


def test_a_fault_in_the_last_conversation_keeps_out_the_first(
    assistant: Assistant, mira: User
) -> None:
    with pytest.raises(TranscriptRefused, match="Line 4: role must be one of"):
        bring_in(mira, as_file([HEAD, HELLO, HEAD, {**HELLO, "role": "king"}]))
    with pytest.raises(TranscriptRefused, match="Line 3: the conversation is with the assistant"):
        bring_in(mira, as_file([HEAD, HELLO, {**HEAD, "assistant": "gone"}, HELLO]))
    assert Conversation.objects.count() == Message.objects.count() == Run.objects.count() == 0


def test_bytes_that_are_no_text_are_told(assistant: Assistant, mira: User) -> None:
    with pytest.raises(TranscriptRefused, match="Line 2: expected text in UTF-8"):
        bring_in(mira, as_file([HEAD]) + b'{"type": "\xff"}')


def test_what_no_database_takes_is_replaced(assistant: Assistant, mira: User) -> None:
    [row] = bring_in(mira, as_file([HEAD, message("u1", None, "user", "a\0b\ud83d")]))
    assert row.messages.get().content == "a\ufffdb?"


def test_sizes_have_limits(
    assistant: Assistant, mira: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TranscriptRefused, match="larger than 40 bytes"):
        reading.read_transcript(BytesIO(as_file([HEAD, HELLO])), most_bytes=40)
    monkeypatch.setattr(reading, "MOST_LINES", 1)
    with pytest.raises(TranscriptRefused, match="Line 2: the file has more than 1 lines"):
        bring_in(mira, as_file([HEAD, HELLO]))
    monkeypatch.setattr(reading, "LINE_BYTES", 20)
    with pytest.raises(TranscriptRefused, match="Line 1: the line is longer than 20 bytes"):
        bring_in(mira, as_file([HEAD, HELLO]))


def upload(client: Client, content: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile("talk.jsonl", content)
    return client.post("/c/import/", {"file": file, **fields})


def test_the_page_imports_and_leads_to_the_conversation(
    assistant: Assistant, mira: User, client: Client
) -> None:
    client.force_login(mira)
    assert "names</option>" in client.get("/c/import/").content.decode()
    response = upload(client, as_file([{**HEAD, "title": "Back again"}, HELLO]))
    row = Conversation.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/c/{row.pk}/")
    assert (row.user, row.title) == (mira, "Back again")


def test_the_page_tells_the_line_of_a_fault(
    assistant: Assistant, mira: User, client: Client
) -> None:
    client.force_login(mira)
    response = upload(client, as_file([HEAD, {**HELLO, "role": "<b>king</b>"}]))
    page = response.content.decode()
    assert response.status_code == 400
    assert "Line 2: role must be one of" in page and "Nothing was imported." in page
    assert "&lt;b&gt;king" in page and "<b>king" not in page
    assert Conversation.objects.count() == 0
    assert "Choose a file." in client.post("/c/import/").content.decode()
    assert (
        f"larger than {PAGE_BYTES:,} bytes"
        in upload(client, b" " * (PAGE_BYTES + 1)).content.decode()
    )


def test_only_assistants_that_a_person_may_use_are_taken(
    assistant: Assistant, mira: User, client: Client
) -> None:
    closed = Assistant.objects.create(assistant_id="closed", name="Closed")
    closed.groups.add(Group.objects.create(name="others"))
    client.force_login(mira)
    page = client.get("/c/import/").content.decode()
    assert ">Helper</option>" in page and ">Closed</option>" not in page
    content = as_file([{**HEAD, "assistant": "closed"}, HELLO])
    assert b"the assistant closed, which is not here" in upload(client, content).content
    assert upload(client, content, assistant=str(closed.pk)).status_code == 404
    assert upload(client, content, assistant=str(assistant.pk)).status_code == 302
    assert Conversation.objects.get().assistant == assistant


def test_the_command_tells_the_line_too(assistant: Assistant, mira: User, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(as_file([HEAD, {**HELLO, "parent": "u0"}]))
    with pytest.raises(CommandError, match=r"talk.jsonl: Line 2: parent names .* Nothing was"):
        call_command("import_conversations", str(file), user="mira")
    for given, told in (
        ({"user": "nobody"}, "There is no user 'nobody'"),
        ({"user": "mira", "assistant": "nobody"}, "There is no assistant 'nobody'"),
    ):
        with pytest.raises(CommandError, match=told):
            call_command("import_conversations", str(file), **given)
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_conversations", str(tmp_path / "gone"), user="mira")
    with pytest.raises(CommandError, match="Give either"):
        call_command("export_conversation")
    with pytest.raises(CommandError, match="There is no conversation 'x'"):
        call_command("export_conversation", "x")
