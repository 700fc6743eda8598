"""The admin site: its names, its pages beside those of models, and the way in through the site's
own login.

Place in the house: ``agents``; ``agents.admin`` registers what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, reverse
from django.utils.translation import gettext_lazy as _


class ToolloopAdminSite(AdminSite):
    """The admin under ``/admin/``."""

    site_header = _("administration")
    site_title = "Toolloop"
    index_title = _("Administration")
    login_template = "registration/login.html"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._pages: list[URLPattern] = []

    def add_pages(self, pages: Iterable[URLPattern]) -> None:
        """Routes of pages that belong to no model; called while ``agents.admin`` is loaded."""
        self._pages += pages

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Our pages before Django's own: those end with a route that takes everything."""
        return [*self._pages, *super().get_urls()]

    def login(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """The site's own login, and back; a person without access is told so (403)."""
        wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        if not request.user.is_authenticated:
            return redirect_to_login(wanted, reverse("login"))
        if not self.has_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:index"))
