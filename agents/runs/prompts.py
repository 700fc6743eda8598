"""Stored prompts as messages, with their variables filled in.

Place in the house: ``agents.runs``. Who asks is looked up only where a prompt names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property

from django.contrib.auth import get_user_model

from agents.loop.messages import JsonValue, Message, Role
from agents.loop.messages import message_from_dict as read_message
from agents.loop.prompt_variables import fill_variables, variable_values
from agents.models import Assistant, GlobalPrompt
from agents.runs.statements import fetch_rows
from agents.texts import without_hidden

NOBODY = "(name of the person)"
"""Stands for the person in a preview."""


class PromptReader:
    """Reads the prompts of one run. ``user_id`` is ``None`` where nobody asks, as in a preview."""

    def __init__(self, assistant: Assistant, user_id: int | None) -> None:
        self._assistant = assistant
        self._user_id = user_id

    def read(self, prompts: JsonValue) -> tuple[Message, ...]:
        """Stored prompts as messages."""
        items = prompts if isinstance(prompts, list) else []
        return tuple(self._filled(read_message(item)) for item in items if isinstance(item, dict))

    def global_prompts(self) -> tuple[Message, ...]:
        """The prompts that every assistant gets."""
        return tuple(
            self._filled(Message(role=Role(prompt.role), content=prompt.content))
            for prompt in fetch_rows(GlobalPrompt, {}, order="position")
        )

    def _filled(self, message: Message) -> Message:
        text = message.content
        if not isinstance(text, str) or "{{" not in text:
            return message
        return Message(role=message.role, content=fill_variables(text, self._values))

    @cached_property
    def _values(self) -> Mapping[str, str]:
        name = NOBODY
        user = get_user_model().objects.filter(pk=self._user_id).first()
        if user is not None:
            name = without_hidden(str(user.get_full_name() or user.get_username()))
        return variable_values(now=datetime.now(UTC), user=name, assistant=str(self._assistant))
