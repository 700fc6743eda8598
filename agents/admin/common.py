"""What our admin classes share: forms that know their user, buttons with a route, reading only.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse


class AppAdmin(admin.ModelAdmin):
    """A model of ours. The form's class gets ``user``; ``buttons`` are POST routes of a row."""

    buttons: dict[str, str] = {}
    """Route of a button to the name of the method ``(request, row) -> (is_ok, line)`` behind it."""

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

    def _button_view(self, method: str) -> Callable[[HttpRequest, str], HttpResponse]:
        def press(request: HttpRequest, object_id: str) -> HttpResponse:
            row = get_object_or_404(self.get_queryset(request), pk=_number(object_id))
            if not self.has_change_permission(request, row):
                raise PermissionDenied
            if request.method == "POST":
                is_ok, line = getattr(self, method)(request, row)
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
