"""Hooks in whole runs: what they may change, and what becomes of those that break (section 10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, calls, error, text
from tests.faults.hooks import DO, HERE, PATHS
from tests.faults.test_endings import ending
from tests.running import Json, Runner
from tests.servers import stdio_entry

PING = calls(call("c1", "echo__ping"))


def hooked(monkeypatch: pytest.MonkeyPatch, **functions: Callable[..., Any]) -> Json:
    """The ``hooks`` of an assistant that call these functions."""
    for name, function in functions.items():
        monkeypatch.setitem(DO, name, function)
    return {name: PATHS[name] for name in functions}


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ("plain text", "plain text"),
        ({"a": [1, "ü"]}, {"a": [1, "ü"]}),
        ([1, 2], [1, 2]),
        (9007199254740993, 9007199254740993),
        (False, False),
    ],
)
def test_data_of_the_next_hook_is_the_answer(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, data: Any, answer: Any
) -> None:
    payloads: list[Json] = []

    def next_hook(context: Any, payload: Json) -> Json:
        payloads.append(payload)
        return {"data": data}

    with FakeProvider([PING, text("never asked")]) as provider:
        hooks = hooked(monkeypatch, next=next_hook)
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"hooks": hooks})
        ran = runner.run("go")
    got = ran.finished["answer"]
    assert (got if isinstance(answer, str) else json.loads(got)) == answer
    assert ending(ran) == ("completed", "answered", 1)
    assert len(provider.requests) == 1
    [payload] = payloads
    assert set(payload) == {"messages", "completion", "tool_results", "error"}
    assert [m["role"] for m in payload["messages"]] == ["user", "assistant", "tool"]
    assert payload["tool_results"][0]["text"] == "pong"
    assert payload["error"] is None


def test_the_next_hook_is_called_once_and_not_again_after_the_loop(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Json] = []
    with FakeProvider([PING, PING, text("done")]) as provider:
        hooks = hooked(monkeypatch, next=lambda _, payload: seen.append(payload))
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"hooks": hooks})
        ran = runner.run("go")
    assert (len(seen), ran.finished["answer"]) == (1, "done")


@pytest.mark.parametrize("key_env", ["", "A_KEY_THAT_IS_NOT_SET"])
@pytest.mark.parametrize("steps_in", [True, False])
def test_the_next_hook_sees_the_error_of_a_first_answer_that_failed(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, steps_in: bool, key_env: str
) -> None:
    payloads: list[Json] = []

    def next_hook(context: Any, payload: Json) -> Json | None:
        payloads.append(payload)
        return {"data": "I step in"} if steps_in else None

    with FakeProvider([error(401)]) as provider:
        runner.configure(
            provider,
            assistant={"hooks": hooked(monkeypatch, next=next_hook)},
            provider_fields={"api_key_env": key_env},
        )
        ran = runner.run("go")
    [payload] = payloads
    assert "key" in payload["error"]
    assert (payload["completion"], payload["tool_results"]) == (None, [])
    if steps_in:
        assert (ran.finished["answer"], ran.finished["level"]) == ("I step in", 1)
    else:
        assert ending(ran) == ("failed", "provider_error", 3)


NONSENSE: dict[str, Any] = {
    "text": "hello",
    "a number": 7,
    "an unknown key": {"dta": "x"},
    "an empty dict": {},
    "no JSON": {"data": object()},
    "a set": {"data": {1, 2}},
    "not a number": {"data": float("nan")},
    "a delegation without an assistant": {"delegate": {"messages": []}},
    "a delegation as text": {"delegate": "other"},
    "bad messages": {"delegate": {"assistant": "other", "messages": [{"role": "boss"}]}},
}


@pytest.mark.parametrize("returned", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_of_the_next_hook_fails_the_run_visibly(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, returned: Any
) -> None:
    with FakeProvider([text("hi")]) as provider:
        hooks = hooked(monkeypatch, next=lambda *_: returned)
        runner.configure(provider, assistant={"hooks": hooks})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert PATHS["next"] in ran.finished["error"]


BAD_CREATE: dict[str, Any] = {
    "text": "hello",
    "an unknown key": {"tools": []},
    "messages as text": {"messages": "hi"},
    "a message without a role": {"messages": [{"content": "hi"}]},
    "options as a list": {"options": [1]},
    "options that are no JSON": {"options": {"temperature": object()}},
    "an unknown provider": {"provider": "nobody"},
    "an unknown server": {"mcp_servers": ["nobody"]},
    "a server twice": {"mcp_servers": ["echo", {"server_id": "echo"}]},
    "servers as text": {"mcp_servers": "echo"},
    "an unknown preset": {"prompt_preset": "nobody"},
    "a model that is no text": {"model": 3},
    "a flag as text": {"disable_global_prompts": "yes"},
    "an unknown assistant": {"delegate": {"assistant": "nobody"}},
}


@pytest.mark.parametrize("returned", BAD_CREATE.values(), ids=BAD_CREATE.keys())
def test_nonsense_of_the_create_hook_fails_the_run_visibly(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, returned: Any
) -> None:
    with FakeProvider([text("hi")]) as provider:
        hooks = hooked(monkeypatch, create=lambda *_: returned)
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"hooks": hooks})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert ran.finished["answer"].startswith("I could not finish this answer.")
    assert provider.requests == []


def raising(fault: BaseException) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        raise fault

    return function


@pytest.mark.parametrize("name", list(PATHS))
@pytest.mark.parametrize(
    "fault",
    [ValueError("bad luck"), TimeoutError(), SystemExit(3), StopIteration(1), KeyError("x")],
    ids=lambda fault: type(fault).__name__,
)
def test_a_hook_that_raises_fails_the_run_with_its_traceback_in_the_trace(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, name: str, fault: BaseException
) -> None:
    with FakeProvider([PING, text("done")]) as provider:
        hooks = hooked(monkeypatch, **{name: raising(fault)})
        runner.configure(provider, servers=[stdio_entry("echo")], assistant={"hooks": hooks})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert f"The {name} hook {PATHS[name]} raised" in ran.finished["error"]
    assert len(ran.of("tool_call_started")) == len(ran.of("tool_call_finished"))


@pytest.mark.parametrize("fault", [SystemExit(3), KeyboardInterrupt(), ValueError("bad")])
def test_a_sync_hook_that_raises_fails_the_run(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    monkeypatch.setitem(DO, "next", raising(fault))
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider, assistant={"hooks": {"next": f"{HERE}.sync_next"}})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)


def test_a_hook_whose_own_task_was_cancelled_fails_the_run_and_does_not_stop_it(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def create(*_: Any) -> None:
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task

    with FakeProvider([text("hi")]) as provider:
        hooks = hooked(monkeypatch, create=create)
        runner.configure(provider, assistant={"hooks": hooks})
        ran = runner.run("go")
    assert (ran.code, ending(ran)) == (1, ("failed", "hook_error", 3))


@pytest.mark.parametrize("path", [f"{HERE}.nothing", "tests.faults.no_module.f", f"{HERE}.PATHS"])
def test_a_hook_that_cannot_be_used_fails_the_run_visibly(runner: Runner, path: str) -> None:
    with FakeProvider([text("hi")]) as provider:
        runner.configure(provider, assistant={"hooks": {"create": path}})
        ran = runner.run("go")
    assert ending(ran) == ("failed", "hook_error", 3)
    assert path in ran.finished["error"]
    assert provider.requests == []


def test_the_create_hook_changes_the_request(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = {
        "messages": [{"role": "user", "content": "other words"}],
        "options": {"temperature": 0.9},
        "model": "m9",
        "mcp_servers": [{"echo": ["ping"]}],
        "prompt_preset": "short",
        "disable_global_prompts": True,
    }
    presets = {"short": [{"role": "system", "content": "Be short."}]}
    with FakeProvider([text("hi")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo"), stdio_entry("more")],
            assistant={
                "hooks": hooked(monkeypatch, create=lambda *_: decision),
                "prompt_presets": presets,
                "prompts": [{"role": "system", "content": "You help."}],
                "options": {"temperature": 0.1, "top_p": 0.5},
            },
            global_prompts=[{"role": "system", "content": "Be kind."}],
        )
        runner.run("go")
    body = provider.requests[0].body
    assert body["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "other words"},
    ]
    assert (body["model"], body["temperature"], body["top_p"]) == ("m9", 0.9, 0.5)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["echo__ping"]


def test_metadata_and_the_log_reach_later_hooks_and_the_trace(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_hook(context: Any, payload: Json) -> Json:
        context.log("I was here", level="warning", n=1)
        return {"data": context.metadata}

    with FakeProvider([text("hi")]) as provider:
        hooks = hooked(monkeypatch, create=lambda *_: {"metadata": {"a": 1}}, next=next_hook)
        runner.configure(provider, assistant={"hooks": hooks})
        ran = runner.run("go")
    assert json.loads(ran.finished["answer"]) == {"a": 1}
