"""Vendors and gateways behind compatible endpoints: recorded answers, played to whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.loop.errors import (
    ContextTooLong,
    ModelBilling,
    ModelError,
    ModelKeyRefused,
    ModelOverloaded,
)
from tests.fake_provider import FakeProvider, Step, chunks, error, text
from tests.providers.test_openai_chat import failure_of
from tests.running import Runner
from tests.servers import stdio_entry

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


def played(recorded: dict[str, Any]) -> Step:
    """The stream, with the comments of a gateway between its events."""
    after = f"\n\n{recorded['comment']}" if "comment" in recorded else ""
    return chunks([f"{json.dumps(one)}{after}" for one in recorded["turn"]])


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_answer_is_understood_and_goes_back_as_it_came(
    runner: Runner, path: Path
) -> None:
    recorded = json.loads(path.read_text())
    with FakeProvider([played(recorded), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
        [assistant] = [m for m in provider.requests[1].messages if m["role"] == "assistant"]
    assert ran.finished["answer"] == "done" and set(ran.outcomes) == {"ok"}
    made = [(event["name"], event["arguments"]) for event in ran.of("tool_call_started")]
    assert made == [tuple(wanted) for wanted in recorded["calls"]]
    assert provider.faults == []
    for name, value in recorded.get("sent_back", {}).items():
        assert assistant[name] == value
    for name, value in recorded.get("first_call", {}).items():
        assert assistant["tool_calls"][0][name] == value
        assert name not in assistant["tool_calls"][1]
    ids = [wanted["id"] for wanted in assistant["tool_calls"]]
    assert all(ids) and len(set(ids)) == len(ids)
    if "usage" in recorded:
        sent, made_tokens = recorded["usage"]
        assert ran.finished["usage"] == {
            "input_tokens": sent + 10,
            "output_tokens": made_tokens + 5,
        }


def test_a_stream_that_breaks_with_an_error_chunk_is_asked_again(runner: Runner) -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    fault = {"code": "server_error", "message": "Provider disconnected unexpectedly"}
    broken = chunks([{"id": "x", "object": "chat.completion.chunk", "error": fault,
                      "choices": [choice]}])  # fmt: skip
    with FakeProvider([broken, text("done")]) as provider:
        runner.configure(provider, provider_fields={"max_retries": 1})
        ran = runner.run("go")
    assert ran.finished["answer"] == "done"
    assert "Provider disconnected" in ran.of("provider_retry")[0]["error"]


ERRORS: list[tuple[int, Any, type[ModelError]]] = [
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
     ModelOverloaded),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
     "message": "prompt is too long: 210000 tokens > 200000 maximum"}}, ContextTooLong),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
     "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans"}},
     ModelBilling),
    (401, {"type": "error", "error": {"type": "authentication_error",
     "message": "invalid x-api-key"}}, ModelKeyRefused),
    (400, [{"error": {"code": 400, "message": "The input token count (1200000) exceeds the "
     "maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}],
     ContextTooLong),
    (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
     "status": "INVALID_ARGUMENT"}}], ModelKeyRefused),
    (429, [{"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).",
     "status": "RESOURCE_EXHAUSTED"}}], ModelOverloaded),
    (503, [{"error": {"code": 503, "message": "The model is overloaded.",
     "status": "UNAVAILABLE"}}], ModelOverloaded),
    (402, {"error": {"code": 402, "message": "This request requires more credits"}}, ModelBilling),
    (429, {"error": {"message": "litellm.RateLimitError: AnthropicException - overloaded",
     "type": "throttling_error", "code": "429"}}, ModelOverloaded),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), ERRORS)
async def test_errors_of_vendors_are_told_apart(
    status: int, body: Any, kind: type[ModelError]
) -> None:
    assert type(await failure_of(error(status, body))) is kind
