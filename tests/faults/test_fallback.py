"""What the fallback assistant is asked, and by whom it answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Step, call, calls, error, text
from tests.running import Json, Runner
from tests.servers import stdio_entry

ONE_TURN = {"mcp": {"options": {"max_turn": 1}}}


def give_up(*wanted: Json, content: str = "") -> list[Step]:
    """Two turns of these calls, then the fallback's answer."""
    return [calls(*wanted, content=content), calls(*wanted), text("from the fallback")]


def result(content: str, **fields: Any) -> Json:
    return {"content": [{"type": "text", "text": content}], **fields}


def test_the_brief_has_the_exact_shape_of_the_contract(runner: Runner) -> None:
    servers = [
        stdio_entry("a.b", results={"ping": result('{"n":1}')}),
        stdio_entry("other", results={"fail": result("connection refused", isError=True)}),
    ]
    first = calls(call("c1", "a_b__ping"), content="Let me look.")
    second = calls(call("c2", "other__fail"))
    with FakeProvider([text("Hi."), first, second, text("from the fallback")]) as provider:
        prompts = [
            {"role": "system", "content": "You help.\n\nAlways."},
            {"role": "system", "content": "Be brief."},
        ]
        runner.configure(
            provider,
            servers=servers,
            assistant={**ONE_TURN, "prompts": prompts},
            global_prompts=[{"role": "system", "content": "Be kind."}],
        )
        ran = runner.run("Hello", "What is it?")
    system, brief = provider.requests[-1].messages
    assert system["role"] == "system"
    assert brief == {
        "role": "user",
        "content": (
            "## Assistant Context\n\nBe kind.\n\nYou help.\n\nAlways.\n\nBe brief.\n\n"
            "## Conversation\n\n**User**: Hello\n\n**Assistant**: Hi.\n\n**User**: What is it?\n\n"
            "**Assistant**: Let me look.\n\n"
            '## Tool Results\n### a.b.ping\n```json\n{"n":1}\n```\n\n'
            "### other.fail\nError: connection refused\n\n"
            "---\nPlease answer the user's question based on the above context and tool results.\n"
            "Respond in the same language as the user."
        ),
    }
    assert "tools" not in provider.requests[-1].body
    assert (ran.finished["level"], ran.finished["answer"]) == (2, "from the fallback")
    assert ran.stored()[-1].level == 2


def test_a_fence_is_longer_than_any_run_of_backticks_in_it(runner: Runner) -> None:
    content = "```json\n{}\n```\nand `````"
    server = stdio_entry("echo", results={"ping": result(content)})
    with FakeProvider(give_up(call("c1", "echo__ping"))) as provider:
        runner.configure(provider, servers=[server], assistant=ONE_TURN)
        runner.run("go")
    brief = provider.requests[-1].messages[-1]["content"]
    assert f"### echo.ping\n``````\n{content}\n``````\n" in brief


def test_an_image_is_named_in_the_brief_and_not_quoted(runner: Runner) -> None:
    with FakeProvider(give_up(call("c1", "echo__img"))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant=ONE_TURN,
            provider_fields={"vision": True},
        )
        runner.run("go")
    brief = provider.requests[-1].messages
    assert [message["role"] for message in brief] == ["system", "user"]
    assert "[image: image/png" in brief[-1]["content"]
    assert len(brief[-1]["content"]) < 2000


def test_results_are_sized_to_the_fallbacks_window(runner: Runner) -> None:
    wanted = call("c1", "echo__big", {"chars": 7000})
    with FakeProvider(give_up(wanted, call("c2", "echo__ping"))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={**ONE_TURN, "compaction": {"context_window": 2000}},
        )
        runner.run("go")
    brief = provider.requests[-1].messages[-1]["content"]
    assert len(brief) < 2000 * 3
    assert "characters left out" in brief
    assert brief.count("\npong\n") == 2


def with_own_fallback(other: FakeProvider, **fields: Any) -> Json:
    """A bundle with the operator's own provider and model for level 2."""
    return {
        "version": 1,
        "providers": [{"id": "other", "base_url": other.base_url, "default_model": "d1"}],
        "assistants": [{"id": "toolloop.loop_fallback", "provider": "other", **fields}],
    }


@pytest.mark.parametrize(("fields", "model"), [({"model": "f1"}, "f1"), ({}, "d1")])
def test_the_operator_may_give_the_fallback_its_own_provider_and_model(
    runner: Runner, fields: Json, model: str
) -> None:
    script = give_up(call("c1", "echo__ping"))
    with FakeProvider(script) as provider, FakeProvider([text("from afar")]) as other:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=ONE_TURN)
        runner.import_bundle(with_own_fallback(other, **fields))
        ran = runner.run("go")
    assert ran.finished["answer"] == "from afar"
    assert other.requests[0].body["model"] == model
    assert ran.of("model_request")[-1]["model"] == model
    assert len(provider.requests) == 2


def test_an_assistant_may_have_its_own_fallback_assistant(runner: Runner) -> None:
    with FakeProvider(give_up(call("c1", "echo__ping"))) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        own = {
            "id": "rescue",
            "name": "Rescue",
            "provider": "main",
            "model": "r1",
            "prompts": [{"role": "system", "content": "You rescue."}],
            "options": {"temperature": 0.5},
        }
        helper = {**runner.bundle["assistants"][0], "fallback_assistant": "rescue"}
        helper["mcp"] = {**helper["mcp"], "options": {"max_turn": 1}}
        runner.import_bundle({**runner.bundle, "assistants": [own, helper]})
        ran = runner.run("go")
    last = provider.requests[-1]
    assert last.messages[0] == {"role": "system", "content": "You rescue."}
    assert (last.body["model"], last.body["temperature"]) == ("r1", 0.5)
    assert ran.finished["level"] == 2


def test_a_model_that_was_given_up_is_not_asked_by_the_fallback_again(runner: Runner) -> None:
    good = give_up(call("c1", "echo__ping"))
    with FakeProvider({"m1": [error(500)], "m2": good}) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant=ONE_TURN,
            provider_fields={"fallback_model": "m2"},
        )
        ran = runner.run("go")
    assert [request.body["model"] for request in provider.requests] == ["m1", "m2", "m2", "m2"]
    assert ran.finished["answer"] == "from the fallback"


@pytest.mark.parametrize("bad", [error(400), error(401), text(""), text("  ")])
def test_a_fallback_that_fails_leaves_the_fixed_text_and_the_reason(
    runner: Runner, bad: Step
) -> None:
    with FakeProvider([*give_up(call("c1", "echo__ping"))[:2], bad]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=ONE_TURN)
        ran = runner.run("go")
    finished = ran.finished
    assert (finished["status"], finished["stop_reason"], finished["level"]) == (
        "failed", "max_turns", 3,
    )  # fmt: skip
    assert "pong" in finished["answer"]
    assert ran.stored()[-1].content == finished["answer"]


def test_the_next_run_of_the_conversation_sees_the_answer_and_not_the_brief(
    runner: Runner,
) -> None:
    script = [*give_up(call("c1", "echo__ping")), text("later")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")], assistant=ONE_TURN)
        first = runner.run("go")
        runner.run("on", conversation=first.conversation)
    contents = [message["content"] for message in provider.requests[-1].messages]
    assert contents == ["go", None, "pong", None, "pong", "from the fallback", "on"]
