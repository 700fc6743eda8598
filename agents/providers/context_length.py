"""Does a provider's error say that the request does not fit the model's window?

Place in the house: ``agents.providers``, pure. Decided by the error's own code, or by the beginning
of its own message: an error that quotes a user who writes "context length exceeded" must not match.
"""

from __future__ import annotations

import re

from agents.loop.messages import JsonObject, JsonValue
from agents.providers.error_bodies import inner_errors

_STATUSES = frozenset({None, 400, 413, 422})
_TOO_LARGE = 413
_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "exceed_context_size_error",
        "max_prompt_tokens_exceeded",
        "model_max_prompt_tokens_exceeded",
        "prompt_tokens_too_long",
        "request_too_large",
        "string_above_max_length",
        "tokens_limit_reached",
    }
)
_KNOWN_BEGINNINGS = (
    # OpenAI, DeepSeek, Groq, OpenRouter, vLLM
    r"this (?:model|endpoint)'s maximum (?:context|prompt) length is \d+",
    r"'?max_(?:completion_)?tokens'?.{0,60}is too large: \d+\. ?this model's maximum context",
    # vLLM, SGLang
    r"the (?:decoder |encoder )?prompt \(length \d+\) is longer than the maximum model length",
    r"the (?:decoder |encoder )?prompt \(total length \d+\) is too long to fit",
    r"input length \(\d+\) exceeds (?:the )?model'?s?'? maximum context length",
    r"the input \(\d+ tokens\) is longer than the model's context length",
    r"requested token count exceeds the model's maximum context length",
    r"you passed \d+ input tokens and requested \d+ output tokens\. however, the model's context",
    # llama.cpp, LM Studio, Ollama
    r"(?:the )?request (?:\(\d+ tokens\) )?exceeds the available context size",
    r"the number of tokens to keep from the initial prompt is greater than the context length",
    r"trying to keep the first \d+ tokens when context the overflows",
    r"prompt too long; exceeded max context length",
    r"(?:the )?input length exceeds (?:the |maximum )?context length",
    # Anthropic, Bedrock
    r"prompt is too long(?:: \d+ tokens|$)",
    r"input length and `max_tokens` exceed context limit: \d+",
    r"input is too long for requested model",
    # LiteLLM, whose own class of error says it
    r"litellm\.contextwindowexceedederror: ",
    # Gemini
    r"the input token count \(?\d+\)? exceeds the maximum number of tokens allowed",
    r"unable to submit request because the input token count is \d+ but",
    # Mistral
    r"prompt contains \d+ tokens.{0,40}too large for model with \d+ maximum context length",
    r"too many tokens: (?:total number of tokens|\d+)",
    # Fireworks, Text Generation Inference, Moonshot, MiniMax, Qwen, Zhipu
    r"the prompt is too long: \d+, model maximum context length: \d+",
    r"`inputs` (?:tokens \+ `max_new_tokens` must be <= \d+|must have less than \d+ tokens)",
    r"your request exceeded model token limit: \d+",
    r"context window exceeds limit",
    r"range of input length should be \[\d+, ?\d+\]",
    r"prompt exceeds max length",
)
_KNOWN = re.compile(
    r"(?:error code: \d+ - |input validation error: |invalid request: |<\d+> |"
    r"internalerror\.algo\.invalidparameter: |litellm\.[a-z.]+: )*"
    rf"(?:{'|'.join(_KNOWN_BEGINNINGS)})",
    re.IGNORECASE,
)


def is_context_error(error: JsonValue, status: int | None) -> bool:
    """Whether the error (the body's ``error``, or the body) says that the request is too long.

    ``status`` is the HTTP status, ``None`` for an error inside a stream.
    """
    if status not in _STATUSES:
        return False
    if status == _TOO_LARGE:
        return True
    if isinstance(error, str):
        return _KNOWN.match(error.strip()) is not None
    return isinstance(error, dict) and _is_context_object(error)


def _is_context_object(error: JsonObject) -> bool:
    codes = {str(error.get(key) or "").lower() for key in ("code", "type", "error_code")}
    if codes & _CODES:
        return True
    message = error.get("message", error.get("detail"))
    if isinstance(message, str) and _KNOWN.match(message.strip()):
        return True
    return any(_is_context_object(inner) for inner in inner_errors(error))
