"""What an ``openai`` exception means for a run: one clear line, a hint, the provider's own words.

Place in the house: ``agents.providers``. Never shows a key.
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx2
import openai

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
from agents.loop.messages import JsonObject, JsonValue
from agents.providers.context_length import is_context_error
from agents.providers.error_bodies import (
    innermost_error,
    is_flagged,
    named_status,
    own_message,
    unwrapped,
    wished_delay,
)

_DETAIL_CHARS = 2000
_LINE_CHARS = 300
_SECRET_CHARS = 6
"""A shorter key is a placeholder; taking it out would only garble the text."""
_MAX_RETRY_AFTER_SECONDS = 3600.0
_OVERLOADED = frozenset({408, 409, 429})
_BILLING = frozenset(
    {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error",
        "insufficient_balance", "insufficient_credits", "account_deactivated", "payment_required",
    }
)  # fmt: skip
"""Codes and types of errors of an account that cannot pay; some come with 429, as overload does."""

_NO_CREDIT = ("your credit balance is too low",)
_WRONG_KEY = ("api key not valid", "api key expired")
"""How vendors begin to say so where status and code do not tell: with 400, as for any fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Whom was asked: for messages, and the key that no message may show."""

    base_url: str
    model: str = ""
    key: str = ""
    timeout_seconds: float = 60.0

    @property
    def name(self) -> str:
        """The address without credentials and query."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}".rstrip("/")

    def clean(self, text: str, limit: int = _DETAIL_CHARS) -> str:
        """The text without the key, without markup, on one line where it was HTML, and cut."""
        if len(self.key) >= _SECRET_CHARS:
            text = text.replace(self.key, "[key]")
        if re.match(r"\s*<(?:!doctype|html|head|body|\?xml)", text, re.IGNORECASE):
            text = re.sub(r"(?is)<(script|style).*?</\1>|<[^>]*>", " ", text)
            text = re.sub(r"\s+", " ", text).strip()
        return text if len(text) <= limit else f"{text[:limit]}..."


def explain_error(error: openai.OpenAIError, endpoint: Endpoint) -> ModelError:
    """The error of the loop for an exception of the SDK."""
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error, endpoint)
    if isinstance(error, openai.APITimeoutError):
        return timed_out(endpoint)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        if isinstance(cause, (httpx2.RemoteProtocolError, httpx2.ReadError)):
            return broken_off(endpoint, detail=str(cause))
        return unreachable(cause, endpoint)
    return ModelRefused(
        f"The provider at {endpoint.name} could not be asked.",
        hint="See the detail in the trace.",
        detail=endpoint.clean(str(error)),
    )


def explain_stream_error(error: JsonObject, endpoint: Endpoint) -> ModelError:
    """The error of the loop for an error that came inside a stream. Gateways put the status that
    they would have answered with into ``code``."""
    code = error.get("code") or error.get("type")
    line = endpoint.clean(own_message(error) or "no reason given", _LINE_CHARS)
    status = named_status(error)
    kind: type[ModelError] = ModelOverloaded
    hint = "Try again, or use another model."
    if status is None and not _BILLING.isdisjoint(map(str, (error.get("code"), error.get("type")))):
        status = 402
    if status is not None:
        kind, _, hint = _judge(status, error, line, endpoint)
    if is_context_error(error, None):
        kind, hint = ContextTooLong, _CONTEXT_HINT
    return kind(
        f"The provider at {endpoint.name} broke off its answer: {line}",
        hint=hint,
        detail=endpoint.clean(_written(error)),
        status=status,
        code=str(code or ""),
    )


def unreachable(cause: BaseException, endpoint: Endpoint) -> ModelUnreachable:
    """The error for a connection that failed."""
    reason = endpoint.clean(str(cause) or type(cause).__name__, _LINE_CHARS)
    return ModelUnreachable(
        f"The provider at {endpoint.name} cannot be reached: {reason}",
        hint=f"Is the server running, and is {endpoint.name} the right address?",
        detail=endpoint.clean(f"{type(cause).__name__}: {cause}"),
    )


def timed_out(endpoint: Endpoint, *, has_begun: bool = False) -> ModelUnreachable:
    """The error for a provider that said nothing in time, or nothing more."""
    where, seconds = endpoint.name, f"{endpoint.timeout_seconds:g}"
    line = f"The provider at {where} said nothing for {seconds} seconds."
    if has_begun:
        line = (
            f"The provider at {where} began its answer and then said nothing more for {seconds} "
            "seconds."
        )
    return ModelUnreachable(
        line,
        hint="Try again, or raise the provider's timeout_ms.",
    )


def broken_off(endpoint: Endpoint, *, detail: str = "") -> ModelUnreachable:
    """The error for a stream without an end."""
    return ModelUnreachable(
        f"The stream from {endpoint.name} ended before the answer was complete.",
        hint="Try again; if it happens often, look for a proxy that cuts long answers.",
        detail=endpoint.clean(detail),
    )


def no_answer(content: str, endpoint: Endpoint) -> ModelRefused:
    """The error for a body that is no chat completion."""
    return ModelRefused(
        f"The provider at {endpoint.name} sent something that is no chat completion.",
        hint="Check the base URL: it usually ends in /v1.",
        detail=endpoint.clean(content),
    )


def names_field(error: openai.APIStatusError, name: str) -> bool:
    """Whether a 400 or 422 complains about a field of the body, ``stream_options`` for example."""
    if error.status_code not in (400, 422):
        return False
    body = error.body
    param = body.get("param") if isinstance(body, Mapping) else None
    return param == name or name in str(body)[:_DETAIL_CHARS]


_CONTEXT_HINT = "Start a new conversation, shorten tool results, or use a model with more context."


def _explain_status(error: openai.APIStatusError, endpoint: Endpoint) -> ModelError:
    status = error.status_code
    body = unwrapped(error.body if isinstance(error.body, (dict, list, str)) else None)
    own = endpoint.clean(own_message(body) or error.response.reason_phrase, _LINE_CHARS)
    kind, line, hint = _judge(status, body, own, endpoint)
    code = body.get("code") or body.get("type") if isinstance(body, dict) else ""
    if location := error.response.headers.get("location"):
        target = endpoint.clean(location, _LINE_CHARS)
        hint = f"It points to {target}: if that is right, make it the base URL."
    return kind(
        line,
        hint=hint,
        detail=endpoint.clean(_written(body)),
        status=status,
        code=str(code or ""),
        retry_after=_wish(error.response.headers, body),
    )


def _judge(
    status: int, body: JsonValue, own: str, endpoint: Endpoint
) -> tuple[type[ModelError], str, str]:
    where = endpoint.name
    code = body.get("code") if isinstance(body, dict) else None
    if is_context_error(body, status):
        return (
            ContextTooLong,
            f"The conversation is too long for {endpoint.model}: {own}",
            _CONTEXT_HINT,
        )
    named = {code, body.get("type")} if isinstance(body, dict) else set()
    vendor = own_message(innermost_error(body)).lower()
    is_billing = not _BILLING.isdisjoint(word for word in named if isinstance(word, str))
    if status == 402 or is_billing or vendor.startswith(_NO_CREDIT):
        return (
            ModelBilling,
            f"The account at {where} cannot pay for the request ({status}): {own}",
            "Look at the plan and the credit of this provider's account.",
        )
    if is_flagged(body):
        return (
            ModelRefused,
            f"The provider at {where} refused what was said ({status}): {own}",
            "Say it in other words, or use a model without this moderation.",
        )
    if status in (401, 403) or vendor.startswith(_WRONG_KEY):
        return (
            ModelKeyRefused,
            f"The provider at {where} refused the key ({status}): {own}",
            "Check the key of this provider, and that it may use this model.",
        )
    if status == 404 or code == "model_not_found":
        return (
            ModelNotFound,
            f"The model {endpoint.model or '(none)'} is not known at {where} ({status}): {own}",
            "Check the model's name and the base URL: it usually ends in /v1.",
        )
    if status in _OVERLOADED or status >= 500:
        return (
            ModelOverloaded,
            f"The provider at {where} cannot answer now ({status}): {own}",
            "Wait and try again, or use another model.",
        )
    return (
        ModelRefused,
        f"The provider at {where} refused the request ({status}): {own}",
        "See the request and the detail in the trace.",
    )


def _wish(headers: Mapping[str, str], body: JsonValue) -> float | None:
    seconds = retry_after_seconds(headers)
    if seconds is None and (wished := wished_delay(body)) is not None:
        return _within(wished)
    return seconds


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The provider's wish from ``retry-after-ms`` or ``Retry-After`` (seconds or a date)."""
    milliseconds, wish = headers.get("retry-after-ms"), headers.get("retry-after")
    seconds = _number(milliseconds)
    if seconds is not None:
        return _within(seconds / 1000)
    seconds = _number(wish)
    if seconds is None and wish:
        try:
            at = email.utils.parsedate_to_datetime(wish)
        except ValueError:
            return None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        seconds = (at - datetime.now(UTC)).total_seconds()
    return None if seconds is None else _within(seconds)


def _number(text: str | None) -> float | None:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*", text or "")
    return float(match.group(1)) if match else None


def _within(seconds: float) -> float:
    return min(max(0.0, seconds), _MAX_RETRY_AFTER_SECONDS)


def _written(body: JsonValue) -> str:
    return body if isinstance(body, str) else json.dumps(body or {}, ensure_ascii=False)
