"""What vendors and gateways say when they refuse or fail, told apart over a real connection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.loop.errors import (
    ContextTooLong,
    ModelBilling,
    ModelError,
    ModelKeyRefused,
    ModelNotFound,
    ModelOverloaded,
    ModelRefused,
)
from tests.fake_provider import Json, chunks, error
from tests.providers.test_openai_chat import failure_of


def anthropic(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(code: int, message: str, status: str) -> list[Json]:
    return [{"error": {"code": code, "message": message, "status": status}}]


def litellm(kind: str, behind: str, inner: Any, code: str = "400") -> Json:
    quoted = inner if isinstance(inner, str) else json.dumps(inner)
    message = f"litellm.{kind}: {behind} - {quoted}. Received Model Group=m1"
    return {"error": {"message": message, "type": None, "param": None, "code": code}}


def openrouter(code: int, message: str, **metadata: Any) -> Json:
    return {"error": {"code": code, "message": message, "metadata": metadata}, "user_id": "u"}


INVALID = "invalid_request_error"
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
NO_CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans"
COUNT = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
BAD_KEY = "API key not valid. Please pass a valid API key."
SAID = "the word prompt is too long: 3 tokens"

ERRORS: list[tuple[int, Any, type[ModelError], str]] = [
    (529, anthropic("overloaded_error", "Overloaded"), ModelOverloaded, "Overloaded"),
    (400, anthropic(INVALID, TOO_LONG), ContextTooLong, "210000"),
    (413, anthropic("request_too_large", "Request exceeds the maximum size"), ContextTooLong, ""),
    (400, anthropic(INVALID, NO_CREDIT), ModelBilling, "credit"),
    (401, anthropic("authentication_error", "invalid x-api-key"), ModelKeyRefused, "x-api-key"),
    (404, anthropic("not_found_error", "model: claude-9"), ModelNotFound, "claude-9"),
    (400, anthropic(INVALID, f"messages.0: {SAID}"), ModelRefused, "messages.0"),
    (400, google(400, COUNT, "INVALID_ARGUMENT"), ContextTooLong, "1200000"),
    (400, google(400, BAD_KEY, "INVALID_ARGUMENT"), ModelKeyRefused, "not valid"),
    (403, google(403, "Permission denied", "PERMISSION_DENIED"), ModelKeyRefused, "denied"),
    (404, google(404, "models/gemini-9 is not found", "NOT_FOUND"), ModelNotFound, "gemini-9"),
    (429, google(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED"), ModelOverloaded, ""),
    (503, google(503, "The model is overloaded.", "UNAVAILABLE"), ModelOverloaded, "overloaded"),
    (402, openrouter(402, "This request requires more credits"), ModelBilling, "credits"),
    (403, openrouter(403, "Input flagged", reasons=["violence"], flagged_input="I will"),
     ModelRefused, "Input flagged"),
    (403, openrouter(403, "Key limit exceeded"), ModelKeyRefused, "Key limit"),
    (404, openrouter(404, "No endpoints found that support tool use."), ModelNotFound, "tool use"),
    (400, openrouter(400, "Provider returned error", provider_name="Anthropic",
     raw=json.dumps(anthropic(INVALID, TOO_LONG))), ContextTooLong, "(Anthropic: prompt is"),
    (400, openrouter(400, "Provider returned error", provider_name="Google", raw="Bad schema"),
     ModelRefused, "(Google: Bad schema)"),
    (429, litellm("RateLimitError", "AnthropicException", "slow down", "429"),
     ModelOverloaded, "slow down"),
    (400, litellm("BadRequestError", "AnthropicException", anthropic(INVALID, TOO_LONG)),
     ContextTooLong, "210000"),
    (400, litellm("ContextWindowExceededError", "litellm.BadRequestError", "any words"),
     ContextTooLong, ""),
    (400, litellm("BadRequestError", "AnthropicException", anthropic(INVALID, NO_CREDIT)),
     ModelBilling, "credit"),
    (400, litellm("BadRequestError", "VertexAIException BadRequestError",
     google(400, COUNT, "INVALID_ARGUMENT")), ContextTooLong, "1200000"),
    (400, litellm("BadRequestError", "GeminiException BadRequestError",
     {"error": {"code": 400, "message": BAD_KEY}}), ModelKeyRefused, "not valid"),
    (400, litellm("BadRequestError", "OpenAIException", SAID), ModelRefused, "the word"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "words"), ERRORS)
async def test_errors_of_vendors_are_told_apart(
    status: int, body: Any, kind: type[ModelError], words: str
) -> None:
    failure = await failure_of(error(status, body))
    assert type(failure) is kind
    assert words in failure.message


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (openrouter(402, "Insufficient credits"), ModelBilling),
        (openrouter(401, "No auth credentials found"), ModelKeyRefused),
        (openrouter(400, "Bad schema"), ModelRefused),
        (openrouter(502, "Your chosen model is down"), ModelOverloaded),
        (anthropic("overloaded_error", "Overloaded"), ModelOverloaded),
        (anthropic("authentication_error", "invalid x-api-key"), ModelKeyRefused),
        (anthropic(INVALID, TOO_LONG), ContextTooLong),
        ({"error": {"code": "server_error", "message": "disconnected"}}, ModelOverloaded),
    ],
)
async def test_errors_inside_a_stream_are_told_apart_as_well(
    sent: Json, kind: type[ModelError]
) -> None:
    failure = await failure_of(chunks([json.dumps(sent)]))
    assert type(failure) is kind
    assert "broke off its answer" in failure.message


async def test_a_wish_to_wait_in_the_body_is_heeded() -> None:
    [body] = google(429, "Too many", "RESOURCE_EXHAUSTED")
    body["error"]["details"] = [{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "34.07s"}]
    assert (await failure_of(error(429, [body]))).retry_after == 34.07
    wished = {"Retry-After": "3"}
    assert (await failure_of(error(429, [body], wished))).retry_after == 3
