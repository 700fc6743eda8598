"""Notes what changed in the configuration: from what to what, and by whom.

Place in the house: ``agents.bundle``. A change is found by comparing an item's export, which holds
no secrets, before and after; so the admin and imports are noted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from agents.bundle.exporting import export_bundle
from agents.encryption import DecryptionFailed
from agents.loop.messages import JsonObject, JsonValue
from agents.models import AuditEntry, AuditKind, TrustedName

_WHITELIST, _PEOPLE = ("mcp", "approval"), ("groups", "trace_groups", "approver_groups")

Items = dict[tuple[str, str], JsonValue]
"""Exported items by kind and id."""


@contextmanager
def audited(who: str) -> Iterator[None]:
    """Note everything that changes in the configuration inside of this block, or nothing at all
    where a stored secret cannot be read: that must be mended first."""
    with transaction.atomic():
        before = _readable_items()
        yield
        after = _readable_items()
        if before is not None and after is not None:
            note_changes(before, after, who)


def note_changes(before: Items, after: Items, who: str) -> None:
    """Write an entry for each difference."""
    entries = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old != new:
            entries += _entries(key[0], key[1], old, new)
    for entry in entries:
        entry.who = who[:150]
    AuditEntry.objects.bulk_create(entries)


def note_approved_definition(
    who: str, *, subject: str, before: JsonValue, after: JsonValue
) -> None:
    """Note who approved another definition of a tool."""
    AuditEntry.objects.create(
        who=who[:150], kind=AuditKind.TOOL, subject=subject[:300], before=before, after=after
    )


def _readable_items() -> Items | None:
    try:
        return _items()
    except DecryptionFailed:
        return None


def _items() -> Items:
    bundle, _notes = export_bundle()
    found: Items = {}
    for kind, key in (("provider", "id"), ("server", "server_id"), ("assistant", "id")):
        for item in bundle[f"{kind}s"]:  # type: ignore[union-attr]
            found[kind, str(item[key])] = item  # type: ignore[index,call-overload]
    found["assistant", "global prompts"] = {"prompts": bundle["global_prompts"]}
    for name in TrustedName.objects.order_by("kind", "value"):
        found["trust", f"{name.kind}: {name.value}"] = {"source": name.source}
    return found


def _entries(kind: str, subject: str, old: JsonValue, new: JsonValue) -> Iterator[AuditEntry]:
    if kind != "assistant" or not isinstance(old, dict) or not isinstance(new, dict):
        yield AuditEntry(kind=kind, subject=subject[:300], before=old, after=new)
        return
    parts = (
        (AuditKind.WHITELIST, _WHITELIST),
        (AuditKind.PEOPLE, _PEOPLE),
        (AuditKind.ASSISTANT, tuple(key for key in {**old, **new} if key not in _APART)),
    )
    for part, keys in parts:
        was, now = _changed(old, new, keys), _changed(new, old, keys)
        if was or now:
            yield AuditEntry(kind=part, subject=subject[:300], before=was, after=now)


_APART = frozenset((*_WHITELIST, *_PEOPLE))


def _changed(one: JsonObject, other: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """Of these fields the ones that are another in the other item."""
    return {key: one[key] for key in keys if key in one and one[key] != other.get(key)}
