"""A provider over a real connection."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agents.loop import exchange
from agents.loop.errors import (
    ContextTooLong,
    ModelBilling,
    ModelError,
    ModelKeyRefused,
    ModelNotFound,
    ModelOverloaded,
    ModelRefused,
    ModelUnreachable,
)
from agents.loop.interfaces import ModelAnswer, ModelDelta, ModelRequest, Usage
from agents.loop.messages import JsonObject
from agents.providers import openai_chat
from agents.providers.openai_chat import OpenAIChat
from agents.providers.openai_errors import retry_after_seconds
from tests.fake_provider import (
    FakeProvider,
    Step,
    broken,
    call,
    calls,
    chunk,
    chunks,
    error,
    hang,
    json_answer,
    slow,
    text,
)

KEY = "sk-secret-key"
TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "echo__ping", "description": "", "parameters": {"type": "object"}},
}


@asynccontextmanager
async def chat(
    provider: FakeProvider, *, key: str | None = KEY, seconds: float = 10
) -> AsyncIterator[OpenAIChat]:
    model = OpenAIChat(provider.base_url, key, seconds)
    try:
        yield model
    finally:
        await model.close()


def request(**fields: Any) -> ModelRequest:
    return ModelRequest(
        **{"model": "m1", "messages": ({"role": "user", "content": "hi"},), **fields}
    )


async def ignore(delta: ModelDelta) -> None:
    """Watch nothing."""


async def ask(*steps: Step, seconds: float = 10, **fields: Any) -> ModelAnswer:
    with FakeProvider(steps) as provider:
        async with chat(provider, seconds=seconds) as model:
            return await model.answer(request(**fields), ignore)


async def failure_of(*steps: Step, seconds: float = 10) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(*steps, seconds=seconds)
    return caught.value


async def test_an_answer_is_streamed_and_returned_whole() -> None:
    seen: list[ModelDelta] = []

    async def watch(delta: ModelDelta) -> None:
        seen.append(delta)

    with FakeProvider([text("Hello")]) as provider:
        async with chat(provider) as model:
            answer = await model.answer(request(), watch)
    assert seen == [ModelDelta(text="Hel"), ModelDelta(text="lo")]
    assert (answer.text, answer.finish_reason, answer.model) == ("Hello", "stop", "fake")
    assert answer.usage == Usage(input_tokens=10, output_tokens=5)
    assert answer.first_chunk_ns > 0


async def test_the_body_holds_the_request_and_nothing_else() -> None:
    options: JsonObject = {"temperature": 0.2, "model": "x", "stream": False, "top_p": None}
    options |= {"messages": [], "tools": [], "tool_choice": "auto"}
    with FakeProvider([text("a")]) as provider:
        async with chat(provider) as model:
            await model.answer(request(options=options), ignore)
            await model.answer(request(options=options, tools=(TOOL,)), ignore)
        bodies = [sent.body for sent in provider.requests]
    plain = {
        "model": "m1",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
    }
    assert bodies == [plain, {**plain, "tools": [TOOL], "tool_choice": "auto"}]


async def test_nothing_of_the_environment_reaches_a_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "Authorization: of-the-environment\nX-Own: of-the-environment"
    )
    with FakeProvider([text("a")]) as provider:
        for key in (KEY, None, ""):
            async with chat(provider, key=key) as model:
                await model.answer(request(), ignore)
        sent = [request.headers for request in provider.requests]
    assert [headers["authorization"] for headers in sent] == [
        f"Bearer {KEY}",
        "Bearer none",
        "Bearer none",
    ]
    assert "of-the-environment" not in str(sent)
    assert not {"openai-organization", "openai-project"} & {name for h in sent for name in h}


async def test_requests_share_a_connection() -> None:
    with FakeProvider([text("a")]) as provider:
        async with chat(provider) as model:
            for _ in range(3):
                await model.answer(request(), ignore)
        assert provider.connections == 1


async def test_tool_calls_arrive() -> None:
    answer = await ask(calls(call("c1", "echo__ping", {"a": 1}), call("c2", "echo__ping", "{")))
    assert [(item.id, item.arguments) for item in answer.tool_calls] == [
        ("c1", '{"a": 1}'),
        ("c2", "{"),
    ]


async def test_a_provider_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": "hi"}
    answer = await ask(json_answer({"choices": [{"message": message}], "usage": None}))
    assert (answer.text, answer.usage) == ("hi", None)


@pytest.mark.parametrize(
    "step",
    [
        broken([chunk({"content": "x"})]),
        broken([chunk({"content": "x"})], clean=True),
        broken([]),
        broken([], clean=True),
        chunks([chunk({"content": "x"}), '{"choices": [{"de'], done=False),
    ],
)
async def test_a_stream_that_breaks_is_no_answer(step: Step) -> None:
    failure = await failure_of(step)
    assert isinstance(failure, ModelUnreachable)
    assert "ended before the answer was complete" in failure.message


@pytest.mark.parametrize(
    "step",
    [
        broken([chunk({"content": "x"}, "stop")]),
        broken([chunk({"content": "x"}, "stop")], clean=True),
        chunks([chunk({"content": "x"})]),
        chunks(["keep-alive", chunk({"content": "x"})]),
        hang([chunk({"content": "x"}, "stop")]),
    ],
)
async def test_an_answer_with_an_end_is_whole_whatever_follows(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_chat, "AFTER_FINISH_SECONDS", 0.1)
    assert (await ask(step)).text == "x"


async def test_silence_ends_at_the_limit() -> None:
    failure = await failure_of(hang(), seconds=0.2)
    assert isinstance(failure, ModelUnreachable)
    assert "said nothing for 0.2 seconds" in failure.message


async def test_silence_after_half_an_answer_is_told_as_such() -> None:
    failure = await failure_of(hang([chunk({"content": "x"})]), seconds=0.2)
    assert isinstance(failure, ModelUnreachable)
    assert "began its answer and then said nothing more for 0.2 seconds" in failure.message


async def test_cancelling_closes_the_connection() -> None:
    started = asyncio.Event()

    async def watch(delta: ModelDelta) -> None:
        started.set()

    with FakeProvider([hang([chunk({"content": "x"})])]) as provider:
        async with chat(provider) as model:
            asking = asyncio.create_task(model.answer(request(), watch))
            await asyncio.wait_for(started.wait(), 10)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await asyncio.to_thread(provider.wait_for, lambda: provider.disconnects == 1)


async def test_deltas_arrive_before_the_answer_is_whole() -> None:
    gate = threading.Event()

    async def watch(delta: ModelDelta) -> None:
        gate.set()

    sent = [chunk({"content": "a"}), chunk({"content": "b"}, "stop")]
    with FakeProvider([slow(sent, gate)]) as provider:
        async with chat(provider) as model:
            assert (await model.answer(request(), watch)).text == "ab"


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        (error(401), ModelKeyRefused, "refused the key"),
        (error(403), ModelKeyRefused, "refused the key"),
        (error(404), ModelNotFound, "m1 is not known"),
        (error(400, {"error": {"code": "model_not_found"}}), ModelNotFound, "m1 is not known"),
        (error(400), ModelRefused, "fake error 400"),
        (error(422, {"detail": [{"msg": "bad field"}]}), ModelRefused, "bad field"),
        (error(402, {"message": "no money"}), ModelBilling, "no money"),
        (error(429, {"error": {"code": "insufficient_quota"}}), ModelBilling, "cannot pay"),
        (error(408), ModelOverloaded, "408"),
        (error(409), ModelOverloaded, "409"),
        (error(429), ModelOverloaded, "429"),
        (error(500), ModelOverloaded, "500"),
        (error(503, "<html><style>x{}</style><h1>Down</h1></html>"), ModelOverloaded, "Down"),
        (error(400, {"error": {"code": "context_length_exceeded"}}), ContextTooLong, "too long"),
        (error(400, {"error": {"message": "hi: context length exceeded"}}), ModelRefused, "hi"),
        (error(307, "", {"Location": "http://127.0.0.1:9/"}), ModelRefused, "307"),
        (chunks(['{"error": {"message": "overloaded"}}']), ModelOverloaded, "overloaded"),
        (chunks(['{"error": {"code": "context_length_exceeded"}}']), ContextTooLong, "broke off"),
        (json_answer({"error": {"message": "boom"}}), ModelOverloaded, "boom"),
        (json_answer({"hello": 1}), ModelRefused, "no chat completion"),
        (Step(body="<html>Welcome</html>", ending="body"), ModelRefused, "no chat completion"),
    ],
)
async def test_failures_are_told_by_kind(step: Step, kind: type[ModelError], words: str) -> None:
    failure = await failure_of(step)
    assert type(failure) is kind
    assert words in failure.message
    assert "\n" not in failure.message
    assert "<" not in failure.message + failure.detail
    assert failure.hint


async def test_no_text_shows_the_key() -> None:
    failure = await failure_of(error(401, {"error": {"message": f"Incorrect key {KEY}"}}))
    assert "Incorrect key [key]" in failure.message
    assert KEY not in failure.message + failure.detail + failure.hint


async def test_nobody_listening_is_told_with_the_address() -> None:
    with FakeProvider([text("a")]) as provider:
        address = provider.base_url
    model = OpenAIChat(address.replace("http://", "http://user:password@"), None)
    with pytest.raises(ModelUnreachable, match="cannot be reached") as caught:
        await model.answer(request(), ignore)
    assert address in caught.value.hint
    assert "password" not in caught.value.message + caught.value.hint
    await model.close()


@pytest.mark.parametrize(
    ("address", "key", "kind"),
    [
        ("nonsense", None, ModelNotFound),
        ("ftp://x/v1", None, ModelNotFound),
        ("", None, ModelNotFound),
        ("http://127.0.0.1:9/v1", "ключ", ModelKeyRefused),
        ("http://127.0.0.1:9/v1", "a\nb", ModelKeyRefused),
    ],
)
async def test_settings_that_cannot_work_are_told(
    address: str, key: str | None, kind: type[ModelError]
) -> None:
    with pytest.raises(kind):
        await OpenAIChat(address, key).answer(request(), ignore)


async def test_a_provider_without_stream_options_is_asked_once_more_without() -> None:
    def script(body: dict[str, Any], n: int) -> Step:
        refused = {"error": {"message": "Unrecognized argument: stream_options"}}
        return error(400, refused) if "stream_options" in body else text("ok")

    with FakeProvider(script) as provider:
        async with chat(provider) as model:
            answers = [await model.answer(request(), ignore) for _ in range(2)]
        assert [answer.text for answer in answers] == ["ok", "ok"]
        assert ["stream_options" in sent.body for sent in provider.requests] == [True, False, False]


async def test_runs_that_are_refused_at_the_same_time_are_all_asked_once_more() -> None:
    def script(body: dict[str, Any], n: int) -> Step:
        refused = {"error": {"message": "Unrecognized argument: stream_options"}}
        return error(400, refused) if "stream_options" in body else text("ok")

    with FakeProvider(script) as provider:
        async with chat(provider) as model:
            answers = await asyncio.gather(*(model.answer(request(), ignore) for _ in range(4)))
        assert [answer.text for answer in answers] == ["ok"] * 4


async def test_a_provider_that_refuses_our_parallel_tool_calls_is_asked_without() -> None:
    def script(body: dict[str, Any], n: int) -> Step:
        refused = {"error": {"message": "Unrecognized argument", "param": "parallel_tool_calls"}}
        return error(400, refused) if "parallel_tool_calls" in body else text("ok")

    tool = {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}
    with FakeProvider(script) as provider:
        model = OpenAIChat(provider.base_url, None, no_parallel_calls=True)
        answer = await model.answer(request(tools=(tool,)), ignore)
        await model.close()
    assert (answer.text, model.refused_fields) == ("ok", {"parallel_tool_calls"})


async def test_half_a_character_does_not_stop_a_request() -> None:
    with FakeProvider([text("a")]) as provider:
        async with chat(provider) as model:
            await model.answer(request(messages=({"role": "user", "content": "a\ud83d"},)), ignore)
        assert provider.requests[0].messages == [{"role": "user", "content": "a?"}]


async def test_models_are_listed() -> None:
    with FakeProvider([text("a")], known_models=("m1", "m2")) as provider:
        async with chat(provider) as model:
            assert await model.list_models() == ["m1", "m2"]
            await model.close()
            assert await model.list_models() == ["m1", "m2"]


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "3"}, 3, 3),
        ({"retry-after": "2.5"}, 2.5, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5, 1.5),
        ({"retry-after": "99999999"}, 3600, 3600),
    ],
)
def test_the_wish_of_a_provider_is_read(headers: dict[str, str], low: float, high: float) -> None:
    wish = retry_after_seconds(headers)
    assert wish is not None
    assert low <= wish <= high


def test_a_date_as_wish_is_read() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    wish = retry_after_seconds({"retry-after": format_datetime(at, usegmt=True)})
    assert wish is not None
    assert 25 <= wish <= 30
    past = format_datetime(at - timedelta(days=1), usegmt=True)
    assert retry_after_seconds({"retry-after": past}) == 0


@pytest.mark.parametrize("wish", ["", "soon", "-1"])
def test_nonsense_as_wish_is_none(wish: str) -> None:
    assert retry_after_seconds({"retry-after": wish}) is None


async def test_the_wish_comes_with_the_error() -> None:
    assert (await failure_of(error(429, None, {"Retry-After": "7"}))).retry_after == 7


def test_the_package_does_not_import_openai() -> None:
    program = "import sys, agents.providers; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


async def test_what_went_over_the_wire_is_written_down() -> None:
    asked = request(options={"temperature": 0.2}, tools=(TOOL,))
    with FakeProvider([text("Hello")]) as provider:
        async with chat(provider) as model:
            await model.answer(asked, ignore)
    report = asked.exchange.report()
    assert report["body"] == {
        "model": "m1",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
    }
    assert (report["status"], report["left_out"]) == (200, 0)
    times, texts = zip(*report["chunks"], strict=True)  # type: ignore[arg-type]
    assert texts[-1] == "[DONE]"
    said = [json.loads(item)["choices"][0]["delta"].get("content") for item in texts[:2]]
    assert "".join(filter(None, said)) in ("Hel", "Hello")
    assert list(times) == sorted(times)


async def test_a_refusal_is_written_down_as_it_came() -> None:
    asked = request()
    with FakeProvider([error(400, {"message": "no such thing"})]) as provider:
        async with chat(provider) as model:
            with pytest.raises(ModelError):
                await model.answer(asked, ignore)
    report = asked.exchange.report()
    assert report["status"] == 400
    assert "no such thing" in str(report["chunks"])


async def test_of_an_endless_answer_the_beginning_is_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "MAX_CHARS", 300)
    asked = request()
    with FakeProvider([text("word " * 200)]) as provider:
        async with chat(provider) as model:
            answer = await model.answer(asked, ignore)
    report = asked.exchange.report()
    assert answer.text == "word " * 200
    assert sum(len(item[1]) for item in report["chunks"]) == 300  # type: ignore[index,union-attr]
    assert report["left_out"] > 0  # type: ignore[operator]
