"""Which errors say that a request is too long for the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.providers.context_length import is_context_error


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded", "message": "?"},
        {"type": "exceed_context_size_error", "code": 400, "message": "?"},
        {"message": "This model's maximum context length is 8192 tokens. However, you requested 9"},
        {"message": "This endpoint's maximum context length is 65536 tokens."},
        {"message": "the request exceeds the available context size. try increasing it"},
        {"message": "request (900 tokens) exceeds the available context size (512 tokens)"},
        {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000"},
        {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed"},
        {"message": "Prompt contains 9 tokens, too large for model with 8 maximum context length"},
        {"message": "The decoder prompt (length 9000) is longer than the maximum model length"},
        "the input length exceeds the context length",
        {"error": {"message": "prompt is too long: 3 tokens > 2 maximum"}},
        {
            "message": "Provider returned error",
            "metadata": {"raw": json.dumps({"error": {"code": "context_length_exceeded"}})},
        },
    ],
)
def test_codes_and_known_sentences_are_recognised(error: Any) -> None:
    assert is_context_error(error, 400)
    assert is_context_error(error, None)
    assert not is_context_error(error, 500)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Invalid message: 'context length exceeded'"},
        {"message": 'content "This model\'s maximum context length is 8192 tokens" is not allowed'},
        {"message": "Input should be a string: prompt is too long: 3 tokens"},
        {"message": "context_length_exceeded"},
        {"message": "bad", "param": "context_length_exceeded"},
        {"code": "invalid_value", "message": "unknown field"},
        "context length exceeded",
        None,
        [],
    ],
)
def test_words_of_a_user_are_not(error: Any) -> None:
    assert not is_context_error(error, 400)


def test_a_body_that_is_too_large_is_too_long() -> None:
    assert is_context_error("<html>Request Entity Too Large</html>", 413)
