"""A connector of Yao as a provider.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re

from agents.bundle.leftovers import Leftovers
from agents.loop.messages import JsonObject, JsonValue

_ENV_WHOLE = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")


def make_provider(provider_id: str, file: Leftovers) -> JsonObject:
    """The provider of one ``.conn.yao``."""
    kind = file.take("type", "openai")
    if kind != "openai":
        file.warn(
            "type", f"{kind} is spoken to as an OpenAI-compatible endpoint: see that it is one"
        )
    options = file.part("options")
    provider: JsonObject = {"id": provider_id}
    host = options.take("host") or options.take("proxy")
    if isinstance(host, str):
        provider["base_url"] = with_version(host, options.at("host"), options)
    elif host is not None:
        provider["base_url"] = host
    provider |= options.copy({"model": "default_model"})
    _set_key(provider, options)
    capabilities = options.part("capabilities")
    provider |= capabilities.copy({"vision": "vision"})
    if not isinstance(provider.get("vision", False), bool):
        provider["vision"] = bool(provider["vision"])
    for name in ("streaming", "tool_calls"):
        if capabilities.take(name, True) is False:
            capabilities.warn(name, "is needed here: every answer is streamed and may use tools")
    capabilities.finish()
    options.finish()
    file.finish()
    return provider


def with_version(url: str, pointer: str, source: Leftovers) -> str:
    """A base URL as providers have it here: what stands before ``/chat/completions``."""
    if "$ENV." in url:
        message = "a provider's address cannot come from a variable: write it out in the file"
        source.report.warn(pointer, message)
        return url
    if _VERSION.search(url.partition("://")[2]):
        return url
    source.report.warn(pointer, "/v1 was added: requests go to the base URL and /chat/completions")
    return f"{url.rstrip('/')}/v1"


def _set_key(provider: JsonObject, options: Leftovers) -> None:
    key: JsonValue = options.take("key")
    found = _ENV_WHOLE.fullmatch(key) if isinstance(key, str) else None
    if found:
        provider["api_key_env"] = found[1]
    elif key:
        message = "a key that is written out is left out: name its variable in api_key_env"
        options.warn("key", message)
