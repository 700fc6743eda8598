"""Servers in the admin.

Place in the house: ``agents.admin``. A command is a superuser's business: others may look at such a
server, masked, and cannot change or delete it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin import secret_lines
from agents.admin.checks import server_line
from agents.admin.common import AppAdmin, OwningAdmin
from agents.admin.marks import annotation_marks, json_text, server_state, state
from agents.admin.server_form import ServerForm, command_line
from agents.admin.server_log import protocol_words, record_messages, server_log
from agents.admin.tool_reviews import marks_of, waiting_names
from agents.encryption import DecryptionFailed
from agents.loop.catalog import LeftOut
from agents.models import Server, Tool, Transport
from agents.runs.offer_preview import schema_problem
from agents.runs.server_checks import check_servers, refresh_servers, store_checks


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLine:
    """A discovered tool for the page of its server."""

    tool: Tool
    marks: tuple[tuple[str, str], ...]
    schema: str
    left_out: tuple[tuple[str, str], ...] = ()
    """Why the model is not offered it, or one of its name: the reason and its detail."""


@admin.register(Server)
class ServerAdmin(OwningAdmin, AppAdmin):
    """MCP servers and what they were last heard to offer."""

    form = ServerForm
    change_form_template = "admin/agents/server/change_form.html"
    buttons = {"test": "press_test", "refresh": "press_refresh", "record": "press_record"}
    list_display = ("server_id", "transport", "place", "status", "tool_count", "checked_at")
    list_filter = ("transport",)
    search_fields = ("server_id", "command", "module")
    actions = ("refresh_chosen",)
    encrypted = ("env", "headers")
    takes_along = (Tool,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Server]:
        """Servers with how many tools they have now."""
        present = Count("tools", filter=Q(tools__vanished_at__isnull=True))
        return super().get_queryset(request).annotate(present_tools=present)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """What the filters ask for alone: any other lookup would tell whether a masked part of an
        address or argument begins with a text."""
        name = lookup.partition("__")[0]
        return name in self.list_filter and super().lookup_allowed(lookup, value, request)

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """An address may hold a secret: only superusers search in it."""
        return (*self.search_fields, *(("url",) if request.user.is_superuser else ()))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A command may be changed by superusers only."""
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As for changing."""
        return super().has_delete_permission(request, obj) and _may_touch(request, obj)

    def get_fieldsets(
        self, request: HttpRequest, obj: Model | None = None
    ) -> list[tuple[object, dict[str, object]]]:
        """The form in groups; each transport's group is shown where it is chosen."""
        if not self.can_change(request, obj):
            return [(None, {"fields": self.get_readonly_fields(request, obj)})]
        is_superuser = request.user.is_superuser
        command = ["command", "args_lines", "env_lines", "cwd", "confirm_command"]
        groups = [
            (None, {"fields": ["server_id", "transport"]}),
            *([(gettext_lazy("Command"), {"fields": command, "classes": ["for-stdio"]})]
              if is_superuser else []),
            (gettext_lazy("Address"),
             {"fields": ["url", "headers_lines"], "classes": ["for-http", "for-sse"]}),
            (gettext_lazy("Module"), {"fields": ["module"], "classes": ["for-python"]}),
            (gettext_lazy("Limits"),
             {"fields": ["tool_timeout_seconds", "tool_max_seconds", "parallel_calls"]}),
            (gettext_lazy("Changed tools"), {"fields": ["review"]}),
        ]  # fmt: skip
        if is_superuser:
            groups.append((gettext_lazy("Trust"), {"fields": ["trust_names"]}))
        return groups

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """What is read where nothing may be changed: no secret among it."""
        if self.can_change(request, obj):
            return ()
        return (
            "server_id", "transport", "place", "masked_headers", "tool_timeout_seconds",
            "tool_max_seconds", "parallel_calls", "review",
        )  # fmt: skip

    def render_change_form(
        self, request: HttpRequest, context: dict[str, object], **kwargs: object
    ) -> HttpResponse:
        """The form with the server's state and tools."""
        row = kwargs.get("obj")
        if isinstance(row, Server):
            context["server_state"] = server_state(row)
            context["protocol"] = protocol_words(row.protocol)
            context["tool_lines"] = _tool_lines(row)
            context["can_press"] = self.has_change_permission(request, row)
        return super().render_change_form(request, context, **kwargs)

    @admin.display(description=gettext_lazy("Where"))
    def place(self, row: Server) -> str:
        """The command, address or module, without secrets."""
        if row.transport == Transport.STDIO:
            try:
                return command_line(row)
            except DecryptionFailed as error:
                return str(error)
        return row.module if row.transport == Transport.PYTHON else secret_lines.masked_url(row.url)

    @admin.display(description=gettext_lazy("Headers"))
    def masked_headers(self, row: Server) -> SafeString:
        """The headers with their values masked."""
        lines = "\n".join(secret_lines.header_lines(row.headers))
        return format_html('<pre class="data">{}</pre>', lines or "-")

    @admin.display(description=gettext_lazy("Status"))
    def status(self, row: Server) -> SafeString:
        """How it was when it was last asked."""
        mark = server_state(row)
        return format_html(
            '<span title="{}">{}</span>', mark.whole, state(mark.family, mark.icon, mark.word)
        )

    @admin.display(description=gettext_lazy("Tools"), ordering="present_tools")
    def tool_count(self, row: Server) -> int:
        """How many tools it has now."""
        return int(row.present_tools)

    def press_test(self, request: HttpRequest, row: Server) -> tuple[bool, str]:
        """Connect anew, beside the connections that runs use."""
        checks = check_servers([row])
        store_checks(checks)
        return not checks[0].error, server_line(checks[0])

    def press_refresh(self, request: HttpRequest, row: Server) -> tuple[bool, str]:
        """Have the connection of this process list the tools again."""
        [check] = refresh_servers([row])
        return not check.error, server_line(check)

    def press_record(self, request: HttpRequest, row: Server) -> tuple[bool, str]:
        """Keep whole messages for a while, to be read in the log."""
        if not record_messages(row):
            return False, _("This process executes no runs: look at the log of one that does.")
        return True, _("Messages are recorded for ten minutes; the log shows them.")

    def get_urls(self) -> list[URLPattern]:
        """The log before Django's own pages."""
        view = self.admin_site.admin_view(self.show_log)
        return [path("<int:key>/log/", view, name="agents_server_log"), *super().get_urls()]

    def show_log(self, request: HttpRequest, key: int) -> HttpResponse:
        """The past of a server: for those who may change it, since messages hold arguments."""
        row = get_object_or_404(Server.objects.defer(*self.encrypted), pk=key)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": _("Log of %(server)s") % {"server": row.server_id},
            "server": row,
            "log": server_log(row),
            "opts": self.opts,
        }
        return render(request, "admin/agents/server/log.html", context)

    @admin.action(
        description=gettext_lazy("Refresh the tools of the selected servers"),
        permissions=["change"],
    )
    def refresh_chosen(self, request: HttpRequest, rows: QuerySet[Server]) -> None:
        """Ask all of them at the same time."""
        allowed = [row for row in rows if self.has_change_permission(request, row)]
        try:
            checks = refresh_servers(allowed)
        except DecryptionFailed as error:
            messages.error(request, str(error))
            return
        for check in checks:
            level = messages.ERROR if check.error else messages.SUCCESS
            messages.add_message(request, level, server_line(check))
            self.log_change(request, check.server, server_line(check)[:1000])


def _may_touch(request: HttpRequest, obj: Model | None) -> bool:
    is_command = isinstance(obj, Server) and _stored_transport(obj) == Transport.STDIO
    return bool(request.user.is_superuser) or not is_command


def _stored_transport(server: Server) -> str:
    """What the database says: a form may have set another transport on the object already."""
    found = Server.objects.filter(pk=server.pk).values_list("transport", flat=True).first()
    return found or server.transport


def _tool_lines(server: Server) -> list[ToolLine]:
    waiting = waiting_names(server)
    return [
        ToolLine(
            tool=tool,
            marks=(
                *annotation_marks(tool.annotations),
                *(("ann warn", mark.word) for mark in marks_of(tool)),
            ),
            schema=json_text(tool.input_schema),
            left_out=tuple(_left_out(tool, waiting)) if tool.vanished_at is None else (),
        )
        for tool in server.tools.order_by("vanished_at", "position", "name")
    ]


def _left_out(tool: Tool, waiting: set[str]) -> Iterator[tuple[str, str]]:
    if tool.name in waiting:
        yield LeftOut.NEEDS_REVIEW.value, _("its definition changed: open it to see how")
    if problem := schema_problem(tool.input_schema):
        yield LeftOut.INVALID_SCHEMA.value, problem
    if tool.is_listed_twice:
        yield LeftOut.NAME_COLLISION.value, _("the server lists this name twice; the first counts")
