"""Tools for a request that offers none, at providers that want every call of a history declared.

Place in the house: ``agents.providers``, pure. Anthropic, Bedrock and gateways before them refuse
a conversation with calls and results where no tools are defined: they are declared then, and
forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.loop.messages import JsonObject, JsonValue

_WANTED = re.compile(
    r"tool_use.{0,40}tool_result.{0,80}must define tools"
    r"|toolconfig field must be defined"
    r"|without `?tools=?`? param",
    re.IGNORECASE | re.DOTALL,
)
_STATUSES = frozenset({400, 422})
_SEARCHED_CHARS = 2000


def wants_tools_declared(status: int, body: object) -> bool:
    """Whether an error says that the tools of the calls in the messages must be declared."""
    return status in _STATUSES and _WANTED.search(str(body)[:_SEARCHED_CHARS]) is not None


def declared_tools(messages: Iterable[JsonObject]) -> list[JsonValue]:
    """A definition for each tool that was called in these messages, by name."""
    names = [name for message in messages for name in _called(message.get("tool_calls"))]
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "Not offered any more.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
        for name in dict.fromkeys(names)
    ]


def _called(calls: JsonValue) -> list[str]:
    functions = [
        call.get("function")
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    names = [function.get("name") for function in functions if isinstance(function, dict)]
    return [name for name in names if isinstance(name, str) and name]
