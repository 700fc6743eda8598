"""What a person can ask of the application itself in a message.

Place in the house: ``agents.runs``, pure.
"""

from __future__ import annotations

from agents.loop.messages import JsonValue

COMPACT = "compact"
"""Sum up the conversation so far: ``/compact``."""


def command_of(content: JsonValue) -> str:
    """The command that a message is, ``""`` for a message to the assistant."""
    is_command = isinstance(content, str) and content.strip().casefold() == f"/{COMPACT}"
    return COMPACT if is_command else ""
