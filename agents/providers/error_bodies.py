"""What an error's body says, in any of the shapes of vendors and of gateways before them.

Place in the house: ``agents.providers``, pure; used by ``openai_errors`` and ``context_length``.
"""

from __future__ import annotations

import json
import re

from agents.loop.messages import JsonObject, JsonValue

_MESSAGE_KEYS = ("message", "msg", "detail", "error", "error_message", "errors")
_QUOTED = re.compile(
    r"litellm\.[A-Za-z.]+: .{0,200}?Exception(?: [A-Za-z]+)? - (?:b')?(?=[{\[])", re.DOTALL
)
"""How LiteLLM begins an error that quotes the vendor's own body as JSON."""

_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def unwrapped(body: JsonValue) -> JsonValue:
    """The error itself, where a vendor wraps it in a list and in an object of its own."""
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        inner = body[0].get("error")
        return inner if isinstance(inner, dict) else body[0]
    return body


def inner_errors(error: JsonObject) -> list[JsonObject]:
    """Errors that a gateway passes on: an object, or JSON in ``metadata.raw`` or its message."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    message = error.get("message")
    quoted = _QUOTED.match(message) if isinstance(message, str) else None
    found: list[JsonValue] = [error.get("error")]
    if isinstance(raw, str):
        found.append(_error_in_text(raw))
    if quoted is not None and isinstance(message, str):
        found.append(_error_in_text(message[quoted.end() :]))
    return [item for item in found if isinstance(item, dict)]


def innermost_error(body: JsonValue) -> JsonValue:
    """The error of the vendor who really answered."""
    while isinstance(body, dict) and (inner := inner_errors(body)):
        body = inner[0]
    return body


def own_message(body: JsonValue) -> str:
    """The provider's sentence in an error body; a gateway's with that of the vendor behind it."""
    text = _message_in(body)
    if not isinstance(body, dict):
        return text
    metadata = body.get("metadata")
    behind = _message_in(innermost_error(body))
    if not isinstance(metadata, dict) or not metadata.get("raw"):
        return text
    behind = str(metadata["raw"]) if behind == text else behind
    name = metadata.get("provider_name")
    return f"{text} ({name}: {behind})" if name else f"{text}: {behind}"


def named_status(error: JsonObject) -> int | None:
    """The HTTP status that an error inside a stream would have had, by its code or type."""
    code = error.get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool):
        return code if 400 <= code < 600 else None
    return _STATUS_OF_TYPE.get(str(error.get("type")))


def is_flagged(body: JsonValue) -> bool:
    """Whether a moderation refused the words of the request, and not its key."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return isinstance(metadata, dict) and not {"reasons", "flagged_input"}.isdisjoint(metadata)


def wished_delay(body: JsonValue) -> float | None:
    """Seconds to wait by the body itself, as Google writes them (``"retryDelay": "34s"``)."""
    details = body.get("details") if isinstance(body, dict) else None
    for detail in details if isinstance(details, list) else []:
        wish = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(wish, str) and (match := _SECONDS.fullmatch(wish)):
            return float(match[1])
    return None


def _error_in_text(text: str) -> JsonValue:
    """The error in JSON that a text begins with, or ``None``."""
    try:
        body, _ = json.JSONDecoder(strict=False).raw_decode(text.strip())
    except (ValueError, RecursionError):
        return None
    body = unwrapped(body)
    return body.get("error", body) if isinstance(body, dict) else None


def _message_in(body: JsonValue) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return _message_in(body[0]) if body else ""
    if not isinstance(body, dict):
        return ""
    return next(filter(None, (_message_in(body.get(key)) for key in _MESSAGE_KEYS)), "")
