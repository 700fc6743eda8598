"""Hooks for the tests of faults; a test sets what they return or do.

``DO["create"] = function`` (with ``monkeypatch.setitem``) is called by ``asked_create`` with the
hook's own arguments; so are ``asked_next``, ``asked_before`` and ``asked_after``. What the function
returns is awaited where it can be.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

HERE = "tests.faults.hooks"
MESSAGES: list[dict[str, Any]] = []
DO: dict[str, Callable[..., Any]] = {}


def create(context: Any, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Replace the conversation."""
    return {"messages": MESSAGES}


async def asked_create(*arguments: Any) -> Any:
    """What the test wants."""
    return await _do("create", arguments)


async def asked_next(*arguments: Any) -> Any:
    """What the test wants."""
    return await _do("next", arguments)


async def asked_before(*arguments: Any) -> Any:
    """What the test wants."""
    return await _do("before_tool_call", arguments)


async def asked_after(*arguments: Any) -> Any:
    """What the test wants."""
    return await _do("after_tool_call", arguments)


def sync_next(*arguments: Any) -> Any:
    """What the test wants, in the thread of a sync hook."""
    return DO["next"](*arguments)


async def _do(name: str, arguments: tuple[Any, ...]) -> Any:
    returned = DO[name](*arguments)
    return await returned if inspect.isawaitable(returned) else returned


PATHS = {
    "create": f"{HERE}.asked_create",
    "next": f"{HERE}.asked_next",
    "before_tool_call": f"{HERE}.asked_before",
    "after_tool_call": f"{HERE}.asked_after",
}
