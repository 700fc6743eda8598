"""Tools in the admin: to read, with their samples beside them.

Place in the house: ``agents.admin``. A changed definition is approved here. Samples belong to a
server and a tool's name, so that they outlive a server that is down; a form set of our own joins
them to the tool's row.
"""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.checks import InlineModelAdminChecks
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, Model, OuterRef, QuerySet
from django.forms.models import BaseModelFormSet, modelformset_factory
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.common import AppAdmin
from agents.admin.fields import ReadableJSONField
from agents.admin.marks import annotation_marks, json_block, state
from agents.admin.numbers import NumbersForm
from agents.admin.tool_reviews import approve, marks_of, review_view
from agents.admin.tool_trial import trial_page
from agents.models import Tool, ToolDefinition, ToolSample

_FAR = 1_000_000
"""Where rows wait while they are numbered anew, so that no two share a number."""


class SampleForm(NumbersForm):
    """One sample of a tool's use."""

    input = ReadableJSONField(kind=object, label=gettext_lazy("Input"), rows=3)
    output = ReadableJSONField(kind=object, label=gettext_lazy("Output"), rows=3)

    class Meta:
        model = ToolSample
        fields: ClassVar = ["name", "description", "input", "output", "position"]
        labels: ClassVar = {
            "name": gettext_lazy("Name"),
            "description": gettext_lazy("Description"),
            "position": gettext_lazy("Order"),
        }
        widgets: ClassVar = {"description": forms.Textarea(attrs={"rows": 2})}


class SampleFormSet(BaseModelFormSet):
    """The samples of one tool, in order."""

    def __init__(
        self,
        data: object = None,
        files: object = None,
        instance: Tool | None = None,
        save_as_new: bool = False,
        queryset: QuerySet[ToolSample] | None = None,
        **kwargs: object,
    ) -> None:
        self.instance = instance
        rows = ToolSample.objects.none()
        if instance is not None and instance.pk:
            rows = ToolSample.objects.filter(server=instance.server_id, tool=instance.name)
        super().__init__(data, files, queryset=rows.order_by("position"), **kwargs)

    @classmethod
    def get_default_prefix(cls) -> str:
        """The prefix of the fields."""
        return "samples"

    def save(self, commit: bool = True) -> list[Model]:
        """Store the samples and number them in the order that the numbers say."""
        assert self.instance is not None
        mine = ToolSample.objects.filter(server=self.instance.server_id, tool=self.instance.name)
        mine.update(position=F("position") + _FAR)
        for form in self.forms:
            form.instance.server_id = self.instance.server_id
            form.instance.tool = self.instance.name
        wanted = {id(form.instance): form.instance.position for form in self.forms}
        for number, form in enumerate(self.forms):
            form.instance.position = 2 * _FAR + number
        saved = super().save(commit)
        kept = [form.instance for form in self.forms if form.instance.pk]
        kept.sort(key=lambda row: wanted[id(row)])
        for number, row in enumerate(kept):
            ToolSample.objects.filter(pk=row.pk).update(position=number)
        return list(saved)


class _NoForeignKeyChecks(InlineModelAdminChecks):
    def _check_relation(self, obj: object, parent_model: object) -> list[object]:
        # There is no foreign key to the tool: the form set joins by server and name.
        return []

    def _check_exclude_of_parent_model(self, obj: object, parent_model: object) -> list[object]:
        return []


class SampleInline(admin.StackedInline):
    """The samples on the page of a tool."""

    model = ToolSample
    form = SampleForm
    formset = SampleFormSet
    checks_class = _NoForeignKeyChecks
    extra = 1
    verbose_name = gettext_lazy("sample")
    verbose_name_plural = gettext_lazy("Samples: examples of use that the model sees (the first 3)")

    def get_formset(
        self, request: HttpRequest, obj: Model | None = None, **kwargs: object
    ) -> type[BaseModelFormSet]:
        """The form set's class."""
        return modelformset_factory(
            ToolSample,
            form=self.form,
            formset=self.formset,
            extra=self.get_extra(request, obj),
            can_delete=self.has_delete_permission(request, obj),
        )

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """The fields of a sample."""
        return ["name", "description", "input", "output", "position"]


class ReviewFilter(admin.SimpleListFilter):
    """Tools whose newest definition nobody has approved."""

    title = gettext_lazy("review")
    parameter_name = "review"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, object]]:
        """The one choice."""
        return [("waits", gettext_lazy("waits for review"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Tool]) -> QuerySet[Tool]:
        """The tools of the choice."""
        return queryset.filter(waits=True) if self.value() == "waits" else queryset


@admin.register(Tool)
class ToolAdmin(AppAdmin):
    """What servers listed. Samples are written here, and changed definitions approved."""

    buttons: ClassVar = {"approve": "press_approve"}
    change_form_template = "admin/agents/tool/change_form.html"
    list_display = ("name", "server", "short_description", "badges", "last_seen", "presence")
    list_display_links = ("name",)
    list_filter = ("server", ReviewFilter, ("vanished_at", admin.EmptyFieldListFilter))
    actions = ("approve_chosen",)
    search_fields = ("name", "title", "description", "server__server_id")
    list_select_related = ("server",)
    inlines = (SampleInline,)
    fields = (
        "server_link", "name", "title", "description", "badges", "arguments", "results",
        "definition_hash", "first_seen", "last_seen", "presence",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tool]:
        """With whether their definition waits for a review."""
        approved = ToolDefinition.objects.filter(
            server=OuterRef("server"),
            name=OuterRef("name"),
            definition_hash=OuterRef("definition_hash"),
            approved_at__isnull=False,
        )
        return super().get_queryset(request).annotate(waits=~Exists(approved))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, object], **kwargs: object
    ) -> HttpResponse:
        """The form with what changed and what is odd."""
        row = kwargs.get("obj")
        if isinstance(row, Tool):
            context["review"] = review_view(row)
            context["can_approve"] = self.has_change_permission(request, row)
        return super().render_change_form(request, context, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        """The page to try a tool before Django's own."""
        view = self.admin_site.admin_view(self.show_trial)
        return [path("<int:key>/try/", view, name="agents_tool_try"), *super().get_urls()]

    def show_trial(self, request: HttpRequest, key: int) -> HttpResponse:
        """Call a tool by hand: who may change tools may do it."""
        tool = get_object_or_404(Tool.objects.select_related("server"), pk=key)
        if not self.has_change_permission(request, tool):
            raise PermissionDenied
        page, trial = trial_page(request, tool)
        if trial is not None:
            told = f"tried: {page.arguments}"[:900] + f" -> {trial.reply.outcome.value}"
            self.log_change(request, tool, told)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Try %(server)s / %(tool)s")
            % {"server": tool.server.server_id, "tool": tool.name},
            "tool": tool,
            "page": page,
            "opts": self.opts,
        }
        return render(request, "admin/agents/tool/try.html", context)

    def press_approve(self, request: HttpRequest, row: Tool) -> tuple[bool, str]:
        """Approve the definition that the person has read; not one that came meanwhile."""
        if request.POST.get("hash") != row.definition_hash:
            return False, _("The definition changed again meanwhile: read it and approve then.")
        if not approve([row], request.user.get_username()):
            return True, _("This definition is approved already.")
        return True, _("The definition of %(tool)s is approved.") % {"tool": row.name}

    @admin.action(
        description=gettext_lazy("Approve the definitions of the selected tools"),
        permissions=["change"],
    )
    def approve_chosen(self, request: HttpRequest, rows: QuerySet[Tool]) -> None:
        """Approve all of them as they are now."""
        for tool in approve(list(rows.select_related("server")), request.user.get_username()):
            text = _("The definition of %(tool)s is approved.") % {"tool": tool.name}
            messages.success(request, text)
            self.log_change(request, tool, text)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tools are discovered, not written."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A vanished tool stays: whitelists may name it."""
        return False

    @admin.display(description=gettext_lazy("Server"))
    def server_link(self, row: Tool) -> SafeString:
        """The server with a link."""
        url = reverse("admin:agents_server_change", args=[row.server_id])
        return format_html('<a href="{}">{}</a>', url, row.server.server_id)

    @admin.display(description=gettext_lazy("Description"))
    def short_description(self, row: Tool) -> str:
        """The first words of the description."""
        text = " ".join((row.description or row.title).split())
        return text if len(text) <= 100 else text[:99] + "…"

    @admin.display(description=gettext_lazy("Says of itself"))
    def badges(self, row: Tool) -> SafeString:
        """Read-only, writes, destructive: by the server's own word."""
        marks = annotation_marks(row.annotations)
        marks += [("ann warn", mark.word) for mark in marks_of(row)]
        return format_html_join("", '<span class="{}">{}</span>', marks) or format_html("{}", "-")

    @admin.display(description=gettext_lazy("Arguments (JSON Schema)"))
    def arguments(self, row: Tool) -> SafeString:
        """The input schema as the server sent it."""
        return json_block(row.input_schema)

    @admin.display(description=gettext_lazy("Structured result (JSON Schema)"))
    def results(self, row: Tool) -> SafeString:
        """The output schema as the server sent it."""
        return json_block(row.output_schema)

    @admin.display(description=gettext_lazy("Presence"))
    def presence(self, row: Tool) -> SafeString:
        """Whether the server still lists it, as it was approved."""
        if row.vanished_at is None and row.waits:
            return state("wait", "approval", _("waits for review"))
        if row.vanished_at is None:
            return state("ok", "done", _("listed"))
        return state("bad", "error", _("not listed any more"))


@admin.register(ToolSample)
class ToolSampleAdmin(admin.ModelAdmin):
    """All samples, also those of tools that no server has listed so far."""

    form = SampleForm
    list_display = ("name", "tool", "server", "position")
    list_filter = ("server",)
    search_fields = ("name", "tool")
    fields = ("server", "tool", "name", "description", "input", "output", "position")
    list_select_related = ("server",)
