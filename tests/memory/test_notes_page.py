"""People see, change and delete what assistants remember of them, and nobody else's."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agents.memory.notes import Memory
from agents.models import Assistant, AssistantServer, Note, NotePiece, Server

Person = tuple[Client, Memory]


@pytest.fixture
def assistant(db: None) -> Assistant:
    row = Assistant.objects.create(assistant_id="helper", name="Helper")
    server = Server.objects.create(
        server_id="memory", transport="python", module="agents.builtin_servers.memory"
    )
    AssistantServer.objects.create(assistant=row, server=server)
    return row


@pytest.fixture
def ada(assistant: Assistant) -> Person:
    return person("ada", assistant)


def person(name: str, assistant: Assistant) -> Person:
    user = get_user_model().objects.create_user(name)
    client = Client()
    client.force_login(user)
    return client, Memory(user_id=user.pk, assistant_id=assistant.pk)


def save(client: Client, memory: Memory, path: str, text: str, seen: str = "") -> int:
    fields = {"assistant": str(memory.assistant_id), "path": path, "text": text, "seen": seen}
    return int(client.post("/notes/", fields).status_code)


def shown(client: Client, **asked: str) -> str:
    return client.get("/notes/", asked).content.decode()


def seen_of(html: str) -> str:
    return html.partition('name="seen" value="')[2].partition('"')[0]


def test_a_note_is_written_read_changed_and_deleted(ada: Person) -> None:
    client, memory = ada
    assert save(client, memory, "MEMORY.md", "# Cats\r\nTuring") == 302
    html = shown(client, path="MEMORY.md")
    assert "# Cats\nTuring</textarea>" in html
    assert save(client, memory, "MEMORY.md", "# Dogs", seen_of(html)) == 302
    assert [piece.text for piece in NotePiece.objects.all()] == ["# Dogs"]
    fields = {"assistant": str(memory.assistant_id), "path": "MEMORY.md"}
    assert client.post("/notes/delete/", fields).status_code == 302
    assert not Note.objects.exists() and not NotePiece.objects.exists()


def test_a_note_that_changed_meanwhile_is_not_lost(ada: Person) -> None:
    client, memory = ada
    memory.write("MEMORY.md", "first")
    seen = seen_of(shown(client, path="MEMORY.md"))
    memory.append("MEMORY.md", "by the model")
    answer = client.post(
        "/notes/",
        {"assistant": memory.assistant_id, "path": "MEMORY.md", "text": "mine", "seen": seen},
    )
    html = answer.content.decode()
    assert answer.status_code == 409 and "mine</textarea>" in html and "changed meanwhile" in html
    assert "by the model" in memory.read("MEMORY.md").text
    assert save(client, memory, "MEMORY.md", "mine", seen_of(html)) == 302
    assert memory.read("MEMORY.md").text == "mine"


@pytest.mark.parametrize(
    "path", ["", "../x.md", "/etc/x.md", "a.txt", "a//b.md", "x" * 300 + ".md"]
)
def test_odd_paths_are_refused_and_the_text_stays_on_the_page(ada: Person, path: str) -> None:
    client, memory = ada
    fields = {"assistant": memory.assistant_id, "path": path, "text": "kept <b>", "seen": ""}
    answer = client.post("/notes/", fields)
    html = answer.content.decode()
    assert answer.status_code == 409 and "expected a path such as" in html
    assert "kept &lt;b&gt;" in html and not Note.objects.exists()


def test_notes_are_searched(ada: Person) -> None:
    client, memory = ada
    memory.write("memory/2026-12-01.md", "The dentist is on Tuesday.")
    html = shown(client, q="dentist")
    assert "notes-found" in html and "on Tuesday" in html


def test_nobody_reads_or_deletes_the_notes_of_others(ada: Person, assistant: Assistant) -> None:
    _, memory = ada
    memory.write("MEMORY.md", "a secret of ada")
    bob, _ = person("bob", assistant)
    assert "a secret" not in shown(bob, path="MEMORY.md", q="secret")
    fields = {"assistant": str(assistant.pk), "path": "MEMORY.md"}
    assert bob.post("/notes/delete/", fields).status_code == 404
    assert memory.read("MEMORY.md").text == "a secret of ada"


def test_without_an_assistant_with_memory_the_page_says_so(db: None) -> None:
    client = Client()
    client.force_login(get_user_model().objects.create_user("eve"))
    assert "None of your assistants has a memory" in shown(client)


def test_the_page_needs_a_login(db: None) -> None:
    assert Client().get("/notes/").status_code == 302
