"""The page of an assistant's versions: what each save changed, two compared, one brought back.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.http import HttpRequest
from django.utils.translation import gettext as _

from agents.admin.tool_reviews import DiffLine, diff_lines
from agents.bundle.versions import changed_fields, difference
from agents.models import Assistant, AssistantVersion

SHOWN_VERSIONS = 100
SHOWN_FIELDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLine:
    """One version: what it changed against the one before."""

    number: int
    at: datetime
    by: str
    note: str
    changes: str
    is_now: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsView:
    """The page. ``before`` and ``after`` are the numbers of the compared versions, 0 for none."""

    lines: tuple[VersionLine, ...]
    before: int
    after: int
    difference: tuple[DiffLine, ...]
    more: int


def versions_view(request: HttpRequest, assistant: Assistant) -> VersionsView:
    """The versions, newest first; the newest two are compared unless the address names others."""
    rows = list(assistant.versions.order_by("-number")[: SHOWN_VERSIONS + 1])
    shown = rows[:SHOWN_VERSIONS]
    older = {row.number: earlier for row, earlier in pairwise(rows)}
    newest = shown[0].number if shown else 0
    after = _chosen(assistant, request.GET.get("after", ""), newest)
    before = _chosen(assistant, request.GET.get("before", ""), newest - 1)
    return VersionsView(
        lines=tuple(_line(row, older.get(row.number), newest) for row in shown),
        before=before.number if before else 0,
        after=after.number if after else 0,
        difference=tuple(diff_lines(difference(before, after))) if before and after else (),
        more=max(0, assistant.versions.count() - len(shown)),
    )


def _chosen(assistant: Assistant, text: str, usual: int) -> AssistantVersion | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else usual
    return assistant.versions.filter(number=number).first()


def _line(row: AssistantVersion, before: AssistantVersion | None, newest: int) -> VersionLine:
    names = changed_fields(before, row) if before is not None else []
    changes = ", ".join(names[:SHOWN_FIELDS])
    if len(names) > SHOWN_FIELDS:
        changes += " " + _("and %(n)d more") % {"n": len(names) - SHOWN_FIELDS}
    note = _("version %(n)s again") % {"n": row.note} if row.note else ""
    return VersionLine(
        number=row.number,
        at=row.at,
        by=row.by,
        note=note,
        changes=changes if before is not None else _("the first one that was kept"),
        is_now=row.number == newest,
    )
