"""Assistants in the admin: the form, the servers with their whitelist, the preview beside them.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.admin.assistant_form import AssistantForm
from agents.admin.boxes import servers_view
from agents.admin.choices import AssistantChoices
from agents.admin.common import AppAdmin
from agents.admin.folds import folds
from agents.admin.loop_checks import answer_check, check_loop
from agents.admin.marks import state
from agents.admin.preview import PreviewView, preview_view
from agents.admin.tool_reviews import missing_and_waiting
from agents.admin.versions import versions_view
from agents.bundle.restoring import bring_back
from agents.bundle.versions import keep_first_versions, keep_version
from agents.models import Assistant, AssistantServer, Server
from agents.runs.server_checks import refresh_servers

FORM_TEMPLATE = "admin/agents/assistant/change_form.html"


@admin.register(Assistant)
class AssistantAdmin(AppAdmin):
    """Who answers, with which model, tools and limits."""

    form = AssistantForm
    change_form_template = FORM_TEMPLATE
    list_display = (
        "name", "assistant_id", "provider", "model", "server_names", "attention", "tool_loop",
    )  # fmt: skip
    list_filter = ("provider", "tool_loop", "is_system")
    search_fields = ("name", "assistant_id", "description")
    list_select_related = ("provider",)
    save_as = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assistant]:
        """With their servers."""
        rows = super().get_queryset(request).prefetch_related("server_links__server")
        return rows.annotate(server_number=Count("server_links"))

    def get_fieldsets(
        self, request: HttpRequest, obj: Model | None = None
    ) -> list[tuple[object, dict[str, object]]]:
        """All fields of the form; the template puts them in groups of its own."""
        form = self.form
        names = [*form.Meta.fields]
        if getattr(obj, "is_system", False):
            names = ["provider", "model", "prompts"]
            return [(None, {"fields": names})]
        if not self.can_change(request, obj):
            return [(None, {"fields": [*names, "server_names"]})]
        if request.user.is_superuser:
            names.append("trust_names")
        return [(None, {"fields": names})]

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """``server_names`` is no column."""
        return () if self.can_change(request, obj) else ("server_names",)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """What comes with the application stays."""
        is_system = getattr(obj, "is_system", False)
        return super().has_delete_permission(request, obj) and not is_system

    def get_urls(self) -> list[URLPattern]:
        """The panel's routes before Django's own."""
        view = self.admin_site.admin_view
        return [
            path("preview/", view(self.show_preview), name="agents_assistant_preview"),
            path("ask/", view(self.ask_servers), name="agents_assistant_ask"),
            path("box/", view(self.show_servers), name="agents_assistant_box"),
            path(
                "<int:key>/check-loop/", view(self.check_loop), name="agents_assistant_check_loop"
            ),
            path("<int:key>/versions/", view(self.show_versions), name="agents_assistant_versions"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, object], **kwargs: object
    ) -> HttpResponse:
        """The form in its groups with servers and preview; Django's own page for reading."""
        row = kwargs.get("obj")
        form = context["adminform"].form  # type: ignore[attr-defined]
        can_change = self.can_change(request, row)  # type: ignore[arg-type]
        if can_change:
            context["folds"] = folds(form)
            context["is_system"] = form.instance.is_system
            context["row_id"] = getattr(row, "pk", None) or ""
            context["seen_version"] = getattr(row, "version", 0)
            if not form.instance.is_system:
                context["view"] = servers_view(form.choices)
                context["preview"] = _preview(form.instance, form.choices)
            context["last_saved"] = _last_saved(row)
        response = super().render_change_form(request, context, **kwargs)
        if not can_change:
            response.template_name = "admin/change_form.html"
        return response

    def save_model(self, request: HttpRequest, obj: Model, form: object, change: bool) -> None:
        """Save; what was stored before is kept as a version."""
        keep_first_versions(Assistant.objects.filter(pk=obj.pk))
        super().save_model(request, obj, form, change)

    def save_related(
        self, request: HttpRequest, form: AssistantForm, formsets: object, change: bool
    ) -> None:
        """Store the servers in order with their whitelists."""
        super().save_related(request, form, formsets, change)
        if not form.instance.is_system and "servers_shown" in request.POST:
            _store_links(form.instance, form.choices)
        keep_version(form.instance, by=request.user.get_username())
        for text in form.warnings:
            messages.warning(request, text)

    def construct_change_message(
        self, request: HttpRequest, form: AssistantForm, formsets: object, add: bool = False
    ) -> object:
        """Django's message, with servers and policy where they changed."""
        parts = super().construct_change_message(request, form, formsets, add)
        if isinstance(parts, list) and form.has_other_choices and not add:
            parts.append({"changed": {"fields": ["servers and tools"]}})
        return parts

    @admin.display(description=gettext_lazy("Servers"), ordering="server_number")
    def server_names(self, row: Assistant) -> str:
        """The servers in order, with how many tools of each are allowed."""
        links = sorted(row.server_links.all(), key=lambda link: link.position)
        return ", ".join(_link_words(link) for link in links) or "-"

    def show_versions(self, request: HttpRequest, key: int) -> HttpResponse:
        """The versions of an assistant; a POST brings one back."""
        row = get_object_or_404(Assistant, pk=key)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if request.method == "POST":
            return self._bring_back(request, row)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Versions of %(assistant)s") % {"assistant": row},
            "assistant": row,
            "view": versions_view(request, row),
            "can_change": self.has_change_permission(request, row),
            "opts": self.opts,
        }
        return render(request, "admin/agents/assistant/versions.html", context)

    def check_loop(self, request: HttpRequest, key: int) -> HttpResponse:
        """The three checks of an assistant's loop, asked now: for those who may change it."""
        row = get_object_or_404(Assistant, pk=key, is_system=False)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:agents_assistant_change", args=[row.pk]))
        view = check_loop(request, row)
        page = {"title": _("Check of the loop"), "opts": self.opts}
        return answer_check(request, row, view, {**self.admin_site.each_context(request), **page})

    def _bring_back(self, request: HttpRequest, row: Assistant) -> HttpResponse:
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        number = request.POST.get("number", "")
        number = number if number.isascii() and number.isdigit() and len(number) < 10 else "0"
        version = get_object_or_404(row.versions, number=int(number))
        outcome = bring_back(version, by=request.user.get_username())
        for fault in outcome.faults:
            messages.error(request, str(fault))
        if not outcome.faults:
            text = _("Version %(n)d is in force again.") % {"n": version.number}
            messages.success(request, text)
            self.log_change(request, row, text)
        address = reverse("admin:agents_assistant_versions", args=[row.pk])
        return HttpResponseRedirect(address)

    @admin.display(description=gettext_lazy("To look at"))
    def attention(self, row: Assistant) -> SafeString:
        """Ticked tools that are gone, and changed ones that wait for a review."""
        gone, waiting = missing_and_waiting(row)
        parts = []
        if gone:
            text = ngettext("%(n)d ticked tool is gone", "%(n)d ticked tools are gone", len(gone))
            parts.append((", ".join(gone), state("bad", "error", text % {"n": len(gone)})))
        if waiting:
            text = ngettext("%(n)d waits for review", "%(n)d wait for review", len(waiting))
            mark = state("wait", "approval", text % {"n": len(waiting)})
            parts.append((", ".join(waiting), mark))
        return format_html_join(" ", '<span title="{}">{}</span>', parts) or format_html("{}", "-")

    def show_preview(self, request: HttpRequest) -> HttpResponse:
        """The panel for what is in the form now."""
        form = self._posted_form(request)
        if not isinstance(form, AssistantForm):
            return form
        return render(request, "admin/agents/assistant/_preview.html", self._panel(form))

    def ask_servers(self, request: HttpRequest) -> HttpResponse:
        """Ask the servers of the form (or the one named ``only``) again; the page fetches boxes and
        panel then.
        """
        form = self._posted_form(request)
        if not isinstance(form, AssistantForm):
            return form
        only = request.GET.get("only", "")
        wanted = [link.key for link in form.choices.links if only in ("", str(link.key))]
        refresh_servers(list(Server.objects.filter(pk__in=wanted)))
        return HttpResponse(status=204)

    def show_servers(self, request: HttpRequest) -> HttpResponse:
        """The boxes and the panel for what is in the form now, with the server to add."""
        form = self._posted_form(request)
        if not isinstance(form, AssistantForm):
            return form
        context = self._panel(form) | {"view": servers_view(form.choices), "oob": True}
        return render(request, "admin/agents/assistant/_asked.html", context)

    def _posted_form(self, request: HttpRequest) -> AssistantForm | HttpResponse:
        """The form as it is now, unsaved; an answer where this may not be."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        key = request.GET.get("id", "")
        row = None
        if key.isascii() and key.isdigit():
            row = get_object_or_404(Assistant, pk=int(key[:18]))
        if not self.can_change(request, row):
            raise PermissionDenied
        form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
        form.is_preview = True
        form.is_valid()
        return form  # type: ignore[no-any-return]

    def _panel(self, form: AssistantForm) -> dict[str, object]:
        told: list[str] = []
        faulty = [str(form.fields[name].label) for name in form.errors if name in form.fields]
        if faulty:
            text = _("Not usable yet, so the saved value stands here: %(fields)s.")
            told.append(text % {"fields": ", ".join(faulty)})
        return {
            "preview": _preview(form.instance, form.choices, told),
            "row_id": form.instance.pk or "",
        }


def _preview(
    assistant: Assistant, choices: AssistantChoices, notes: list[str] | None = None
) -> PreviewView:
    return preview_view(assistant, _links(assistant, choices), notes=notes or [])


def _links(assistant: Assistant, choices: AssistantChoices) -> list[AssistantServer]:
    """The links that these choices mean, not stored."""
    keys = [link.key for link in choices.links]
    rows = Server.objects.filter(pk__in=keys).prefetch_related("tools", "samples").in_bulk()
    return [
        AssistantServer(server=rows[link.key], position=position, allowed_tools=link.allowed_tools)
        for position, link in enumerate(choices.links)
        if link.key in rows
    ]


def _store_links(assistant: Assistant, choices: AssistantChoices) -> None:
    keys = [link.key for link in choices.links]
    assistant.server_links.exclude(server_id__in=keys).delete()
    stored = dict(assistant.server_links.values_list("server_id", "allowed_tools"))
    for position, link in enumerate(choices.links):
        allowed, former = link.allowed_tools, stored.get(link.key)
        if allowed is not None and former is not None and set(allowed) == set(former):
            # The same tools: the page shows them in the server's order, which changes nothing.
            allowed = former
        AssistantServer.objects.update_or_create(
            assistant=assistant,
            server_id=link.key,
            defaults={"position": position, "allowed_tools": allowed},
        )


def _link_words(link: AssistantServer) -> str:
    if link.allowed_tools is None:
        return _("%(server)s (all)") % {"server": link.server.server_id}
    return f"{link.server.server_id} ({len(link.allowed_tools)})"


def _last_saved(row: object) -> LogEntry | None:
    if not isinstance(row, Assistant) or not row.pk:
        return None
    kind = get_content_type_for_model(row)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(row.pk))
    return entries.select_related("user").order_by("-action_time").first()
