"""A plan of an import as values for the page.

Place in the house: ``agents.admin``. Pure but for the list of trusted names.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.bundle.changes import CREATED, UNCHANGED, UPDATED, FieldChange, ImportPlan, ItemChange
from agents.bundle.report import Finding, named_item
from agents.bundle.shapes import ALL_TOOLS, NO_TOOL
from agents.loop.messages import JsonValue
from agents.models import TrustedNameKind
from agents.runs.trust import NamedThing, untrusted
from agents.texts import storable

LONG_CHARS = 90
"""From here on a text stands below its name, line by line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field: short texts side by side, or ``lines`` of ``(tag, text)`` with tag ins, del or
    span.
    """

    path: str
    before: str
    after: str
    is_new: bool
    is_secret: bool
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One item with its state in words."""

    item_id: str
    family: str
    icon: str
    word: str
    fields: tuple[FieldView, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """The items of one kind."""

    title: str
    items: tuple[ItemView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A fault or warning: where (and in which item), and what."""

    pointer: str
    item: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """All of a plan; ``summary`` counts it in one line."""

    groups: tuple[GroupView, ...]
    summary: str
    commands: tuple[tuple[str, str], ...]
    untrusted: tuple[str, ...]
    is_empty: bool


def plan_view(plan: ImportPlan) -> PlanView:
    """The plan in the reader's language."""
    titles = {
        "provider": _("Providers"),
        "server": _("Servers"),
        "assistant": _("Assistants"),
        "global prompts": _("Global prompts"),
    }
    groups = [
        GroupView(title=title, items=tuple(_item(item) for item in plan.items if item.kind == kind))
        for kind, title in titles.items()
    ]
    return PlanView(
        groups=tuple(group for group in groups if group.items),
        summary=_summary(plan.items),
        commands=plan.commands,
        untrusted=tuple(f"{thing.value} ({thing.kind.label})" for thing in unlisted(plan)),
        is_empty=plan.is_empty and not unlisted(plan),
    )


def finding_views(findings: Sequence[Finding], value: JsonValue) -> tuple[FindingView, ...]:
    """Findings about a bundle's value, with the items that their pointers are in. They quote what
    may be half a character."""
    return tuple(
        FindingView(
            pointer=str(storable(finding.pointer or "/")),
            item=str(storable(named_item(value, finding.pointer))),
            message=str(storable(finding.message)),
        )
        for finding in findings
    )


def unlisted(plan: ImportPlan) -> list[NamedThing]:
    """The names of a plan that are not on the list of trusted ones and have to be."""
    things = [NamedThing(kind=TrustedNameKind(kind), value=value) for kind, value in plan.trusted]
    return untrusted(things)


def _summary(items: Sequence[ItemChange]) -> str:
    words = {
        CREATED: _("%(n)d new"),
        UPDATED: _("%(n)d with changes"),
        UNCHANGED: _("%(n)d unchanged"),
    }
    counts = {change: sum(item.change == change for item in items) for change in words}
    parts = [words[change] % {"n": count} for change, count in counts.items() if count]
    return _(", ").join(parts) or _("nothing in it")


def _item(item: ItemChange) -> ItemView:
    family, icon, word = {
        CREATED: ("ok", "plus", _("new")),
        UPDATED: ("wait", "pen", _("changed")),
        UNCHANGED: ("off", "done", _("unchanged")),
    }[item.change]
    return ItemView(
        item_id=item.item_id,
        family=family,
        icon=icon,
        word=word,
        fields=tuple(_field(field) for field in item.fields),
        is_open=item.change == UPDATED,
    )


def _field(field: FieldChange) -> FieldView:
    before, after = (_word(field.path, text) for text in (field.before, field.after))
    texts = [text for text in (before, after) if text is not None]
    is_long = any("\n" in text or len(text) > LONG_CHARS for text in texts)
    return FieldView(
        path=field.path,
        before=_("not set") if before is None else before,
        after=_("not set") if after is None else after,
        is_new=before is None,
        is_secret=field.is_secret,
        lines=tuple(_lines(before or "", after or "")) if is_long else (),
    )


def _word(path: str, text: str | None) -> str | None:
    if path.startswith("mcp/servers/"):
        return {ALL_TOOLS: _("all tools"), NO_TOOL: _("no tool")}.get(text or "", text)
    return text


def _lines(before: str, after: str) -> list[tuple[str, str]]:
    tags = {"+ ": "ins", "- ": "del", "  ": "span"}
    told = difflib.ndiff(before.splitlines(), after.splitlines(), charjunk=None)
    return [(tags[line[:2]], line[2:]) for line in told if line[:2] in tags]
