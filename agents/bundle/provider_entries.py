"""Providers of a bundle, judged.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agents.bundle.entries import ProviderEntry
from agents.bundle.reading import ENV_NAME, ObjectReader
from agents.bundle.report import child_pointer, describe
from agents.loop.messages import JsonObject

_CALL_ID_PATTERN = re.compile(
    r"\^\[((?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_.|:-]|\\[dw])+)\]\{(\d{1,3})(?:,(\d{1,3}))?\}\$",
    re.ASCII,
)
MAX_CALL_ID_LENGTH = 256
MAX_PRICE = 1e9
"""More can be no price, and a whole number of many digits cannot be multiplied."""
_OWN_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_CURRENCY = re.compile(r"[A-Z]{3}")
_UNFIT = re.compile(r"[\s/]")
_ENDPOINT = re.compile(r"/chat/completions/*(?:[?#].*)?$")


def read_provider(reader: ObjectReader) -> ProviderEntry:
    """The entry of one item of ``providers``; what is wrong with it goes into the report."""
    fields: dict[str, object] = {
        "base_url": _read_base_url(reader),
        "api_key_env": _read_api_key_env(reader),
        "default_model": reader.text("default_model", max_length=200),
        "fallback_model": reader.text("fallback_model", max_length=200),
        "vision": reader.boolean("vision"),
        "prices": _read_prices(reader),
        "timeout_ms": reader.whole("timeout_ms", default=60_000, minimum=1),
        "max_retries": reader.whole("max_retries", default=2),
        "system_first_only": reader.boolean("system_first_only"),
        "tool_call_id_pattern": _read_call_id_pattern(reader),
        "no_stream_options": reader.boolean("no_stream_options"),
        "no_parallel_calls": reader.boolean("no_parallel_calls"),
        "call_fields": _read_call_fields(reader),
        "plain_schemas": reader.boolean("plain_schemas"),
    }
    provider_id = read_id(reader, "id")
    if provider_id == provider_id.strip() and _UNFIT.search(provider_id):
        reader.fault("id", "an id without blanks and slashes, such as main")
    reader.finish(
        {"api_key": "a bundle holds no keys: name the variable that holds it in api_key_env"}
    )
    return ProviderEntry(provider_id=provider_id, fields=fields)


def read_id(reader: ObjectReader, key: str) -> str:
    """The id of a provider or assistant: no blanks at its ends, at most 100 characters."""
    text = reader.text(key, required=True, max_length=100)
    if text.strip() and (text != text.strip() or not text.isprintable()):
        reader.fault(key, "an id of printable characters without blanks at its ends")
    return text


def read_http_url(reader: ObjectReader, key: str, *, text: str, max_length: int) -> str:
    """Report what is wrong with a URL; returns it as it is."""
    expected = "a URL such as http://127.0.0.1:9001/v1"
    if len(text) > max_length:
        reader.report.fault(reader.at(key), f"expected at most {max_length} characters")
    if not text.isprintable() or " " in text:
        reader.fault(key, f"{expected}, without blanks")
        return text
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        reader.fault(key, expected)
    return text


def _read_base_url(reader: ObjectReader) -> str:
    text = reader.text("base_url", required=True)
    if not text.strip():
        return ""
    read_http_url(reader, "base_url", text=text, max_length=500)
    if _ENDPOINT.search(text):
        reader.fault("base_url", "a URL without /chat/completions, which each request adds")
    if "@" in text.split("://", 1)[-1].split("/", 1)[0]:
        reader.report.fault(
            reader.at("base_url"),
            "expected a URL without user and password: name the key in api_key_env",
        )
    return text


def _read_prices(reader: ObjectReader) -> JsonObject:
    """Prices of models: numbers from 0 on, by what is paid for, and the currency of all of them."""
    prices = reader.json_object("prices")
    for model, entry in prices.items():
        where = child_pointer(reader.at("prices"), model)
        if not isinstance(entry, dict):
            expected = 'an object such as {"input": 0.15, "output": 0.6}'
            reader.report.fault(where, f"expected {expected}, got {describe(entry)}")
            continue
        _judge_currency(reader, entry, where)
        for kind, price in entry.items():
            if kind == "currency":
                continue
            is_number = isinstance(price, int | float) and not isinstance(price, bool)
            if not is_number or not 0 <= price < MAX_PRICE:  # type: ignore[operator]
                message = f"expected a number from 0 on, below 1e9, got {describe(price)}"
                reader.report.fault(child_pointer(where, kind), message)
    return prices


def _judge_currency(reader: ObjectReader, entry: JsonObject, where: str) -> None:
    if "currency" not in entry:
        return
    currency, place = entry["currency"], child_pointer(where, "currency")
    if not (isinstance(currency, str) and _CURRENCY.fullmatch(currency)):
        expected = "three capital letters such as USD"
        reader.report.fault(place, f"expected {expected}, got {describe(currency)}")
    elif len(entry) == 1:
        reader.report.fault(place, "expected a price beside the currency, such as input")


def _read_api_key_env(reader: ObjectReader) -> str:
    name = reader.text("api_key_env", max_length=200)
    if name and not ENV_NAME.fullmatch(name):
        reader.report.fault(
            reader.at("api_key_env"),
            "expected the name of an environment variable such as MAIN_KEY, got something else "
            "(not shown: it may be the key itself)",
        )
    return name


def _read_call_fields(reader: ObjectReader) -> JsonObject:
    """Fields that a call brings where the model that made it gave it none."""
    fields = reader.json_object("call_fields")
    if own := sorted(_OWN_CALL_FIELDS.intersection(fields)):
        reader.report.fault(
            child_pointer(reader.at("call_fields"), own[0]),
            "expected a field of the vendor's own, such as extra_content",
        )
    return fields


def _read_call_id_pattern(reader: ObjectReader) -> str:
    text = reader.text("tool_call_id_pattern", max_length=100)
    if not text:
        return ""
    match = _CALL_ID_PATTERN.fullmatch(text)
    expected = "a character class with a length, such as ^[a-zA-Z0-9]{9}$ or ^[a-zA-Z0-9_-]{1,40}$"
    if not match or not _is_character_class(match[1]):
        reader.fault("tool_call_id_pattern", expected)
        return ""
    shortest, longest = int(match[2]), int(match[3] or match[2])
    if not shortest <= longest <= MAX_CALL_ID_LENGTH or longest < 1:
        reader.fault(
            "tool_call_id_pattern", f"{expected}, with lengths from 1 to {MAX_CALL_ID_LENGTH}"
        )
        return ""
    return text


def _is_character_class(content: str) -> bool:
    try:
        return bool(re.compile(f"[{content}]"))
    except re.error:
        return False
