"""The audit in the admin: who changed what and who decided on which call, to read and to take away.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.common import ReadOnlyAdmin
from agents.admin.marks import json_block
from agents.models import AuditEntry

COLUMNS = ("at", "who", "kind", "subject", "before", "after", "reason")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@admin.register(AuditEntry)
class AuditAdmin(ReadOnlyAdmin):
    """One line for each change and decision. Nobody adds, changes or deletes one here."""

    list_display = ("at", "who", "what", "subject", "change")
    list_display_links = ("subject",)
    list_filter = ("kind", "at", "who")
    search_fields = ("subject", "who", "reason")
    date_hierarchy = "at"
    fields = ("at", "who", "what", "subject", "was", "became", "reason")
    change_list_template = "admin/agents/audit/change_list.html"

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """The exports before Django's own pages."""
        view = self.admin_site.admin_view(self.export)
        return [path("export.<str:suffix>", view, name="agents_audit_export"), *super().get_urls()]

    def export(self, request: HttpRequest, suffix: str) -> HttpResponse | StreamingHttpResponse:
        """All entries as CSV or JSON Lines, oldest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        makers = {"csv": ("text/csv", _as_csv), "jsonl": ("application/x-ndjson", _as_lines)}
        if suffix not in makers:
            return HttpResponse(_("Expected export.csv or export.jsonl."), status=404)
        content_type, make = makers[suffix]
        rows = AuditEntry.objects.order_by("at", "pk")
        response = StreamingHttpResponse(make(rows), content_type=f"{content_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="toolloop-audit.{suffix}"'
        return response

    @admin.display(description=gettext_lazy("What"), ordering="kind")
    def what(self, row: AuditEntry) -> str:
        """The kind in words."""
        return _(row.get_kind_display())

    @admin.display(description=gettext_lazy("Change"))
    def change(self, row: AuditEntry) -> SafeString | str:
        """What changed, in a few words."""
        if row.kind == "decision":
            is_allowed = isinstance(row.after, dict) and row.after.get("allowed") is True
            return _("allowed") if is_allowed else _("denied")
        if row.before is None:
            return _("new")
        if row.after is None:
            return _("deleted")
        names = ", ".join(_names(row.before, row.after)[:6])
        return format_html("<code>{}</code>", names)

    @admin.display(description=gettext_lazy("Before"))
    def was(self, row: AuditEntry) -> SafeString:
        """What it was."""
        return json_block(row.before)

    @admin.display(description=gettext_lazy("After"))
    def became(self, row: AuditEntry) -> SafeString:
        """What it is since then."""
        return json_block(row.after)


def _names(before: object, after: object) -> list[str]:
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    return [key for key in {**old, **new} if old.get(key) != new.get(key)]


class _Echo:
    """A file that gives back what is written."""

    def write(self, text: str) -> str:
        return text


def _as_csv(rows: QuerySet[AuditEntry]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for row in rows.iterator():
        yield writer.writerow([_cell(value) for value in _values(row).values()])


def _as_lines(rows: QuerySet[AuditEntry]) -> Iterator[str]:
    for row in rows.iterator():
        yield json.dumps(_values(row), ensure_ascii=False) + "\n"


def _values(row: AuditEntry) -> dict[str, object]:
    return {name: getattr(row, name) for name in COLUMNS} | {"at": row.at.isoformat()}


def _cell(value: object) -> str:
    """A value as text that no spreadsheet takes for a formula."""
    text = value if isinstance(value, str) else ""
    if value is not None and not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
