"""Notes what changed in the configuration: from what to what, and by whom.

Place in the house: ``agents.bundle``. A change is found by comparing an item's export, which holds
no secrets, before and after; so the admin and imports are noted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction

from agents.bundle.exporting import export_bundle
from agents.bundle.hiding import hidden_values, shown_text
from agents.encryption import DecryptionFailed
from agents.loop.messages import JsonObject, JsonValue
from agents.models import AuditEntry, AuditKind, Provider, Server, TrustedName

_WHITELIST, _PEOPLE = ("mcp", "approval"), ("groups", "trace_groups", "approver_groups")

Key = tuple[str, str]
"""Kind and id of an item."""

Items = dict[Key, JsonValue]
"""Exported items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The configuration at one time. ``secrets`` are compared and written nowhere."""

    items: Items
    secrets: dict[Key, object]


@contextmanager
def audited(who: str) -> Iterator[None]:
    """Note everything that changes in the configuration inside of this block, or nothing at all
    where a stored secret cannot be read: that must be mended first."""
    with transaction.atomic():
        before = _readable_state()
        yield
        after = _readable_state()
        if before is not None and after is not None:
            _note_changes(before, after, who)


def _note_changes(before: _State, after: _State, who: str) -> None:
    """Write an entry for each difference; that secrets are others is told, not what they are."""
    entries = []
    for key in dict.fromkeys([*before.items, *after.items]):
        old, new = before.items.get(key), after.items.get(key)
        has_both = key in before.secrets and key in after.secrets
        if has_both and before.secrets[key] != after.secrets[key] and isinstance(new, dict):
            new = {**new, "secrets": "changed"}
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


def _readable_state() -> _State | None:
    try:
        return _State(items=_items(), secrets=dict(_secrets()))
    except DecryptionFailed:
        return None


def _secrets() -> Iterator[tuple[Key, object]]:
    """What the entries do not show of providers and servers."""
    for provider in Provider.objects.all():
        yield ("provider", provider.provider_id), provider.api_key
    for server in Server.objects.all():
        yield ("server", server.server_id), hidden_values(server)


def _items() -> Items:
    bundle, _notes = export_bundle()
    found: Items = {}
    for kind, key in (("provider", "id"), ("server", "server_id"), ("assistant", "id")):
        for item in bundle[f"{kind}s"]:  # type: ignore[union-attr]
            found[kind, str(item[key])] = _without_values(item)  # type: ignore[index,call-overload,arg-type]
    found["assistant", "global prompts"] = {"prompts": bundle["global_prompts"]}
    for name in TrustedName.objects.order_by("kind", "value"):
        found["trust", f"{name.kind}: {name.value}"] = {"source": name.source}
    return found


def _without_values(item: JsonObject) -> JsonObject:
    """An item whose headers are shown as on its page: a value that names no variable is hidden."""
    headers = item.get("headers")
    if not isinstance(headers, dict):
        return item
    return {**item, "headers": {n: shown_text("headers", n, v) for n, v in headers.items()}}


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
