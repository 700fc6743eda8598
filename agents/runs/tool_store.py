"""Stores what servers listed: one row per tool, with a hash of its definition.

Place in the house: ``agents.runs``. Plain synchronous functions; async callers wrap them.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from agents.loop.interfaces import ServerListing, ToolSpec
from agents.loop.messages import JsonObject
from agents.models import Server, ServerHealth, Tool, ToolDefinition
from agents.texts import storable

SEEN_AGAIN_AFTER = timedelta(minutes=1)
"""An unchanged listing is written again only after this time, so that runs stay cheap."""

MAX_NAME = 500
"""Characters of a tool's name; a tool with a longer one is not stored, and never offered."""

MAX_REMEMBERED = 5000

KEPT_HEALTH = 100
"""Rows of a server's history."""


def store_listing(server: Server, listing: ServerListing, *, now: datetime | None = None) -> bool:
    """Make the rows of a server's tools equal to its listing; tells whether anything was written.

    A tool that is not listed any more keeps its row with ``vanished_at``. Of a name that is listed
    twice the first counts. Every definition is kept; the first one of a name is approved. One
    transaction; a single query when nothing changed.
    """
    moment = now or timezone.now()
    wanted = _wanted_tools(listing)
    stored = {tool.name: tool for tool in Tool.objects.filter(server=server)}
    present = {name for name, tool in stored.items() if tool.vanished_at is None}
    is_same = present == wanted.keys() and all(
        stored[name].definition_hash == tool.definition_hash
        and stored[name].position == tool.position
        and stored[name].is_listed_twice == tool.is_listed_twice
        for name, tool in wanted.items()
    )
    is_recent = server.checked_at is not None and moment - server.checked_at < SEEN_AGAIN_AFTER
    if is_same and is_recent and not server.last_error and server.protocol == listing.protocol:
        return False
    with transaction.atomic():
        # Two processes that list a new tool for the first time must not approve two definitions.
        Server.objects.select_for_update().get(pk=server.pk)
        _write_tools(server, wanted, stored, moment)
        _write_definitions(server, listing, moment)
        server.protocol, server.last_error, server.checked_at = listing.protocol[:40], "", moment
        server.save(update_fields=["protocol", "last_error", "checked_at"])
        _note_health(server, moment, tools=len(wanted))
    return True


def store_failure(server: Server, error: str, *, now: datetime | None = None) -> None:
    """Note that a server did not answer; its known tools stay as they are."""
    moment = now or timezone.now()
    server.last_error, server.checked_at = storable(error), moment
    server.save(update_fields=["last_error", "checked_at"])
    _note_health(server, moment, tools=0)


def _note_health(server: Server, moment: datetime, *, tools: int) -> None:
    """Add to a server's history what is different from the last time."""
    protocol = "" if server.last_error else server.protocol
    now = (server.last_error, protocol, tools)
    last = ServerHealth.objects.filter(server=server).order_by("-at", "-pk").first()
    if last is not None and (last.error, last.protocol, last.tools) == now:
        return
    ServerHealth.objects.create(
        server=server, at=moment, error=server.last_error, protocol=protocol, tools=tools
    )
    kept = ServerHealth.objects.filter(server=server).order_by("-at", "-pk")[:KEPT_HEALTH]
    ServerHealth.objects.filter(server=server).exclude(
        pk__in=list(kept.values_list("pk", flat=True))
    ).delete()


def definition_of(spec: ToolSpec) -> JsonObject:
    """The parts of a tool that a person would have approved, as JSON."""
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
        "annotations": spec.annotations,
    }


def definition_of_row(tool: Tool) -> JsonObject:
    """The same of a stored tool."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
    }


def definition_hash(spec: ToolSpec) -> str:
    """The SHA-256 of a tool's definition, the same for the same definition."""
    known = _hashes.get(id(spec.input_schema))
    if known is not None and known[0] is spec.input_schema and known[1] == definition_of(spec):
        return known[2]
    definition = definition_of(spec)
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    if len(_hashes) >= MAX_REMEMBERED:
        _hashes.clear()
    _hashes[id(spec.input_schema)] = spec.input_schema, definition, digest
    return digest


_hashes: dict[int, tuple[object, JsonObject, str]] = {}
"""Hashes by the identity of a schema, which is held: open servers list the same objects to every
run."""


def _wanted_tools(listing: ServerListing) -> dict[str, Tool]:
    """Unsaved rows by name, in the listing's order."""
    rows: dict[str, Tool] = {}
    for spec in listing.tools:
        name = storable(spec.name)
        if name in rows:
            rows[name].is_listed_twice = True
            continue
        if not 0 < len(name) <= MAX_NAME:
            continue
        rows[name] = Tool(
            name=name,
            position=len(rows),
            title=storable(spec.title)[:500],
            description=storable(spec.description),
            input_schema=storable(spec.input_schema),
            output_schema=storable(spec.output_schema),
            annotations=storable(spec.annotations),
            definition_hash=definition_hash(spec),
        )
    return rows


def _write_tools(
    server: Server, wanted: dict[str, Tool], stored: dict[str, Tool], moment: datetime
) -> None:
    rows = []
    for name, tool in wanted.items():
        tool.server = server
        tool.first_seen = stored[name].first_seen if name in stored else moment
        tool.last_seen = moment
        rows.append(tool)
    Tool.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["server", "name"],
        update_fields=[
            "position", "title", "description", "input_schema", "output_schema", "annotations",
            "is_listed_twice", "definition_hash", "last_seen", "vanished_at",
        ],
    )  # fmt: skip
    gone = Tool.objects.filter(server=server, vanished_at__isnull=True).exclude(name__in=wanted)
    gone.update(vanished_at=moment)


def _write_definitions(server: Server, listing: ServerListing, moment: datetime) -> None:
    """Keep every definition that was listed; of a name that is new, approve it."""
    known = set(ToolDefinition.objects.filter(server=server).values_list("name", flat=True))
    rows: dict[str, ToolDefinition] = {}
    for spec in listing.tools:
        name = storable(spec.name)
        if name in rows or not 0 < len(name) <= MAX_NAME:
            continue
        rows[name] = ToolDefinition(
            server=server,
            name=name,
            definition_hash=definition_hash(spec),
            definition=storable(definition_of(spec)),
            first_seen=moment,
            last_seen=moment,
            approved_at=None if name in known else moment,
        )
    ToolDefinition.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=["server", "name", "definition_hash"],
        update_fields=["last_seen"],
    )
