"""Conversations, runs, global prompts and trusted names in the admin.

Place in the house: ``agents.admin``. What happened is read only; a conversation can be deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.common import AuditedAdmin, OwningAdmin, ReadOnlyAdmin
from agents.admin.marks import json_block, state
from agents.admin.numbers import NumbersForm
from agents.bundle.assistant_entries import PROMPT_ROLES
from agents.loop.prompt_variables import VARIABLES, unknown_variables
from agents.models import Conversation, GlobalPrompt, Run, RunStatus, TrustedName

_FAMILY = {
    RunStatus.COMPLETED: ("ok", "done"),
    RunStatus.FAILED: ("bad", "error"),
    RunStatus.RUNNING: ("run", "running"),
    RunStatus.QUEUED: ("off", "queued"),
    RunStatus.CANCELLED: ("off", "cancelled"),
    RunStatus.INTERRUPTED: ("off", "interrupted"),
}


@admin.register(Conversation)
class ConversationAdmin(OwningAdmin, ReadOnlyAdmin):
    """Who talked with whom; the words themselves are read in the traces of the runs."""

    list_display = ("__str__", "user", "assistant", "run_count", "updated_at")
    list_filter = ("assistant", "updated_at")
    search_fields = ("title", "id", "user__username")
    list_select_related = ("user", "assistant")
    date_hierarchy = "created_at"
    takes_along = (Run,)
    fields = ("id", "title", "user", "assistant", "is_pinned", "created_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        """With how many runs they have."""
        return super().get_queryset(request).annotate(run_number=Count("runs"))

    def get_deleted_objects(
        self, objs: Sequence[Model], request: HttpRequest
    ) -> tuple[list[object], dict[str, int], set[str], list[object]]:
        """What would go; a run that is going on keeps its conversation."""
        going, counts, missing, protected = super().get_deleted_objects(objs, request)
        running = Run.objects.filter(conversation__in=objs, status=RunStatus.RUNNING)
        return going, counts, missing, [*protected, *(str(run) for run in running)]

    @admin.display(description=gettext_lazy("Runs"), ordering="run_number")
    def run_count(self, row: Conversation) -> SafeString:
        """The number, with a link to the list."""
        url = reverse("admin:agents_run_changelist")
        return format_html(
            '<a href="{}?conversation__id__exact={}">{}</a>', url, row.pk, row.run_number
        )


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """What every run used and how it ended."""

    list_display = (
        "id", "created_at", "assistant", "user", "state", "turns", "tool_calls", "input_tokens",
        "output_tokens",
    )  # fmt: skip
    list_filter = ("status", "stop_reason", "assistant", "created_at")
    search_fields = ("id", "trace_id", "user__username", "error")
    list_select_related = ("user", "assistant")
    date_hierarchy = "created_at"
    fields = (
        "id", "trace_link", "conversation", "parent_run", "assistant", "user", "state", "level",
        "error", "turns", "tool_calls", "input_tokens", "output_tokens", "created_at", "started_at",
        "finished_at", "lease_owner", "lease_until", "version", "snapshot",
    )  # fmt: skip

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A run goes with its conversation."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """The runs of a conversation can be linked to."""
        return lookup == "conversation__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description=gettext_lazy("Status"), ordering="status")
    def state(self, row: Run) -> SafeString:
        """Status and stop reason."""
        family, mark = _FAMILY[RunStatus(row.status)]
        reason = format_html(' <span class="quiet">{}</span>', row.stop_reason)
        return format_html("{}{}", state(family, mark, _(row.get_status_display())), reason)

    @admin.display(description=gettext_lazy("Trace"))
    def trace_link(self, row: Run) -> SafeString | str:
        """The trace's id, with a link where this site shows traces."""
        try:
            url = reverse("trace_of_run", args=[row.pk])
        except NoReverseMatch:
            return row.trace_id
        return format_html('<a href="{}">{}</a>', url, row.trace_id)

    @admin.display(description=gettext_lazy("Version of the assistant"))
    def version(self, row: Run) -> SafeString | str:
        """The version that it used, with a link to its page; ``-`` where none was kept."""
        number = row.configuration.get("version") if isinstance(row.configuration, dict) else None
        if not number or row.assistant_id is None:
            return "-"
        url = reverse("admin:agents_assistant_versions", args=[row.assistant_id])
        return format_html(
            '<a href="{}?before={}&amp;after={}">{}</a>', url, number, number, number
        )

    @admin.display(description=gettext_lazy("Configuration"))
    def snapshot(self, row: Run) -> SafeString:
        """What the run used, without secrets."""
        return json_block(row.configuration)


class GlobalPromptForm(NumbersForm):
    """A prompt for every assistant."""

    role = forms.ChoiceField(
        choices=[(role, role) for role in PROMPT_ROLES], label=gettext_lazy("Role")
    )

    class Meta:
        model = GlobalPrompt
        fields: ClassVar = ["position", "role", "content"]
        labels: ClassVar = {
            "position": gettext_lazy("Position"),
            "content": gettext_lazy("Text"),
        }


@admin.register(GlobalPrompt)
class GlobalPromptAdmin(AuditedAdmin):
    """Prompts that every assistant gets first."""

    form = GlobalPromptForm
    list_display = ("position", "role", "__str__")
    list_display_links = ("__str__",)
    search_fields = ("content",)

    def save_model(self, request: HttpRequest, obj: Model, form: object, change: bool) -> None:
        """Save, and name the variables that nobody knows."""
        super().save_model(request, obj, form, change)
        if unknown := unknown_variables(obj.content):
            text = _("No variable, so it stays as written: %(names)s. Known are %(known)s.")
            names, known = ", ".join(unknown), ", ".join(VARIABLES)
            messages.warning(request, text % {"names": names, "known": known})


@admin.register(TrustedName)
class TrustedNameAdmin(AuditedAdmin):
    """Local hosts, environment variables and modules that forms may name: a superuser's list."""

    list_display = ("value", "kind", "source", "added_at")
    list_filter = ("kind",)
    search_fields = ("value", "source")
    fields = ("kind", "value")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers only."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A name is added or deleted, never changed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Superusers only."""
        return bool(request.user.is_superuser)

    def save_model(self, request: HttpRequest, obj: Model, form: object, change: bool) -> None:
        """Note who added it."""
        obj.source = f"admin: {request.user.get_username()}"[:100]
        super().save_model(request, obj, form, change)
