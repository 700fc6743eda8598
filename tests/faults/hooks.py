"""Hooks for the tests of faults; a test sets what they return."""

from __future__ import annotations

from typing import Any

MESSAGES: list[dict[str, Any]] = []


def create(context: Any, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Replace the conversation."""
    return {"messages": MESSAGES}
