"""Notes are found by words in any language, and by meaning where a provider of embeddings is
set."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test.utils import override_settings

from agents.memory.notes import Memory
from agents.memory.pieces import pieces_of
from agents.memory.recall import search_notes
from agents.models import Assistant, Provider
from tests.memory.questions import NOTES, QUESTIONS

PARTS = {"English": QUESTIONS[:12], "Chinese": QUESTIONS[12:20], "mixed": QUESTIONS[20:]}


@pytest.fixture
def memory(db: None) -> Memory:
    user = get_user_model().objects.create_user("ada")
    assistant = Assistant.objects.create(assistant_id="helper", name="Helper")
    memory = Memory(user_id=user.pk, assistant_id=assistant.pk)
    for path, text in NOTES.items():
        memory.write(path, text)
    return memory


def test_nine_of_ten_questions_find_their_piece_among_the_first_five(memory: Memory) -> None:
    found = {
        question: any(words in piece.text for piece in search_notes(memory, question))
        for question, words in QUESTIONS
    }
    missed = [question for question, is_found in found.items() if not is_found]
    assert len(missed) <= len(QUESTIONS) // 10, missed
    for part, questions in PARTS.items():
        right = sum(found[question] for question, _ in questions)
        assert right >= 0.9 * len(questions) - 0.1, (part, missed)


def test_a_piece_says_where_it_stands(memory: Memory) -> None:
    [first, *_] = search_notes(memory, "blood test without breakfast")
    lines = NOTES[first.path].split("\n")[first.from_line - 1 : first.to_line]
    assert "\n".join(lines) == first.text and "8:15" in first.text
    assert first.score == 1.0


def test_words_in_other_forms_are_found(memory: Memory) -> None:
    assert "Planted garlic" in search_notes(memory, "plants and harvests")[0].text


@pytest.mark.parametrize(
    "query", ['"', "NEAR(", "AND OR NOT", "a* ^b", "-- ; '", "😀", "🎉🎉", "的"]
)
def test_no_query_breaks_the_index(memory: Memory, query: str) -> None:
    assert isinstance(search_notes(memory, query), list)


def test_the_index_follows_the_notes(memory: Memory) -> None:
    memory.write("MEMORY.md", "The user moved to Lisbon.")
    assert not any("peanuts" in piece.text for piece in search_notes(memory, "peanuts allergic"))
    assert "Lisbon" in search_notes(memory, "Lisbon")[0].text
    memory.delete("MEMORY.md")
    assert not search_notes(memory, "Lisbon")


def test_nobody_finds_the_notes_of_others(memory: Memory) -> None:
    other = get_user_model().objects.create_user("bob")
    second = Assistant.objects.create(assistant_id="second", name="Second")
    strangers = [
        Memory(user_id=other.pk, assistant_id=memory.assistant_id),
        Memory(user_id=memory.user_id, assistant_id=second.pk),
    ]
    assert [search_notes(stranger, "peanuts") for stranger in strangers] == [[], []]


def test_a_long_note_is_cut_into_pieces_that_join_to_the_whole() -> None:
    text = "\n".join(f"paragraph {n} {'word ' * 30}\n" for n in range(40))
    pieces = pieces_of(text)
    assert len(pieces) > 5 and max(len(piece.text) for piece in pieces) < 2000
    lines = [line for piece in pieces for line in range(piece.from_line, piece.to_line + 1)]
    assert lines == sorted(set(lines))
    assert "".join(piece.text for piece in pieces).replace("\n", "") == text.replace("\n", "")


class FakeEmbeddings(BaseHTTPRequestHandler):
    """A model of embeddings that knows two meanings: animals, and everything else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"]
        self.server.asked.append(texts)  # type: ignore[attr-defined]
        animals = ("钓鱼", "fishing", " cat")
        vectors = [[1.0, 0.0] if any(a in t for a in animals) else [0.0, 1.0] for t in texts]
        rows = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        answer = json.dumps({"data": rows}).encode()
        status = 500 if self.server.fails else 200  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def embeddings(db: None) -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeEmbeddings)
    server.asked, server.fails = [], False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    Provider.objects.create(provider_id="vectors", base_url=url)
    with override_settings(TOOLLOOP_EMBEDDINGS="vectors/e1"):
        yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_with_embeddings_the_meaning_counts_too(memory: Memory, embeddings: Any) -> None:
    found = search_notes(memory, "what about the cat")
    assert "钓鱼" in found[0].text
    asked = len(embeddings.asked)
    search_notes(memory, "what about the cat")
    assert len(embeddings.asked) == asked + 1, "pieces are embedded once"


def test_where_embeddings_fail_words_are_enough(memory: Memory, embeddings: Any) -> None:
    embeddings.fails = True
    assert "peanuts" in search_notes(memory, "peanuts")[0].text
