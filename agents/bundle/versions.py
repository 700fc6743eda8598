"""Every configuration that an assistant had: kept at each save, and compared.

Place in the house: ``agents.bundle``. A version is the assistant's item of a bundle, without
secrets.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

from django.db import transaction
from django.db.models import QuerySet

from agents.bundle.exporting import assistant_entry
from agents.models import Assistant, AssistantVersion


@transaction.atomic
def keep_version(assistant: Assistant, *, by: str, note: str = "") -> AssistantVersion | None:
    """Keep an assistant's stored configuration; ``None`` where it is that of the newest version."""
    row = Assistant.objects.select_for_update().get(pk=assistant.pk)
    configuration = assistant_entry(row)
    last = row.versions.order_by("-number").first()
    if last is not None and last.configuration == configuration:
        return None
    version = AssistantVersion.objects.create(
        assistant=row,
        number=(last.number if last else 0) + 1,
        by=by[:150],
        note=note[:200],
        configuration=configuration,
    )
    Assistant.objects.filter(pk=row.pk).update(version=version.number)
    assistant.version = version.number
    return version


def keep_first_versions(assistants: QuerySet[Assistant]) -> None:
    """Keep what those assistants are now of which no version is kept: call it before a change."""
    for row in assistants.filter(version=0):
        keep_version(row, by="")


def changed_fields(before: AssistantVersion | None, after: AssistantVersion) -> list[str]:
    """The names of the fields in which two versions differ, deep ones as ``limits.max_tools``."""
    old = before.configuration if before is not None else {}
    return list(_differing(old, after.configuration, ""))


def difference(before: AssistantVersion, after: AssistantVersion) -> list[str]:
    """The lines of a unified difference of both as JSON, without its header."""
    old, new = (
        json.dumps(version.configuration, ensure_ascii=False, indent=2).splitlines()
        for version in (before, after)
    )
    return list(difflib.unified_diff(old, new, n=3, lineterm=""))[2:]


def _differing(old: object, new: object, place: str) -> Iterator[str]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        if old != new:
            yield place
        return
    for key in [*new, *(key for key in old if key not in new)]:
        if old.get(key) != new.get(key):
            yield from _differing(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
