"""What the pages about changed tools show: definitions side by side, marks, likely new names.

Place in the house: ``agents.admin``. What servers wrote is quoted, with hidden characters named.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.marks import json_text
from agents.bundle.audit import note_approved_definition
from agents.models import Assistant, Review, Server, Tool, ToolDefinition
from agents.runs.definition_marks import Mark, definition_marks, likely_renamed
from agents.runs.tool_store import definition_of_row
from agents.texts import show_hidden

PARTS = {
    "name": gettext_lazy("Name"),
    "title": gettext_lazy("Title"),
    "description": gettext_lazy("Description"),
    "input_schema": gettext_lazy("Arguments"),
    "output_schema": gettext_lazy("Structured result"),
    "annotations": gettext_lazy("Says of itself"),
}

MARK_WORDS = {
    "hidden": gettext_lazy("hidden characters"),
    "script": gettext_lazy("name of mixed scripts"),
    "order": gettext_lazy("speaks to the model"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of a difference: ``css`` is ``add``, ``del`` or empty."""

    css: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDiff:
    """One part of a definition that is another one now."""

    title: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkView:
    """Something odd in a definition, in words."""

    word: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One definition that a tool has or had."""

    short: str
    first_seen: datetime
    last_seen: datetime
    is_now: bool
    approved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """A tool's definitions. ``waits``: the newest is not approved; then ``parts`` tell what is
    different from the one that was approved last, and ``effect`` what that means now."""

    waits: bool
    effect: str
    definition_hash: str
    parts: tuple[PartDiff, ...]
    marks: tuple[MarkView, ...]
    versions: tuple[Version, ...]


def review_view(tool: Tool) -> ReviewView:
    """Everything about the definitions of one tool."""
    rows = list(
        ToolDefinition.objects.filter(server=tool.server_id, name=tool.name).order_by("-last_seen")
    )
    now = next((row for row in rows if row.definition_hash == tool.definition_hash), None)
    before = _approved_last(tool)
    waits = now is not None and now.approved_at is None
    return ReviewView(
        waits=waits,
        effect=_effect(tool.server) if waits else "",
        definition_hash=tool.definition_hash,
        parts=tuple(differences(before, now)) if waits and before and now else (),
        marks=tuple(mark_views(definition_marks(now.definition))) if now else (),
        versions=tuple(_version(row, now) for row in rows),
    )


def _approved_last(tool: Tool) -> ToolDefinition | None:
    rows = ToolDefinition.objects.filter(server=tool.server_id, name=tool.name)
    return rows.exclude(approved_at=None).order_by("-approved_at", "-last_seen").first()


def differences(before: ToolDefinition, after: ToolDefinition) -> Iterable[PartDiff]:
    """The parts that differ, line by line."""
    for part, title in PARTS.items():
        old, new = (row.definition.get(part) for row in (before, after))
        if old != new:
            yield PartDiff(title=str(title), lines=tuple(_lines(_shown(old), _shown(new))))


def mark_views(marks: Iterable[Mark]) -> Iterable[MarkView]:
    """Marks in words."""
    for mark in marks:
        where = _("%(part)s: %(words)s") % {"part": PARTS[mark.place], "words": mark.words}
        yield MarkView(word=str(MARK_WORDS[mark.kind]), where=where)


def marks_of(tool: Tool) -> list[MarkView]:
    """What is odd in a tool as it is listed now."""
    return list(mark_views(definition_marks(definition_of_row(tool))))


def waiting_names(server: Server) -> set[str]:
    """The listed tools of a server whose definition nobody has approved."""
    approved = set(
        server.definitions.filter(approved_at__isnull=False).values_list("name", "definition_hash")
    )
    listed = server.tools.filter(vanished_at__isnull=True)
    return {
        name
        for name, digest in listed.values_list("name", "definition_hash")
        if (name, digest) not in approved
    }


def missing_and_waiting(assistant: Assistant) -> tuple[list[str], list[str]]:
    """Of an assistant's tools, as ``server.tool``: ticked ones that no server lists any more, and
    those that would be offered but for a review."""
    gone, waiting = [], []
    for link in assistant.server_links.all():
        server, allowed = link.server, link.allowed_tools
        listed = set(server.tools.filter(vanished_at__isnull=True).values_list("name", flat=True))
        if server.checked_at is not None:
            gone += [f"{server.server_id}.{name}" for name in allowed or () if name not in listed]
        if server.review == Review.BLOCK:
            waiting += [
                f"{server.server_id}.{name}"
                for name in sorted(waiting_names(server))
                if allowed is None or name in allowed
            ]
    return gone, waiting


def approve(tools: Sequence[Tool], user: str) -> list[Tool]:
    """Approve the definitions that these tools have now; those that were not approved before."""
    changed = []
    for tool in tools:
        waiting = ToolDefinition.objects.filter(
            server=tool.server_id,
            name=tool.name,
            definition_hash=tool.definition_hash,
            approved_at__isnull=True,
        )
        before = _approved_last(tool)
        if waiting.update(approved_at=timezone.now(), approved_by=user[:150]):
            changed.append(tool)
            note_approved_definition(
                user,
                subject=f"{tool.server.server_id}.{tool.name}",
                before=before.definition if before is not None else None,
                after=definition_of_row(tool),
            )
    return changed


def new_name(gone: Tool | None, name: str, listed: Sequence[Tool]) -> Tool | None:
    """The listed tool that a vanished one may be now: one that came when the other went."""
    definition = definition_of_row(gone) if gone is not None else {"name": name}
    since = gone.vanished_at if gone is not None else None
    newer = {
        tool.name: tool
        for tool in listed
        if since is None or gone is None or tool.first_seen > gone.first_seen
    }
    found = likely_renamed(
        definition, {name: definition_of_row(tool) for name, tool in newer.items()}
    )
    return newer.get(found)


def _effect(server: Server) -> str:
    if server.review == Review.BLOCK:
        return _("No assistant is offered this tool until the new definition is approved.")
    if server.review == Review.WARN:
        return _("The tool is offered: changed tools of this server only bring a warning.")
    return _("The tool is offered: changed tools of this server are not reviewed.")


def _version(row: ToolDefinition, now: ToolDefinition | None) -> Version:
    approved = ""
    if row.approved_at is not None:
        approved = row.approved_by or _("as it came first")
    return Version(
        short=row.definition_hash[:12],
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        is_now=row == now,
        approved=approved,
    )


def _shown(value: object) -> list[str]:
    text = value if isinstance(value, str) else "" if value is None else json_text(value)
    return show_hidden(text).splitlines()


def _lines(old: list[str], new: list[str]) -> Iterable[DiffLine]:
    """The changed lines with three around them."""
    return diff_lines(list(difflib.unified_diff(old, new, n=3, lineterm=""))[2:])


def diff_lines(lines: Iterable[str]) -> Iterable[DiffLine]:
    """The lines of a unified difference with their classes."""
    css = {"+": "add", "-": "del"}
    for line in lines:
        if line.startswith("@@"):
            yield DiffLine(css="gap", text="…")
        else:
            yield DiffLine(css=css.get(line[:1], ""), text=line)
