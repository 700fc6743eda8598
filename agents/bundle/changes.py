"""What importing a bundle would change, field by field; nothing is written.

Place in the house: ``agents.bundle``. ``plan_import`` reads the database. Texts before and after
hold no secrets; a change of a secret is told without showing it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from agents.bundle.entries import Bundle, ServerEntry
from agents.bundle.hiding import HIDDEN, shown_arguments, shown_text, shown_variable
from agents.bundle.report import child_pointer
from agents.bundle.shapes import (
    assistant_shape,
    path_of,
    provider_shape,
    server_shape,
    stored_assistant,
    stored_prompts,
    stored_provider,
    stored_server,
)
from agents.loop.messages import JsonObject, JsonValue
from agents.models import Assistant, Provider, Server, Transport, TrustedName

CREATED, UPDATED, UNCHANGED = "created", "updated", "unchanged"
COMMAND_FIELDS = ("transport", "command", "args", "env", "cwd")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field. ``None`` = not there (or as by default). ``is_secret``: differs, is not shown."""

    path: str
    before: str | None
    after: str | None
    is_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """One item: ``change`` is created, updated or unchanged; fields of a new one are those set."""

    kind: str
    item_id: str
    change: str
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """All that an import would do.

    ``commands`` are ``(server_id, line)`` of commands that are new or changed; ``trusted`` are the
    names that would come on the list. ``fingerprint`` changes with anything that would be written
    or replaced.
    """

    items: tuple[ItemChange, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    trusted: tuple[tuple[str, str], ...] = ()
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return all(item.change == UNCHANGED for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """An item in its two shapes; ``is_new`` where ``before`` holds defaults alone."""

    kind: str
    item_id: str
    before: JsonObject
    after: JsonObject
    is_new: bool


def plan_import(bundle: Bundle) -> ImportPlan:
    """What importing a valid bundle would change now."""
    compared = [*_providers(bundle), *_servers(bundle), *_assistants(bundle)]
    if bundle.global_prompts is not None:
        before: JsonObject = {"global_prompts": stored_prompts()}
        after: JsonObject = {"global_prompts": list(bundle.global_prompts)}
        compared.append(_Compared(kind="global prompts", item_id="", before=before, after=after,
                                  is_new=False))  # fmt: skip
    items = tuple(_item(one) for one in compared)
    listed = set(TrustedName.objects.values_list("kind", "value"))
    whole = [[one.kind, one.item_id, one.is_new, one.before, one.after] for one in compared]
    text = json.dumps([whole, sorted(bundle.trusted)], sort_keys=True)
    return ImportPlan(
        items=items,
        commands=tuple(_commands(bundle, items)),
        trusted=tuple(name for name in bundle.trusted if name not in listed),
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
    )


def command_text(entry: ServerEntry) -> str:
    """A stdio server's whole command, secrets hidden: ``LOG=debug uvx mcp-server-time``."""
    fields = entry.fields
    env: dict[str, str] = fields["env"]  # type: ignore[assignment]
    arguments: list[JsonValue] = fields["args"]  # type: ignore[assignment]
    variables = [f"{name}={shown_variable(name, value)}" for name, value in env.items()]
    words = [*variables, str(fields["command"]), *shown_arguments(arguments)]
    line = " ".join(json.dumps(word, ensure_ascii=False) if " " in word else word for word in words)
    return f"{line}  ({fields['cwd']})" if fields["cwd"] else line


def _providers(bundle: Bundle) -> Iterator[_Compared]:
    for entry in bundle.providers:
        row = Provider.objects.filter(provider_id=entry.provider_id).first()
        yield _Compared(
            kind="provider",
            item_id=entry.provider_id,
            before=stored_provider(row or Provider(), entry.fields),
            after=provider_shape(entry),
            is_new=row is None,
        )


def _servers(bundle: Bundle) -> Iterator[_Compared]:
    for entry in bundle.servers:
        row = Server.objects.filter(server_id=entry.server_id).first()
        yield _Compared(
            kind="server",
            item_id=entry.server_id,
            before=stored_server(row or Server(), entry.fields),
            after=server_shape(entry),
            is_new=row is None,
        )


def _assistants(bundle: Bundle) -> Iterator[_Compared]:
    for entry in bundle.assistants:
        row = Assistant.objects.filter(assistant_id=entry.assistant_id).first()
        yield _Compared(
            kind="assistant",
            item_id=entry.assistant_id,
            before=stored_assistant(
                row or Assistant(), entry.fields, groups=entry.groups, is_system=entry.is_system
            ),
            after=assistant_shape(entry),
            is_new=row is None,
        )


def _commands(bundle: Bundle, items: tuple[ItemChange, ...]) -> Iterator[tuple[str, str]]:
    changes = {item.item_id: item for item in items if item.kind == "server"}
    for entry in bundle.servers:
        if entry.fields["transport"] != Transport.STDIO:
            continue
        item = changes[entry.server_id]
        touched = {field.path.partition("/")[0] for field in item.fields}
        if item.change == CREATED or touched & set(COMMAND_FIELDS):
            yield entry.server_id, command_text(entry)


def _item(one: _Compared) -> ItemChange:
    fields = tuple(_fields(one))
    change = CREATED if one.is_new else UPDATED if fields else UNCHANGED
    return ItemChange(kind=one.kind, item_id=one.item_id, change=change, fields=fields)


def _fields(one: _Compared) -> Iterator[FieldChange]:
    for column in one.after:
        before, after = _leaves(one.before.get(column)), _leaves(one.after[column])
        if column == "order":
            if set(one.before["order"]) != set(one.after["order"]):  # type: ignore[arg-type]
                continue
            column = "servers"
        root = path_of(one.kind, column)
        for pointer in dict.fromkeys([*before, *after]):
            old, new = before.get(pointer), after.get(pointer)
            if _written(old) != _written(new):
                yield _field(column, root, pointer, None if one.is_new else old, new)


def _field(column: str, root: str, pointer: str, old: JsonValue, new: JsonValue) -> FieldChange:
    name = pointer.rpartition("/")[2] or column
    texts = [None if value is None else shown_text(column, name, value) for value in (old, new)]
    return FieldChange(
        path=root + pointer,
        before=texts[0],
        after=texts[1],
        is_secret=any(text is not None and HIDDEN in text for text in texts),
    )


def _leaves(value: JsonValue, pointer: str = "") -> dict[str, JsonValue]:
    """What stands in a value by its pointer; nothing for ``None`` and what is empty at the top."""
    if isinstance(value, dict):
        members: list[tuple[str | int, JsonValue]] = list(value.items())
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        members = list(enumerate(value))
    else:
        is_nothing = value is None or value in ("", [])
        return {} if is_nothing and not pointer else {pointer: value}
    if not members:
        return {pointer: value} if pointer else {}
    leaves: dict[str, JsonValue] = {}
    for key, item in members:
        leaves |= _leaves(item, child_pointer(pointer, key))
    return leaves


def _written(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
