"""Looks over an installation: database, key, providers, servers, assistants.

Place in the house: ``agents``, above ``agents.runs``. Findings are texts for an operator; none
holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from agents.bundle.approval_rules import check_approval_servers
from agents.bundle.report import Report
from agents.doctor_providers import look_over_providers
from agents.encryption import DecryptionFailed, decrypt, encrypt
from agents.findings import Finding, Health, counted, found
from agents.loop.catalog import LeftOut
from agents.loop.errors import HookError
from agents.models import (
    Assistant,
    AssistantServer,
    Provider,
    Server,
    Transport,
    TrustedName,
)
from agents.runs.definition_marks import definition_marks, likely_renamed
from agents.runs.offer_preview import NEVER_CHECKED, preview_offer
from agents.runs.plans import load_hook
from agents.runs.server_checks import check_servers, store_checks
from agents.runs.tool_review import load_review
from agents.runs.tool_store import definition_of_row

CONNECT_SECONDS = 15.0
"""How long a server may take to connect and list."""

HOOK_FIELDS = ("create_hook", "next_hook", "before_tool_call_hook", "after_tool_call_hook")


def look_over(*, is_offline: bool = False) -> Iterator[Finding]:
    """All findings, in the order of the looking. Offline nothing is asked over a network, and no
    server's command is started.
    """
    database = list(_database())
    yield from database
    if any(finding.health is Health.ERROR for finding in database):
        return
    keys = list(_encryption())
    yield from keys
    if any(finding.health is Health.ERROR for finding in keys):
        return
    yield from look_over_providers(is_offline=is_offline)
    yield from _servers(is_offline=is_offline)
    yield from _assistants()


def _database() -> Iterator[Finding]:
    """Reachable, up to date, in WAL, writable."""
    name = "database"
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        yield found(name, Health.ERROR, f"cannot be reached: {error}", "Check DATABASE_URL.")
        return
    if waiting:
        text = f"{counted(len(waiting), 'migration')} to be applied"
        yield found(name, Health.ERROR, text, "Run manage.py migrate.")
        return
    yield found(name, Health.OK, f"{connection.vendor}, all migrations applied")
    if connection.vendor == "sqlite":
        yield _wal()
    yield _writable()


def _wal() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = str(cursor.fetchone()[0])
    if mode == "wal":
        return found("database", Health.OK, "write-ahead log (WAL) is on")
    hint = "Use a local disk: WAL does not work on network drives and in memory."
    return found("database", Health.WARNING, f"journal mode is {mode}, not wal", hint)


def _writable() -> Finding:
    try:
        with transaction.atomic():
            TrustedName.objects.create(kind="host", value="doctor.invalid", source="doctor")
            transaction.set_rollback(True)
    except DatabaseError as error:
        hint = "Check the rights of the file and its folder, and that the disk is not full."
        return found("database", Health.ERROR, f"cannot be written: {error}", hint)
    return found("database", Health.OK, "can be written")


def _encryption() -> Iterator[Finding]:
    """A key that works, and that fits what is stored."""
    name = "encryption"
    if decrypt(encrypt("doctor")) != "doctor":
        yield found(name, Health.ERROR, "a value does not come back as it was stored")
        return
    faults = [fault for fault in (_unreadable(Provider), _unreadable(Server)) if fault]
    for fault in faults:
        yield found(name, Health.ERROR, fault)
    if faults:
        return
    if settings.TOOLLOOP_ENCRYPTION_KEYS:
        count = len(settings.TOOLLOOP_ENCRYPTION_KEYS)
        yield found(name, Health.OK, f"TOOLLOOP_ENCRYPTION_KEYS holds {count}, all values fit")
        return
    hint = "Set TOOLLOOP_ENCRYPTION_KEYS, so that a new SECRET_KEY does not lock stored keys."
    text = "the key is derived from SECRET_KEY"
    yield found(name, Health.WARNING, text, hint)


def _unreadable(model: type[Provider] | type[Server]) -> str:
    try:
        list(model.objects.all())
    except DecryptionFailed as error:
        return str(error)
    return ""


def _servers(*, is_offline: bool) -> Iterator[Finding]:
    """Connect to all of them at the same time and store what they list."""
    rows = list(Server.objects.prefetch_related("samples"))
    if not rows:
        yield found("servers", Health.WARNING, "there is none: assistants can only talk")
    yield from _commands(rows)
    if is_offline:
        for row in rows:
            yield _offline_server(row)
        yield from _definitions(rows)
        return
    checks = check_servers(rows, connect_seconds=CONNECT_SECONDS) if rows else []
    store_checks(checks)
    for check in checks:
        subject = f"server {check.server.server_id}"
        if check.listing is None:
            hint = "Check its settings in the admin; manage.py check_servers asks it again."
            yield found(subject, Health.ERROR, check.error, hint)
            continue
        count = len(check.listing.tools)
        text = f"MCP {check.listing.protocol}, {counted(count, 'tool')}, in {check.seconds:.1f} s"
        health = Health.OK if count else Health.WARNING
        yield found(subject, health, text, "" if count else "It lists no tools.")
    yield from _definitions(rows)


def _commands(rows: Sequence[Server]) -> Iterator[Finding]:
    """Commands that could run here though nobody needs them."""
    commands = [row for row in rows if row.transport == Transport.STDIO]
    if settings.TOOLLOOP_ALLOW_STDIO and not commands:
        hint = "Set TOOLLOOP_ALLOW_STDIO=false: then no server can be a command."
        yield found("servers", Health.OK, "none is a command, though commands are allowed", hint)
    for row in commands:
        if not row.assistant_links.exists():
            text = "is a command that no assistant uses"
            hint = "Delete it: whatever it is, it need not be started here."
            yield found(f"server {row.server_id}", Health.WARNING, text, hint)


def _definitions(rows: Sequence[Server]) -> Iterator[Finding]:
    """Tools whose definition waits for a review, or should be looked at."""
    for row in rows:
        subject = f"server {row.server_id}"
        review = load_review(row)
        listed = row.tools.filter(vanished_at__isnull=True)
        waiting = [
            tool.name for tool in listed if review.needs_review(tool.name, tool.definition_hash)
        ]
        if waiting:
            text = f"changed definitions wait for review: {', '.join(waiting)}"
            hint = "Their pages in the admin (Tools) show what changed."
            yield found(subject, Health.WARNING, text, hint)
        odd = [tool.name for tool in listed if definition_marks(definition_of_row(tool))]
        if odd:
            text = f"definitions with hidden characters or orders to the model: {', '.join(odd)}"
            hint = "Their pages in the admin (Tools) quote what is odd."
            yield found(subject, Health.WARNING, text, hint)


def _offline_server(row: Server) -> Finding:
    subject = f"server {row.server_id}"
    if row.last_error:
        hint = "Without --offline it is asked again."
        return found(subject, Health.WARNING, f"did not answer last time: {row.last_error}", hint)
    if row.checked_at is None:
        hint = "Run manage.py check_servers."
        return found(subject, Health.WARNING, NEVER_CHECKED, hint)
    count = row.tools.filter(vanished_at__isnull=True).count()
    return found(subject, Health.OK, f"{counted(count, 'tool')} when it was last asked (not asked)")


def _assistants() -> Iterator[Finding]:
    """Provider and model, whitelists, policy, hooks, and that something is offered."""
    rows = Assistant.objects.filter(is_system=False).select_related("provider")
    if not rows:
        yield found("assistants", Health.WARNING, "there is none", "Add one in the admin.")
    for row in rows:
        findings = list(_assistant(row))
        yield from findings
        if not findings:
            yield _healthy_assistant(row)


def _healthy_assistant(row: Assistant) -> Finding:
    preview = preview_offer(row, _links(row))
    tools = counted(len(preview.offered), "tool")
    text = f"{tools} offered, about {preview.tokens} tokens a request"
    return found(f"assistant {row.assistant_id}", Health.OK, text)


def _assistant(row: Assistant) -> Iterator[Finding]:
    subject = f"assistant {row.assistant_id}"
    if row.provider is None:
        yield found(subject, Health.ERROR, "has no provider", "Choose one in the admin.")
    elif not (row.model or row.provider.default_model):
        hint = "Set its model or the provider's default_model."
        yield found(subject, Health.ERROR, "has no model", hint)
    known = set(Provider.objects.values_list("provider_id", flat=True))
    for item in row.further_models:
        if item["provider"] not in known:
            text = f"its further models name the provider {item['provider']}, which is gone"
            yield found(subject, Health.WARNING, text, "Remove the line or add the provider.")
    for name in HOOK_FIELDS:
        try:
            load_hook(getattr(row, name))
        except HookError as error:
            yield found(subject, Health.ERROR, str(error))
    links = _links(row)
    report = Report()
    server_ids = [link.server.server_id for link in links]
    check_approval_servers(row.approval, server_ids, "", report)
    for fault in report.faults:
        rule = fault.pointer.lstrip("/")
        hint = "Remove the rule or add its server."
        yield found(subject, Health.WARNING, f"the rule {rule} has no effect", hint)
    yield from _whitelists(subject, links)
    preview = preview_offer(row, links)
    if links and not preview.offered:
        hint = "Its page in the admin shows what is left out, and why."
        yield found(subject, Health.WARNING, "none of its tools is offered", hint)
    for entry in preview.left_out:
        if entry.reason is LeftOut.SERVER_UNAVAILABLE:
            text = f"the tools of its server {entry.server} are not offered: {entry.detail}"
            hint = "Mend the server, or take it off the assistant's page."
            yield found(subject, Health.WARNING, text, hint)


def _whitelists(subject: str, links: Sequence[AssistantServer]) -> Iterator[Finding]:
    for link in links:
        server, allowed = link.server, link.allowed_tools
        if not allowed or server.checked_at is None:
            continue
        known = {tool.name for tool in server.tools.all() if tool.vanished_at is None}
        missing = [name for name in allowed if name not in known]
        if missing and not server.last_error:
            text = f"{server.server_id} does not list {', '.join(missing)}"
            hint = "Untick it on the assistant's page, or ask the server again."
            if names := _new_names(server, missing):
                hint += f" Perhaps it has a new name: {names}."
            yield found(subject, Health.WARNING, text, hint)


def _new_names(server: Server, missing: Sequence[str]) -> str:
    """``old is new`` for each missing tool that another one is like."""
    rows = {tool.name: tool for tool in server.tools.all()}
    listed = {
        name: definition_of_row(tool) for name, tool in rows.items() if tool.vanished_at is None
    }
    likely = {
        name: likely_renamed(definition_of_row(rows[name]), listed)
        for name in missing
        if name in rows
    }
    return ", ".join(f"{old} is {new}" for old, new in likely.items() if new)


def _links(row: Assistant) -> list[AssistantServer]:
    links = row.server_links.order_by("position").select_related("server")
    return list(links.prefetch_related("server__tools", "server__samples"))
