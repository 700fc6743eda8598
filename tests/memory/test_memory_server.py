"""The memory server in whole runs: searched, read, written with a person's leave, told in the
prompt."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model

from agents.memory.notes import Memory
from agents.models import Assistant, Note
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Json, Runner

MEMORY = {"server_id": "memory", "transport": "python", "module": "agents.builtin_servers.memory"}
ALLOWED = {"approval": {"memory.memory_write": "allow"}}


def configure(runner: Runner, provider: FakeProvider, **assistant: Any) -> None:
    runner.configure(provider, servers=[MEMORY], assistant=assistant)


def result(provider: FakeProvider, place: int = -1) -> Any:
    return json.loads(provider.requests[place].messages[-1]["content"])


def test_what_is_written_is_found_in_another_conversation(runner: Runner) -> None:
    write = calls(call("w", "memory__memory_write", {"text": "Ada's cat is called Turing."}))
    search = calls(call("s", "memory__memory_search", {"query": "name of the cat"}))
    with FakeProvider([write, text("noted"), search, text("Turing")]) as provider:
        configure(runner, provider, **ALLOWED)
        runner.run("remember my cat is called Turing")
        ran = runner.run("what is my cat called?")
        [found] = result(provider)
    assert ran.outcomes == ["ok"]
    note = Note.objects.get()
    assert found["path"] == note.path and note.path.startswith("memory/")
    assert "Turing" in found["text"] and found["from_line"] == 1


def test_what_lasts_goes_to_its_own_note_and_lines_are_read(runner: Runner) -> None:
    lines = "\n".join(f"fact {n}" for n in range(1, 31))
    write = calls(call("w", "memory__memory_write", {"text": lines, "lasting": True}))
    wanted: Json = {"path": "MEMORY.md", "from_line": 10, "lines": 3}
    get = calls(call("g", "memory__memory_get", wanted))
    with FakeProvider([write, get, text("done")]) as provider:
        configure(runner, provider, **ALLOWED)
        runner.run("go")
        got = result(provider)
    assert got["text"] == "fact 10\nfact 11\nfact 12"
    assert (got["from_line"], got["to_line"]) == (10, 12)


def test_writing_needs_a_person_unless_the_operator_says_otherwise(runner: Runner) -> None:
    write = calls(call("w", "memory__memory_write", {"text": "x"}))
    with FakeProvider([write, text("not noted")]) as provider:
        configure(runner, provider)
        ran = runner.run("remember x")
    assert ran.outcomes == ["denied"] and not Note.objects.exists()


def test_an_assistant_with_this_server_is_told_to_look_first(runner: Runner) -> None:
    with FakeProvider([text("hello")]) as provider:
        configure(runner, provider, prompts=[{"role": "system", "content": "You help."}])
        runner.run("hi")
        prompts = [m["content"] for m in provider.requests[0].messages if m["role"] == "system"]
    assert prompts[0] == "You help."
    assert prompts[1].startswith("## Memory Recall\n") and "memory__memory_search" in prompts[1]


def test_without_the_search_tool_nothing_is_told(runner: Runner) -> None:
    use = [{"server_id": "memory", "tools": ["memory_write"]}]
    with FakeProvider([text("hello")]) as provider:
        runner.configure(provider, servers=[MEMORY], use=use)
        runner.run("hi")
    assert "Recall" not in str(provider.requests[0].messages)


def test_a_model_cannot_name_whose_notes_it_reads(runner: Runner) -> None:
    stranger = get_user_model().objects.create_user("stranger")
    search = calls(
        call("s", "memory__memory_search", {"query": "secret", "user_id": stranger.pk}),
        call("t", "memory__memory_search", {"query": "secret"}),
        call("g", "memory__memory_get", {"path": "MEMORY.md"}),
        call("p", "memory__memory_get", {"path": "../../etc/passwd"}),
    )
    with FakeProvider([search, text("done")]) as provider:
        configure(runner, provider)
        other = Memory(
            user_id=stranger.pk, assistant_id=Assistant.objects.get(assistant_id="helper").pk
        )
        other.write("MEMORY.md", "a secret")
        ran = runner.run("go")
        told = [m["content"] for m in provider.requests[1].messages if m["role"] == "tool"]
    assert not any("a secret" in line for line in told)
    assert ran.outcomes[1:] == ["ok", "tool_error", "tool_error"]
    assert "there is no note 'MEMORY.md'" in told[2] and "expected a path such as" in told[3]
