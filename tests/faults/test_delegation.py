"""Assistants that hand over to others: child runs in the same trace (section 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.models import Run
from tests.fake_provider import FakeProvider, call, calls, error, hang, text
from tests.faults.hooks import DO, PATHS
from tests.faults.test_endings import ending
from tests.running import Json, Ran, Runner
from tests.servers import stdio_entry

PING = calls(call("c1", "echo__ping"))


def configure_two(runner: Runner, provider: FakeProvider, hook: str, **other: Any) -> None:
    """``helper`` with this hook, and ``other`` without."""
    runner.configure(provider, servers=[stdio_entry("echo")])
    helper = {**runner.bundle["assistants"][0], "hooks": {hook: PATHS[hook]}}
    second = {
        "id": "other",
        "name": "Other",
        "provider": "main",
        "model": "m2",
        "prompts": [{"role": "system", "content": "You are the other."}],
        **other,
    }
    runner.import_bundle({**runner.bundle, "assistants": [second, helper]})


def hand_over(**fields: Any) -> Callable[..., Json]:
    return lambda *_: {"delegate": {"assistant": "other", **fields}}


def runs_of(ran: Ran) -> list[tuple[str, bool]]:
    """Assistant and whether it has a parent, of every run that was started."""
    return [(e["assistant"], e["parent_run"] is not None) for e in ran.of("run_started")]


def test_a_create_hook_hands_over_before_any_request(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DO, "create", hand_over())
    with FakeProvider([text("from the other"), text("again")]) as provider:
        configure_two(runner, provider, "create")
        ran = runner.run("go")
        monkeypatch.setitem(DO, "create", lambda *_: None)
        runner.run("on", conversation=ran.conversation)
    assert ending(ran) == ("completed", "delegated", 1)
    assert ran.finished["answer"] == "from the other"
    assert runs_of(ran) == [("helper", False), ("other", True)]
    root, child = ran.of("run_started")
    assert child["parent_run"] == root["run"]
    assert (child["trace"], child["conversation"]) == (root["trace"], root["conversation"])
    assert [e["run"] for e in ran.of("run_finished")] == [child["run"], root["run"]]
    assert ran.events[-1]["run"] == root["run"]
    assert provider.requests[0].body["model"] == "m2"
    assert [m["content"] for m in provider.requests[0].messages] == ["You are the other.", "go"]
    assert [m["content"] for m in provider.requests[1].messages] == ["go", "from the other", "on"]
    assert Run.objects.get(pk=root["run"]).status == "completed"


def test_a_next_hook_hands_over_what_was_found_without_the_notice(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DO, "next", hand_over())
    bad = calls(call("c0", "echo__echo", {}))
    with FakeProvider({"m1": [bad, PING], "m2": [text("from the other")]}) as provider:
        configure_two(runner, provider, "next")
        ran = runner.run("go")
    assert ending(ran) == ("completed", "delegated", 1)
    assert [message["role"] for message in provider.requests[2].messages] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip


def test_a_hook_may_give_the_messages_of_the_child(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [{"role": "user", "content": "in other words"}]
    monkeypatch.setitem(DO, "next", hand_over(messages=given))
    with FakeProvider({"m1": [text("hi")], "m2": [text("from the other")]}) as provider:
        configure_two(runner, provider, "next")
        ran = runner.run("go")
    assert [m["content"] for m in provider.requests[1].messages] == [
        "You are the other.", "in other words",
    ]  # fmt: skip
    assert ran.finished["answer"] == "from the other"


def test_a_first_answer_that_failed_may_be_handed_over(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DO, "next", hand_over())
    with FakeProvider({"m1": [error(400)], "m2": [text("from the other")]}) as provider:
        configure_two(runner, provider, "next")
        ran = runner.run("go")
    assert ending(ran) == ("completed", "delegated", 1)


def test_the_level_is_that_of_the_child(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DO, "create", hand_over())
    with FakeProvider([PING, PING, text("from the fallback")]) as provider:
        mcp = {"servers": ["echo"], "options": {"max_turn": 1}}
        configure_two(runner, provider, "create", mcp=mcp)
        ran = runner.run("go")
    child, root = ran.of("run_finished")
    assert (child["stop_reason"], child["level"]) == ("max_turns", 2)
    assert (root["stop_reason"], root["level"]) == ("delegated", 2)


def test_a_child_that_fails_fails_its_parent_with_one_visible_answer(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DO, "create", hand_over())
    with FakeProvider([error(401)]) as provider:
        configure_two(runner, provider, "create")
        ran = runner.run("go")
    assert ending(ran) == ("failed", "provider_error", 3)
    assert ran.code == 1
    assert [row.role for row in ran.stored()] == ["user", "assistant"]
    assert ran.stored()[-1].content == ran.finished["answer"]


@pytest.mark.parametrize("assistant", ["nobody", "helper", "toolloop.title", ""])
def test_unknown_assistants_and_circles_are_refused(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, assistant: str
) -> None:
    monkeypatch.setitem(DO, "create", lambda *_: {"delegate": {"assistant": assistant}})
    with FakeProvider([text("never asked")]) as provider:
        runner.configure(provider, assistant={"hooks": {"create": PATHS["create"]}})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert provider.requests == []


def test_a_longer_circle_is_refused(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(context: Any, messages: list[Json]) -> Json:
        return {
            "delegate": {"assistant": {"helper": "other", "other": "helper"}[context.assistant]}
        }

    monkeypatch.setitem(DO, "create", create)
    with FakeProvider([text("never asked")]) as provider:
        configure_two(runner, provider, "create", hooks={"create": PATHS["create"]})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert "helper > other > helper" in ran.finished["error"]


@pytest.mark.parametrize(("last", "status"), [(5, "completed"), (6, "failed")])
def test_assistants_delegate_five_deep_and_no_deeper(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, last: int, status: str
) -> None:
    def create(context: Any, messages: list[Json]) -> Json | None:
        number = int(context.assistant.removeprefix("a"))
        return {"delegate": {"assistant": f"a{number + 1}"}} if number < last else None

    monkeypatch.setitem(DO, "create", create)
    with FakeProvider([text("from the depth")]) as provider:
        runner.configure(provider)
        many = [
            {"id": f"a{n}", "name": "A", "provider": "main", "hooks": {"create": PATHS["create"]}}
            for n in range(last + 1)
        ]
        runner.import_bundle({**runner.bundle, "assistants": many})
        ran = runner.run("go", assistant="a0")
    assert ran.finished["status"] == status
    assert len(ran.of("run_started")) == 6
    assert len(provider.requests) == (status == "completed")


def test_a_stop_in_the_child_stops_both(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DO, "create", hand_over())
    with FakeProvider([hang()]) as provider:
        configure_two(runner, provider, "create")
        ran = runner.run_and_stop(
            "go", when=lambda: provider.wait_for(lambda: len(provider.requests) == 1)
        )
    assert ran.code == 130
    assert [e["status"] for e in ran.of("run_finished")] == ["cancelled", "cancelled"]


def test_the_parents_time_holds_for_the_child_too(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DO, "create", hand_over())
    with FakeProvider({"m2": [hang()], "m1": [text("from the fallback")]}) as provider:
        configure_two(runner, provider, "create")
        helper = {**runner.bundle["assistants"][1], "limits": {"run_timeout_seconds": 0.5}}
        runner.import_bundle({**runner.bundle, "assistants": [helper]})
        ran = runner.run("go")
    assert ending(ran) == ("completed", "time", 2)
    assert [e["status"] for e in ran.of("run_finished")] == ["cancelled", "completed"]
