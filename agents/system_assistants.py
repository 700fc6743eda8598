"""The assistants that come with the application, and the rows that hold them.

Place in the house: ``agents``. They are made after every ``migrate`` where they are missing (a
signal, not a migration: a flushed database gets them back too), and never changed again by us:
provider, model and prompts belong to the operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.apps import apps as current_apps
from django.apps.registry import Apps

LOOP_FALLBACK = "toolloop.loop_fallback"
TITLE = "toolloop.title"
SYSTEM_PREFIX = "toolloop."

EDITABLE_FIELDS = ("provider", "model", "prompts")
"""The fields that an operator may set on a system assistant."""

_PROMPTS = Path(__file__).parent / "system_prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAssistant:
    """What a system assistant is before an operator changes it."""

    assistant_id: str
    name: str
    description: str
    prompt: str


SYSTEM_ASSISTANTS = (
    SystemAssistant(
        assistant_id=LOOP_FALLBACK,
        name="Loop fallback",
        description="Answers from what was found when a run had to stop before its answer.",
        prompt=(_PROMPTS / "loop_fallback.md").read_text(encoding="utf-8").strip(),
    ),
    SystemAssistant(
        assistant_id=TITLE,
        name="Title",
        description="Names a conversation after its first answer.",
        prompt=(_PROMPTS / "title.md").read_text(encoding="utf-8").strip(),
    ),
)


def default_prompts(assistant_id: str) -> list[dict[str, str]]:
    """The prompts that a system assistant comes with; ``[]`` for any other assistant."""
    for assistant in SYSTEM_ASSISTANTS:
        if assistant.assistant_id == assistant_id:
            return [{"role": "system", "content": assistant.prompt}]
    return []


def create_system_assistants(using: str, apps: Apps = current_apps, **kwargs: object) -> None:
    """Make the rows that are missing.

    Called after ``migrate`` with the models as they are then, and after ``flush`` without any.
    """
    try:
        model = apps.get_model("agents", "Assistant")
    except LookupError:
        return
    for assistant in SYSTEM_ASSISTANTS:
        model.objects.using(using).get_or_create(
            assistant_id=assistant.assistant_id,
            defaults={
                "name": assistant.name,
                "description": assistant.description,
                "is_system": True,
                "prompts": default_prompts(assistant.assistant_id),
            },
        )
