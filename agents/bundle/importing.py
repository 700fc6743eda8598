"""Writes a valid bundle into the database, all or nothing.

Place in the house: ``agents.bundle``. The command and the admin call ``import_bundle``.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from django.contrib.auth.models import Group
from django.db import models, transaction

from agents.bundle.audit import audited
from agents.bundle.changes import CREATED, UNCHANGED, UPDATED, ImportPlan, plan_import
from agents.bundle.entries import AssistantEntry, Bundle, KnownNames, ProviderEntry, ServerEntry
from agents.bundle.parsing import parse_bundle
from agents.bundle.report import Finding, Report
from agents.bundle.validation import validate_bundle
from agents.bundle.versions import keep_first_versions, keep_version
from agents.loop.messages import JsonValue
from agents.models import (
    Assistant,
    AssistantServer,
    GlobalPrompt,
    Provider,
    Server,
    Tool,
    ToolSample,
    TrustedName,
)

TRUST_SOURCE = "bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOutcome:
    """What became of a bundle. With faults nothing was written.

    ``counts`` = ``{"providers": {"created": 1, "updated": 0, "unchanged": 0}, ...}``. ``plan`` is
    what was to change; ``is_stale`` tells that it was not the one expected: nothing was written.
    """

    faults: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    plan: ImportPlan = field(default_factory=ImportPlan)
    is_stale: bool = False

    def summary(self) -> str:
        """One line: what was created and updated."""
        parts = [
            f"{count} {kind if count != 1 else kind.removesuffix('s')} {what}"
            for kind, counts in self.counts.items()
            for what, count in counts.items()
            if count
        ]
        return ", ".join(parts) or "nothing to import"


def import_bundle(text: str, *, name: str = "") -> ImportOutcome:
    """Judge a bundle's text and, if there is no fault, write it in one transaction.

    ``name`` is the file's: its ending tells JSON from YAML. Raises ``BundleUnreadable``.
    """
    report = Report()
    return import_value(parse_bundle(text, report, name=name), report)


def import_value(
    value: JsonValue,
    report: Report,
    *,
    source: str = TRUST_SOURCE,
    expected: str = "",
    by: str = "",
    note: str = "",
    trusts: bool = True,
) -> ImportOutcome:
    """Judge a bundle's value and, if there is no fault, write it in one transaction.

    ``source`` is kept beside names that come on the list of trusted ones. With the fingerprint of a
    plan ``expected``, nothing is written where the plan is another one by now. ``by`` and
    ``note`` stand beside the versions of assistants; without ``trusts`` no name comes on the list.
    """
    with transaction.atomic():
        bundle = validate_bundle(value, known_names(), report)
        plan = ImportPlan() if report.faults else plan_import(bundle)
        is_stale = bool(expected) and not report.faults and plan.fingerprint != expected
        counts = {}
        if not report.faults and not is_stale:
            ids = [entry.assistant_id for entry in bundle.assistants]
            rows = Assistant.objects.filter(assistant_id__in=ids)
            with audited(by or source):
                keep_first_versions(rows)
                counts = _write_bundle(bundle, source if trusts else "")
            for row in rows.all():
                keep_version(row, by=by or source, note=note)
    return _outcome(report, plan=plan, counts=counts, is_stale=is_stale)


def preview_value(value: JsonValue, report: Report) -> ImportOutcome:
    """What ``import_value`` would do now: its plan, faults and warnings. Nothing is written."""
    bundle = validate_bundle(value, known_names(), report)
    return _outcome(report, plan=ImportPlan() if report.faults else plan_import(bundle))


def _outcome(report: Report, **more: object) -> ImportOutcome:
    faults, warnings = tuple(report.faults), tuple(report.warnings)
    return ImportOutcome(faults=faults, warnings=warnings, **more)  # type: ignore[arg-type]


def known_names() -> KnownNames:
    """What the database has, for the references of a bundle."""
    tools: dict[str, set[str]] = {}
    listed = Tool.objects.filter(vanished_at__isnull=True)
    for server_id, tool in listed.values_list("server__server_id", "name"):
        tools.setdefault(server_id, set()).add(tool)
    servers = Server.objects.values_list("server_id", "protocol")
    return KnownNames(
        providers=frozenset(Provider.objects.values_list("provider_id", flat=True)),
        assistants=frozenset(Assistant.objects.values_list("assistant_id", flat=True)),
        groups=frozenset(Group.objects.values_list("name", flat=True)),
        tools={
            server_id: frozenset(tools.get(server_id, ())) if protocol else None
            for server_id, protocol in servers
        },
    )


def _write_bundle(bundle: Bundle, source: str) -> dict[str, dict[str, int]]:
    counts = {
        "providers": Counter(_write_provider(entry) for entry in bundle.providers),
        "servers": Counter(_write_server(entry) for entry in bundle.servers),
    }
    changes = {entry.assistant_id: _write_assistant(entry) for entry in bundle.assistants}
    for entry in bundle.assistants:
        if _link_assistant(entry) and changes[entry.assistant_id] == UNCHANGED:
            changes[entry.assistant_id] = UPDATED
    counts["assistants"] = Counter(changes.values())
    if bundle.global_prompts is not None:
        counts["global prompts"] = Counter(_write_global_prompts(bundle.global_prompts))
    for kind, value in bundle.trusted if source else ():
        TrustedName.objects.get_or_create(kind=kind, value=value, defaults={"source": source[:100]})
    order = (CREATED, UPDATED, UNCHANGED)
    return {kind: {what: count[what] for what in order} for kind, count in counts.items()}


def _write_provider(entry: ProviderEntry) -> str:
    row = Provider.objects.filter(provider_id=entry.provider_id).first()
    change = _save(row, Provider(provider_id=entry.provider_id), entry.fields)
    Provider.forget_failures(entry.provider_id)
    return change


def _write_server(entry: ServerEntry) -> str:
    row = Server.objects.filter(server_id=entry.server_id).first()
    fresh = Server(server_id=entry.server_id)
    change = _save(row, fresh, entry.fields)
    server = row or fresh
    names = ("tool", "position", "name", "description", "input", "output")
    wanted = [tuple(getattr(sample, name) for name in names) for sample in entry.samples]
    stored = list(server.samples.order_by("id").values_list(*names))
    if not _differs(stored, wanted):
        return change
    server.samples.all().delete()
    ToolSample.objects.bulk_create(
        ToolSample(server=server, **dict(zip(names, values, strict=True))) for values in wanted
    )
    return UPDATED if change == UNCHANGED else change


def _write_assistant(entry: AssistantEntry) -> str:
    row = Assistant.objects.filter(assistant_id=entry.assistant_id).first()
    fresh = Assistant(assistant_id=entry.assistant_id, is_system=entry.is_system)
    fields = {**entry.fields, "provider": _provider(entry.provider)}
    if not entry.is_system:
        fields["fallback_provider"] = _provider(entry.fallback_provider)
    return _save(row, fresh, fields)


def _link_assistant(entry: AssistantEntry) -> bool:
    """Set what points to other items, which all exist by now; tells whether anything changed."""
    if entry.is_system:
        return False
    row = Assistant.objects.get(assistant_id=entry.assistant_id)
    other = Assistant.objects.filter(assistant_id=entry.fallback_assistant).first()
    is_changed = row.fallback_assistant != other
    if is_changed:
        row.fallback_assistant = other
        row.save(update_fields=["fallback_assistant"])
    for name, groups in entry.groups.items():
        chosen = getattr(row, name)
        if set(chosen.values_list("name", flat=True)) != set(groups):
            chosen.set(Group.objects.filter(name__in=groups))
            is_changed = True
    wanted = [
        (choice.server_id, position, None if choice.tools is None else list(choice.tools))
        for position, choice in enumerate(entry.servers)
    ]
    stored = row.server_links.values_list("server__server_id", "position", "allowed_tools")
    if list(stored.order_by("position")) == wanted:
        return is_changed
    row.server_links.all().delete()
    servers = {server.server_id: server for server in Server.objects.all()}
    AssistantServer.objects.bulk_create(
        AssistantServer(
            assistant=row, server=servers[server_id], position=position, allowed_tools=tools
        )
        for server_id, position, tools in wanted
    )
    return True


def _write_global_prompts(prompts: tuple[dict[str, object], ...]) -> list[str]:
    wanted = [(prompt["role"], prompt["content"]) for prompt in prompts]
    if list(GlobalPrompt.objects.order_by("position").values_list("role", "content")) == wanted:
        return [UNCHANGED] * len(wanted)
    GlobalPrompt.objects.all().delete()
    GlobalPrompt.objects.bulk_create(
        GlobalPrompt(position=position, role=role, content=content)
        for position, (role, content) in enumerate(wanted)
    )
    return [UPDATED] * len(wanted)


def _provider(provider_id: str) -> Provider | None:
    return Provider.objects.get(provider_id=provider_id) if provider_id else None


def _save(row: models.Model | None, fresh: models.Model, fields: dict[str, object]) -> str:
    """Give a row, or a fresh one, these values and save it if that changes anything."""
    target = row or fresh
    changed = [name for name, value in fields.items() if _differs(getattr(target, name), value)]
    if row is not None and not changed:
        return UNCHANGED
    for name, value in fields.items():
        setattr(target, name, value)
    if row is None:
        target.save(force_insert=True)
        return CREATED
    target.save(update_fields=changed)
    return UPDATED


def _differs(stored: object, wanted: object) -> bool:
    """Whether two values differ as JSON; for Python true equals 1."""
    if isinstance(wanted, (dict, list)):
        return json.dumps(stored, sort_keys=True) != json.dumps(wanted, sort_keys=True)
    return stored != wanted
