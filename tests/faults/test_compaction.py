"""Conversations that grow out of the model's window: folded into a summary, never cut in a pair,
never folded in circles, whole in the database."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.models import Note
from tests.fake_provider import (
    FakeProvider,
    Json,
    Step,
    call,
    calls,
    chunk,
    chunks,
    error,
    text,
    usage_chunk,
)
from tests.running import Ran, Runner
from tests.servers import stdio_entry

SUMMARY = "## Goal\nCount sheep.\n## Progress\n3 sheep."
TOO_LONG = error(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
LONG = "sheep " * 300
"""About 450 tokens."""


def asks_for_summary(body: Json) -> bool:
    return "You keep the notes" in str(body["messages"][0]["content"])


def size(body: Json) -> int:
    """Tokens, as this provider counts them."""
    return len(json.dumps(body["messages"])) // 4


def counted(body: Json, content: str) -> Step:
    return chunks(
        [
            chunk({"role": "assistant", "content": content}),
            chunk(finish="stop"),
            usage_chunk(size(body), len(content) // 4),
        ]
    )


def counting(body: Json, number: int) -> Step:
    """A provider that counts rightly, sums up when asked to and says little."""
    return counted(body, SUMMARY if asks_for_summary(body) else f"answer {number}")


def window(tokens: int | None, **compaction: Any) -> Json:
    return {"compaction": {"context_window": tokens, "reserve_tokens": 500, **compaction}}


def folded(ran: Ran) -> list[Json]:
    return ran.of("compacted")


def summaries(ran: Ran) -> list[Any]:
    return [row for row in ran.stored() if "compaction" in row.details]


def test_a_conversation_that_fills_the_window_goes_on_with_a_summary(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(2000))
        ran = runner.run(*[f"{LONG} {n}" for n in range(6)])
    assert ran.code == 0
    sizes = [size(r.body) for r in provider.requests if not asks_for_summary(r.body)]
    assert max(sizes) < 2000
    last = provider.requests[-1].messages
    assert last[0]["content"].endswith(SUMMARY) and "[Summary" in last[0]["content"]
    assert last[-1] == {"role": "user", "content": f"{LONG} 5"}
    assert len([row for row in ran.stored() if row.role == "user"]) == 6
    assert ran.finished["answer"].startswith("answer")


def test_the_next_run_goes_on_from_the_summary_that_is_stored(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(2000))
        ran = runner.run(*[LONG] * 4)
        runner.run("and now?", conversation=ran.conversation)
    last = provider.requests[-1].messages
    assert SUMMARY in last[0]["content"] and last[-1]["content"] == "and now?"
    assert len(summaries(ran)) == len(folded(ran)) >= 1


def test_a_summary_is_updated_with_what_came_after_it(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(2000))
        ran = runner.run(*[f"{LONG} {n}" for n in range(8)])
    asked = [r.messages[1]["content"] for r in provider.requests if asks_for_summary(r.body)]
    assert len(folded(ran)) >= 2
    assert "Summary so far" not in asked[0] and f"{LONG} 0" in asked[0]
    assert SUMMARY in asked[-1] and f"{LONG} 0" not in asked[-1]


def test_calls_and_results_are_folded_together_and_guards_count_on(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        if asks_for_summary(body):
            return counted(body, SUMMARY)
        if body["messages"][-1]["role"] == "tool":
            return counted(body, "done")
        return calls(call(f"c{number}", "echo__ping"), call(f"d{number}", "echo__ping"))

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=window(2000))
        ran = runner.run(*[f"{LONG} {n}" for n in range(6)])
    assert provider.faults == []
    assert folded(ran) and ran.code == 0
    assert set(ran.outcomes) == {"ok"} and len(ran.outcomes) == 12


def test_what_one_message_brings_is_not_folded_but_its_results_are_cut(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        if number < 4:
            wanted = call(f"c{number}", "echo__big", {"chars": 6000 + number})
            sent = [chunk({"role": "assistant", "content": ""}), *calls(wanted).chunks[1:-1]]
            return chunks([*sent, usage_chunk(size(body), 10)])
        return counted(body, "done")

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=window(4000))
        ran = runner.run("go")
    assert ran.finished["answer"] == "done" and not folded(ran)
    assert max(size(r.body) for r in provider.requests) < 4000
    stored = [len(str(row.content)) for row in ran.stored() if row.role == "tool"]
    assert min(stored) >= 6000


def test_an_overflow_cuts_first_then_folds_once_and_then_ends_clearly(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        if asks_for_summary(body):
            return text(SUMMARY)
        if body["messages"][-1]["content"] == "last":
            return TOO_LONG
        if body["messages"][-1]["role"] == "user":
            return calls(call("c1", "echo__big", {"chars": 3000}))
        return text("ok")

    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=window(None))
        ran = runner.run("first", "last")
    assert ran.finished["stop_reason"] == "context" and ran.finished["level"] == 3
    tried = [r for r in provider.requests if r.messages[-1]["content"] == "last"]
    results = [m["content"] for r in tried for m in r.messages if m["role"] == "tool"]
    assert [len(content) for content in results] == [3000, 2000, 500]
    assert len(tried) == 4 and SUMMARY in tried[-1].messages[0]["content"]
    assert [entry["reason"] for entry in folded(ran)] == ["overflow"]


def test_a_summary_that_cannot_be_written_leaves_the_conversation_whole(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        return error(500) if asks_for_summary(body) else counted(body, "fine")

    with FakeProvider(script) as provider:
        runner.configure(provider, assistant=window(2000))
        ran = runner.run(*[LONG] * 5)
    assert ran.finished["answer"] == "fine"
    assert len(provider.requests[-1].messages) == 9
    assert all(entry["error"] for entry in folded(ran)) and not summaries(ran)


@pytest.mark.parametrize("answer", [text(""), calls(call("c", "echo__ping"))])
def test_a_summary_without_words_counts_as_none(runner: Runner, answer: Step) -> None:
    def script(body: Json, number: int) -> Step:
        return answer if asks_for_summary(body) else counted(body, "fine")

    with FakeProvider(script) as provider:
        runner.configure(provider, assistant=window(2000))
        ran = runner.run(*[LONG] * 4)
    assert ran.finished["answer"] == "fine" and not summaries(ran)
    assert "empty summary" in folded(ran)[0]["error"]


def test_a_cheaper_model_may_write_the_summary(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(2000, model="small"))
        runner.run(*[LONG] * 4)
    wrote = {r.body["model"] for r in provider.requests if asks_for_summary(r.body)}
    others = {r.body["model"] for r in provider.requests if not asks_for_summary(r.body)}
    assert (wrote, others) == ({"small"}, {"m1"})


def test_what_shapes_answers_does_not_shape_summaries(runner: Runner) -> None:
    options = {"temperature": 0.5, "response_format": {"type": "json_object"}, "stop": ["\n"]}
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant={**window(2000), "options": options})
        runner.run(*[LONG] * 4)
    [asked] = [r.body for r in provider.requests if asks_for_summary(r.body)][:1]
    assert asked["temperature"] == 0.5
    assert "response_format" not in asked and "stop" not in asked and "tools" not in asked


def test_where_it_is_switched_off_nothing_is_folded(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(2000, enabled=False))
        ran = runner.run(*[LONG] * 5)
    assert not folded(ran) and len(provider.requests) == 5


def test_a_conversation_far_longer_than_the_window_is_folded_in_pieces(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(None))
        ran = runner.run(*[f"{LONG} {n}" for n in range(12)])
        runner.configure(provider, assistant=window(2000))
        after = runner.run("and now?", conversation=ran.conversation)
    assert after.finished["answer"].startswith("answer")
    asked = [r for r in provider.requests if asks_for_summary(r.body)]
    assert len(asked) > 1 and max(size(r.body) for r in asked) < 2000
    assert size(provider.requests[-1].body) < 2000


def test_a_person_asks_for_a_summary_by_hand(runner: Runner) -> None:
    with FakeProvider(counting) as provider:
        runner.configure(provider, assistant=window(None))
        ran = runner.run("one", "/compact", "two")
    assert [event["stop_reason"] for event in ran.of("run_finished")] == [
        "answered", "compacted", "answered",
    ]  # fmt: skip
    assert [entry["reason"] for entry in folded(ran)] == ["asked"]
    last = provider.requests[-1].messages
    assert [message["role"] for message in last] == ["user", "user"]
    assert SUMMARY in last[0]["content"] and last[1]["content"] == "two"
    assert not any("/compact" in str(r.body["messages"]) for r in provider.requests)


def test_a_summary_by_hand_that_fails_says_so_and_changes_nothing(runner: Runner) -> None:
    def script(body: Json, number: int) -> Step:
        return error(500) if asks_for_summary(body) else text("fine")

    with FakeProvider(script) as provider:
        runner.configure(provider, assistant=window(None))
        ran = runner.run("one", "/compact", "two")
    ends = [(event["status"], event["stop_reason"]) for event in ran.of("run_finished")]
    assert ends[1] == ("failed", "provider_error")
    assert provider.requests[-1].messages[0]["content"] == "one"


MEMORY = {"server_id": "memory", "transport": "python", "module": "agents.builtin_servers.memory"}


def noting(body: Json, number: int) -> Step:
    """Notes one thing when it is asked what must last."""
    if "what must last" in str(body["messages"][0]["content"]):
        return calls(call("n", "memory__memory_write", {"text": "The user counts sheep."}))
    return counting(body, number)


def run_with_memory(runner: Runner, policy: str) -> tuple[Ran, FakeProvider]:
    with FakeProvider(noting) as provider:
        rules = {"approval": {"memory.memory_write": policy}}
        runner.configure(provider, servers=[MEMORY], assistant={**window(2500), **rules})
        return runner.run(*[f"{LONG} {n}" for n in range(6)]), provider


def test_before_it_is_folded_what_must_last_is_written_down_once(runner: Runner) -> None:
    ran, provider = run_with_memory(runner, "allow")
    assert folded(ran) and Note.objects.get().text.count("counts sheep") == len(folded(ran))
    asked = [r for r in provider.requests if "what must last" in str(r.messages[0])]
    assert [len(r.body["tools"]) for r in asked] == [1] * len(folded(ran))
    assert not [row for row in ran.stored() if row.tool_calls or row.role == "tool"]
    assert provider.faults == []


def test_nothing_is_written_down_where_a_person_would_be_asked(runner: Runner) -> None:
    ran, provider = run_with_memory(runner, "ask")
    assert folded(ran) and not Note.objects.exists()
    assert not [r for r in provider.requests if "what must last" in str(r.messages[0])]
