"""Users and groups in the admin: who is in which group decides who chats, reads and approves.

Place in the house: ``agents.admin``. Changes are noted in the audit. Only superusers make others
superusers or touch their accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from agents.admin.common import OwningAdmin
from agents.loop.messages import JsonObject, JsonValue
from agents.models import Assistant, AuditEntry, AuditKind, Run, RunStatus


class _NotedAdmin(OwningAdmin):
    """Notes which of ``noted`` were changed, from what to what, and what was added or deleted."""

    noted: tuple[str, ...] = ()

    def save_related(
        self, request: HttpRequest, form: forms.ModelForm, formsets: object, change: bool
    ) -> None:
        """Save, and note what the form changed."""
        super().save_related(request, form, formsets, change)
        names = [name for name in self.noted if name in form.changed_data]
        before = {name: _plain(form.initial.get(name)) for name in names}
        after = {name: _plain(form.cleaned_data[name]) for name in names}
        if names or not change:
            self._note(request, form.instance, before if change else None, after)

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """Delete, and note what was there."""
        self._note_deleted(request, [obj])
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> None:
        """Delete all of them, and note what was there."""
        self._note_deleted(request, queryset)
        super().delete_queryset(request, queryset)

    def _note_deleted(self, request: HttpRequest, rows: Iterable[Model]) -> None:
        for row in rows:
            before = {name: _plain(_value(row, name)) for name in self.noted}
            self._note(request, row, before, None)

    def _note(
        self, request: HttpRequest, row: Model, before: JsonObject | None, after: JsonObject | None
    ) -> None:
        AuditEntry.objects.create(
            who=request.user.get_username()[:150],
            kind=AuditKind.PEOPLE,
            subject=f"{self.opts.model_name}: {row}"[:300],
            before=before,
            after=after,
        )


class PersonAdmin(_NotedAdmin, UserAdmin):
    """Who can log in, and what they may do."""

    noted = ("username", "is_active", "is_staff", "is_superuser", "groups", "user_permissions")
    takes_along = (Run,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A superuser's account is a superuser's business: its password gives all rights."""
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As for changing."""
        return super().has_delete_permission(request, obj) and _may_touch(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Only superusers make superusers."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, "is_superuser")

    def get_deleted_objects(
        self, objs: Sequence[Model], request: HttpRequest
    ) -> tuple[list[object], dict[str, int], set[str], list[object]]:
        """What would go; a run that is going on keeps its person."""
        going, counts, missing, protected = super().get_deleted_objects(objs, request)
        running = Run.objects.filter(user__in=objs, status=RunStatus.RUNNING)
        return going, counts, missing, [*protected, *(str(run) for run in running)]


class PeopleAdmin(_NotedAdmin, GroupAdmin):
    """Groups of people."""

    noted = ("name", "permissions")

    def get_deleted_objects(
        self, objs: Sequence[Model], request: HttpRequest
    ) -> tuple[list[object], dict[str, int], set[str], list[object]]:
        """What would go; a group that an assistant names stays: without its groups everybody could
        chat with it, and each person would decide on their own calls."""
        going, counts, missing, protected = super().get_deleted_objects(objs, request)
        named = Assistant.objects.filter(Q(groups__in=objs) | Q(approver_groups__in=objs))
        told = [_("assistant %(name)s") % {"name": row} for row in named.distinct()]
        return going, counts, missing, [*protected, *told]


def _may_touch(request: HttpRequest, obj: Model | None) -> bool:
    return bool(request.user.is_superuser) or not getattr(obj, "is_superuser", False)


def _value(row: Model, name: str) -> object:
    value = getattr(row, name)
    return value.all() if hasattr(value, "all") else value


def _plain(value: object) -> JsonValue:
    """A field's value for the audit; rows by their names."""
    if isinstance(value, str | bool) or value is None:
        return value
    return sorted(str(row) for row in value)  # type: ignore[attr-defined]


for model, owner in ((User, PersonAdmin), (Group, PeopleAdmin)):
    admin.site.unregister(model)
    admin.site.register(model, owner)
