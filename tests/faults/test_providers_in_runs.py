"""Providers that fail, refuse or are particular (faults 49 to 52, section 7)."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Step, broken, call, calls, chunk, error, hang, text
from tests.faults.hooks import DO, PATHS
from tests.faults.test_endings import ending
from tests.faults.test_results import exported, told
from tests.running import Json, Runner
from tests.servers import stdio_entry

PING = calls(call("c1", "echo__ping"))
TOO_LONG = error(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})


def models(provider: FakeProvider) -> list[str]:
    return [request.body["model"] for request in provider.requests]


@pytest.fixture
def dead_url() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_a_provider_that_wants_one_system_message_gets_one(runner: Runner) -> None:
    bad = calls(call("c1", "echo__echo", {}), call("c2", "echo__ping"))
    samples = {"samples": {"ping": [{"name": "s", "input": {}, "output": "pong"}]}}
    with FakeProvider([bad, calls(call("c3", "echo__echo", {})), text("done")],
                      system_first_only=True) as provider:  # fmt: skip
        runner.configure(
            provider,
            servers=[stdio_entry("echo", entry=samples)],
            provider_fields={"system_first_only": True},
            assistant={"prompts": [{"role": "system", "content": "You help."}]},
            global_prompts=[{"role": "system", "content": "Be kind."}],
        )
        ran = runner.run("go")
    for request in provider.requests:
        assert [m["role"] for m in request.messages].count("system") == 1
        first = request.messages[0]["content"]
        assert first.index("Be kind.") < first.index("You help.") < first.index("## MCP Tool")
    failed, good = told(provider)
    assert "Send again only the failed calls" in failed
    assert good == "pong"
    assert "Send again only the failed calls" in told(provider, 2)[2]
    assert ran.finished["answer"] == "done"


def test_a_system_first_provider_never_sees_a_system_message_of_a_hook_later(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [
        {"role": "user", "content": "a"},
        {"role": "system", "content": "late"},
        {"role": "user", "content": "b"},
    ]
    monkeypatch.setitem(DO, "create", lambda *_: {"messages": given})
    with FakeProvider([text("done")], system_first_only=True) as provider:
        runner.configure(
            provider,
            provider_fields={"system_first_only": True},
            assistant={"hooks": {"create": PATHS["create"]}},
        )
        runner.run("go")
    assert [(m["role"], m["content"]) for m in provider.requests[0].messages] == [
        ("system", "late"), ("user", "a"), ("user", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "failing",
    [error(500), error(429), error(404), broken(), broken([chunk({"content": "x"})])],
)
def test_the_second_model_answers_for_the_rest_of_the_run(runner: Runner, failing: Step) -> None:
    script = {"m1": [failing], "m2": [PING, PING, text("done")]}
    with FakeProvider(script) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"fallback_model": "m2"}
        )
        ran = runner.run("go")
    assert models(provider) == ["m1", "m2", "m2", "m2"]
    assert ending(ran) == ("completed", "answered", 1)
    [retry] = ran.of("provider_retry")
    assert (retry["model"], retry["turn"]) == ("m2", 0)
    assert [event["model"] for event in ran.of("model_request")] == ["m1", "m2", "m2"]
    assert '"m2"' in json.dumps(exported(ran))


def test_a_provider_that_is_down_leaves_the_run_to_the_other_provider(
    runner: Runner, dead_url: str
) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            dead_url,
            servers=[stdio_entry("echo")],
            assistant={"fallback_provider": "spare", "fallback_model": "s1"},
            providers=[
                {"id": "main", "base_url": dead_url, "default_model": "m1", "max_retries": 0},
                {"id": "spare", "base_url": provider.base_url},
            ],
        )
        ran = runner.run("go")
    assert models(provider) == ["s1", "s1"]
    assert ran.finished["answer"] == "done"
    assert [event["model"] for event in ran.of("provider_retry")] == ["s1"]


def test_a_wrong_key_does_not_ask_the_same_provider_again(runner: Runner) -> None:
    with FakeProvider([text("x")], key="right") as provider:
        runner.configure(
            provider, provider_fields={"max_retries": 2}, assistant={"fallback_model": "m2"}
        )
        ran = runner.run("go")
    assert len(provider.requests) == 1
    assert ending(ran) == ("failed", "provider_error", 3)
    assert "key" in ran.finished["error"]
    assert ran.code == 1


def test_no_provider_that_can_be_reached_ends_visibly(runner: Runner, dead_url: str) -> None:
    runner.configure(dead_url)
    ran = runner.run("go")
    assert ending(ran) == ("failed", "provider_error", 3)
    assert "cannot be reached" in ran.finished["answer"]
    assert ran.stored()[-1].content == ran.finished["answer"]


def test_a_key_variable_that_is_not_set_is_named(runner: Runner) -> None:
    with FakeProvider([text("x")]) as provider:
        runner.configure(provider, provider_fields={"api_key_env": "NO_SUCH_KEY_HERE"})
        ran = runner.run("go")
    assert provider.requests == []
    assert ending(ran) == ("failed", "provider_error", 3)
    assert "NO_SUCH_KEY_HERE" in ran.finished["error"]


def test_a_key_goes_to_its_provider_and_nothing_of_the_environment_does(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ORG_ID", "PROJECT_ID", "ADMIN_KEY", "MODEL"):
        monkeypatch.setenv(f"OPENAI_{name}", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("MY_KEY", "right-key")
    with (
        FakeProvider([text("one")], key="right-key") as keyed,
        FakeProvider([text("two")]) as open_,
    ):
        runner.configure(keyed, provider_fields={"api_key_env": "MY_KEY"})
        first = runner.run("go")
        runner.configure(open_)
        second = runner.run("go")
    assert (first.finished["answer"], second.finished["answer"]) == ("one", "two")
    for request in [*keyed.requests, *open_.requests]:
        assert "environment" not in json.dumps([request.headers, request.body])


@pytest.mark.parametrize("model", ["", "m9"])
def test_a_model_that_is_missing_or_unknown_ends_visibly(runner: Runner, model: str) -> None:
    with FakeProvider([text("x")], known_models=["m1"]) as provider:
        runner.configure(provider, provider_fields={"default_model": model})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "provider_error", 3)
    assert (model or "No model is set") in ran.finished["error"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_provider_is_asked_again_after_the_time_that_it_wishes(
    runner: Runner, status: int
) -> None:
    busy = error(status, headers={"Retry-After": "0.1"})
    with FakeProvider([busy, busy, text("done")]) as provider:
        runner.configure(provider, provider_fields={"max_retries": 2})
        ran = runner.run("go")
    assert [event["delay_ms"] for event in ran.of("provider_retry")] == [100, 100]
    assert [event["model"] for event in ran.of("provider_retry")] == ["m1", "m1"]
    assert len(ran.of("model_request")) == 1
    assert ran.finished["answer"] == "done"


def test_retries_end_and_refusals_are_not_repeated(runner: Runner) -> None:
    busy = error(503, headers={"Retry-After": "0"})
    for step, asked in [(busy, 3), (error(400), 1), (error(422), 1), (error(403), 1)]:
        with FakeProvider([step]) as provider:
            runner.configure(provider, provider_fields={"max_retries": 2})
            ran = runner.run("go")
        assert len(provider.requests) == asked
        assert ending(ran) == ("failed", "provider_error", 3)


def test_a_provider_that_says_nothing_is_given_up_at_its_timeout(runner: Runner) -> None:
    with FakeProvider({"m1": [hang()], "m2": [text("done")]}) as provider:
        runner.configure(
            provider, provider_fields={"timeout_ms": 300}, assistant={"fallback_model": "m2"}
        )
        ran = runner.run("go")
    assert ran.finished["answer"] == "done"


def test_text_that_was_shown_and_is_sent_again_stands_once_in_the_answer(runner: Runner) -> None:
    with FakeProvider([broken([chunk({"content": "Hello wor"})]), text("Hello world")]) as provider:
        runner.configure(provider, provider_fields={"max_retries": 1})
        ran = runner.run("go")
    assert ran.finished["answer"] == "Hello world"
    assert [row.content for row in ran.stored()] == ["go", "Hello world"]


@pytest.mark.parametrize("tool", ["crash", "fail"])
def test_a_tools_failure_never_changes_the_model(runner: Runner, tool: str) -> None:
    refused = {"content": [{"type": "text", "text": "connection error 500"}], "isError": True}
    with FakeProvider([calls(call("c1", f"echo__{tool}")), text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", results={"fail": refused})],
            assistant={"fallback_model": "m2"},
        )
        ran = runner.run("go")
    assert models(provider) == ["m1", "m1"]
    assert ran.of("provider_retry") == []


def test_too_long_a_context_cuts_the_results_further(runner: Runner) -> None:
    big = calls(call("c1", "echo__big", {"chars": 7000}))
    with FakeProvider([big, TOO_LONG, TOO_LONG, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"fallback_model": "m2"}
        )
        ran = runner.run("go")
    sizes = [len(told(provider, n)[0]) for n in (1, 2, 3)]
    assert sizes[0] == 7000 and sizes[1] <= 2000 and sizes[2] <= 500
    assert "of 7,000 characters left out" in told(provider, 3)[0]
    assert models(provider) == ["m1"] * 4
    assert ran.finished["answer"] == "done"


def test_a_context_that_stays_too_long_ends_the_run_as_that(runner: Runner) -> None:
    with FakeProvider(lambda body, n: PING if n == 0 else TOO_LONG) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"fallback_model": "m2"}
        )
        ran = runner.run("go")
    assert ending(ran) == ("failed", "context", 3)
    assert "too long" in ran.finished["answer"]


@pytest.mark.parametrize(
    "quoting",
    [
        None,
        error(404, {"error": {"message": "cannot parse: context length exceeded", "code": "bad"}}),
        error(500, {"error": {"message": "context length exceeded", "code": None}}),
    ],
)
def test_a_users_words_about_the_context_change_nothing(
    runner: Runner, quoting: Step | None
) -> None:
    with FakeProvider({"m1": [quoting or text("fine")], "m2": [text("fine")]}) as provider:
        runner.configure(provider, assistant={"fallback_model": "m2"})
        ran = runner.run("context length exceeded")
    assert ran.finished["answer"] == "fine"
    assert ran.of("compacted") == []
    assert all(r.messages == [{"role": "user", "content": "context length exceeded"}]
               for r in provider.requests)  # fmt: skip


def test_usage_is_counted_over_all_requests(runner: Runner) -> None:
    with FakeProvider([PING, text(""), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.finished["usage"] == {"input_tokens": 30, "output_tokens": 15}


def test_options_of_the_assistant_are_sent_and_nothing_of_ours_is(runner: Runner) -> None:
    options: dict[str, Any] = {"temperature": 0.2, "max_tokens": 7}
    with FakeProvider([text("done")]) as provider:
        runner.configure(provider, assistant={"options": options})
        runner.run("go")
    body: Json = dict(provider.requests[0].body)
    assert body.pop("messages") == [{"role": "user", "content": "go"}]
    assert body == {
        "model": "m1", "stream": True, "stream_options": {"include_usage": True}, **options,
    }  # fmt: skip
