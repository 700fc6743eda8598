"""People, an assistant, and conversations as files."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.access import usable_assistants
from agents.models import Assistant, Conversation
from agents.transcripts.reading import read_transcript
from agents.transcripts.storing import store_conversations
from agents.transcripts.writing import conversation_lines
from tests.chat.factory import make_user

Json = dict[str, Any]


@pytest.fixture
def assistant(db: None) -> Assistant:
    """The assistant of the files of these tests."""
    return Assistant.objects.create(assistant_id="helper", name="Helper")


@pytest.fixture
def mira(db: None) -> User:
    """Whose the conversations are."""
    return make_user("mira")


def lines_of(row: Conversation) -> list[Json]:
    """The lines of a conversation, read."""
    return [json.loads(line) for line in conversation_lines(row)]


def as_file(lines: list[Any]) -> bytes:
    """Lines as a file; text stays as it is."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return ("\n".join(texts) + "\n").encode()


def bring_in(user: User, content: bytes) -> list[Conversation]:
    """Import a file as a page does. Raises ``TranscriptRefused``."""
    records = read_transcript(io.BytesIO(content))
    return store_conversations(user, records, usable_assistants(user))


def without_ids(lines: list[Json]) -> list[Json]:
    """The lines with every id, also in keys and summaries, as the number of its first mention."""
    numbers: dict[str, str] = {}
    for line in lines:
        for value in (line["id"], line.get("trace")):
            if value:
                numbers.setdefault(value, f"#{len(numbers)}")
    text = json.dumps(lines)
    for value, number in numbers.items():
        text = text.replace(value, number)
    return json.loads(text)  # type: ignore[no-any-return]


HEAD: Json = {
    "type": "conversation",
    "format": "toolloop-conversation",
    "version": 1,
    "assistant": "helper",
}


def message(id_: str, parent: str | None, role: str, content: Any, **others: Any) -> Json:
    """A message's line."""
    line = {"type": "message", "id": id_, "parent": parent, "role": role, "content": content}
    return {**line, **others}
