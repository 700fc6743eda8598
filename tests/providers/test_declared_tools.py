"""A history with calls, sent without tools to a provider that wants them declared."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.errors import ModelRefused
from agents.providers.declared_tools import wants_tools_declared
from tests.fake_provider import FakeProvider, Json, Step, error, text
from tests.providers.test_openai_chat import chat, failure_of, ignore, request

WANTED = "Requests which include `tool_use` or `tool_result` blocks must define tools."


def asked(call_id: str, name: str) -> Json:
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


HISTORY: tuple[Any, ...] = (
    {"role": "user", "content": "go"},
    asked("a", "echo__ping"), {"role": "tool", "tool_call_id": "a", "content": "pong"},
    asked("b", "echo__ping"), {"role": "tool", "tool_call_id": "b", "content": "pong"},
)  # fmt: skip


def strict(body: Json, number: int) -> Step:
    return text("ok") if "tools" in body else error(400, {"error": {"message": WANTED}})


async def test_each_tool_of_the_history_is_declared_once_and_forbidden() -> None:
    with FakeProvider(strict) as provider:
        async with chat(provider) as model:
            for _ in range(2):
                assert (await model.answer(request(messages=HISTORY), ignore)).text == "ok"
        bodies = [sent.body for sent in provider.requests]
    assert ["tools" in body for body in bodies] == [False, True, True]
    assert [tool["function"]["name"] for tool in bodies[1]["tools"]] == ["echo__ping"]
    assert bodies[1]["tool_choice"] == "none"


async def test_a_refusal_that_stays_is_told() -> None:
    always = error(400, {"error": {"message": WANTED}})
    with FakeProvider([always]) as provider:
        async with chat(provider) as model:
            with pytest.raises(ModelRefused, match="must define tools"):
                await model.answer(request(messages=HISTORY), ignore)
        assert len(provider.requests) == 2


async def test_other_refusals_of_tools_are_told_at_once() -> None:
    failure = await failure_of(error(400, {"error": {"message": "tools: Field required"}}))
    assert isinstance(failure, ModelRefused)


@pytest.mark.parametrize(
    "message",
    [
        WANTED,
        "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` "
        "param specified. Pass `tools=` param",
    ],
)
def test_the_words_of_vendors_are_known(message: str) -> None:
    assert wants_tools_declared(400, {"message": message})
    assert not wants_tools_declared(500, {"message": message})
