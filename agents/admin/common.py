"""What our admin classes share: forms that know their user, buttons with a route, reading only.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from agents.bundle.audit import audited
from agents.encryption import DecryptionFailed


class AuditedAdmin(admin.ModelAdmin):
    """Whatever is changed on the pages of a model is noted in the audit: from what to what."""

    def changeform_view(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponse:
        """The page of a row; a POST may change it."""
        return self._audited(request, super().changeform_view, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """The page that asks before a row is deleted."""
        return self._audited(request, super().delete_view, *args, **kwargs)

    def changelist_view(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponse:
        """The list; actions change rows."""
        return self._audited(request, super().changelist_view, *args, **kwargs)

    def _audited(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *args: object, **kw: object
    ) -> HttpResponse:
        if request.method != "POST":
            return view(request, *args, **kw)
        with audited(request.user.get_username()):
            return view(request, *args, **kw)


class OwningAdmin(admin.ModelAdmin):
    """Rows that take others along when they are deleted, which nobody deletes by themselves."""

    takes_along: tuple[type[Model], ...] = ()

    def get_deleted_objects(
        self, objs: Sequence[Model], request: HttpRequest
    ) -> tuple[list[object], dict[str, int], set[str], list[object]]:
        """What would go; no right of their own is asked for what is taken along."""
        going, counts, missing, protected = super().get_deleted_objects(objs, request)
        along = {str(model._meta.verbose_name) for model in self.takes_along}
        return going, counts, {name for name in missing if str(name) not in along}, protected


class AppAdmin(AuditedAdmin):
    """A model of ours. The form's class gets ``user``; ``buttons`` are POST routes of a row."""

    buttons: dict[str, str] = {}
    """Route of a button to the name of the method ``(request, row) -> (is_ok, line)`` behind it."""

    encrypted: tuple[str, ...] = ()
    """Columns that are not read for lists: their key may be gone."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        """The rows without what is encrypted; that is read where it is used."""
        return super().get_queryset(request).defer(*self.encrypted)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Model | None:
        """A row. What cannot be decrypted is empty, and the person is told: it can be entered
        again.
        """
        row = super().get_object(request, object_id, from_field)
        for name in self.encrypted if row is not None else ():
            try:
                getattr(row, name)
            except DecryptionFailed as error:
                setattr(row, name, row._meta.get_field(name).get_default())
                text = _("%(error)s Saving this page replaces what is stored.")
                messages.warning(request, text % {"error": error})
        return row

    def changeform_view(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponse:
        """The page; where something else cannot be decrypted, the reason instead."""
        try:
            response = super().changeform_view(request, *args, **kwargs)
            return response.render() if hasattr(response, "render") else response
        except DecryptionFailed as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:index"))

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: object
    ) -> type:
        """The form's class for this person."""
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"user": request.user})

    def get_urls(self) -> list[URLPattern]:
        """The routes of the buttons before Django's own."""
        own = [
            path(
                f"<path:object_id>/{route}/",
                self.admin_site.admin_view(self._button_view(method)),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{route}",
            )
            for route, method in self.buttons.items()
        ]
        return [*own, *super().get_urls()]

    def save_model(self, request: HttpRequest, obj: Model, form: object, change: bool) -> None:
        """Save, and keep the names that the form was allowed to put on the list."""
        super().save_model(request, obj, form, change)
        keep_trust = getattr(form, "keep_trust", None)
        if keep_trust is not None:
            keep_trust()

    def can_change(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whether this person sees a form, or only a page to read."""
        return self.has_change_permission(request, obj) if obj else self.has_add_permission(request)

    def _pressed(self, method: str, request: HttpRequest, row: Model) -> tuple[bool, str]:
        try:
            return getattr(self, method)(request, row)  # type: ignore[no-any-return]
        except DecryptionFailed as error:
            return False, str(error)

    def _button_view(self, method: str) -> Callable[[HttpRequest, str], HttpResponse]:
        def press(request: HttpRequest, object_id: str) -> HttpResponse:
            rows = self.model._default_manager.all()
            row = get_object_or_404(rows.defer(*self.encrypted), pk=_number(object_id))
            if not self.has_change_permission(request, row):
                raise PermissionDenied
            if request.method == "POST":
                is_ok, line = self._pressed(method, request, row)
                messages.add_message(request, messages.SUCCESS if is_ok else messages.ERROR, line)
                self.log_change(request, row, line[:1000])
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return HttpResponseRedirect(reverse(name, args=[row.pk]))

        return press


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that are read here and written elsewhere."""

    def has_add_permission(self, request: HttpRequest, *args: object) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes."""
        return False


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
