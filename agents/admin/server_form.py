"""The form of a server: only the fields of its transport count.

Place in the house: ``agents.admin``. Secrets come back masked and are kept so; a command is shown
in full and has to be confirmed.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import ClassVar

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin import secret_lines
from agents.admin.reports import add_faults
from agents.admin.trust_form import TrustForm, origin_of
from agents.bundle.entries import Bundle, ServerEntry
from agents.bundle.reading import ENV_REFERENCE, ObjectReader
from agents.bundle.report import Report
from agents.bundle.server_entries import FIELDS_OF_TRANSPORT, TRANSPORT_FIELDS, read_server
from agents.bundle.validation import trusted_names
from agents.models import Server, Transport

_LIMITS = ("tool_timeout_seconds", "tool_max_seconds", "parallel_calls")
_FIELD_OF = {"args": "args_lines", "env": "env_lines", "headers": "headers_lines"}
_EMPTY: dict[str, object] = {"args": [], "env": {}, "headers": {}}


def _lines(label: object, help_text: object, rows: int = 3) -> forms.CharField:
    attrs = {"rows": rows, "class": "mono", "spellcheck": "false", "autocomplete": "off"}
    return forms.CharField(
        required=False,
        strip=False,
        label=label,
        help_text=help_text,
        widget=forms.Textarea(attrs=attrs),
    )


class ServerForm(TrustForm):
    """Judged as an entry of a bundle is."""

    args_lines = _lines(
        gettext_lazy("Arguments"), gettext_lazy("One a line; $ENV.NAME stands for a variable.")
    )
    env_lines = _lines(
        gettext_lazy("Environment"),
        gettext_lazy(
            "NAME=value, one a line; $ENV.NAME stands for a variable of this application. Stored "
            "encrypted; secrets are shown as dots, and dots keep what is stored."
        ),
    )
    headers_lines = _lines(
        gettext_lazy("Headers"),
        gettext_lazy(
            "NAME=value, one a line, for example Authorization=Bearer $ENV.DOCS_TOKEN. Stored "
            "encrypted; values are shown as dots, and dots keep what is stored."
        ),
    )
    confirm_command = forms.BooleanField(
        required=False,
        label=gettext_lazy("I have read the command"),
        help_text=gettext_lazy("It runs on this machine with the rights of this application."),
    )

    class Meta:
        model = Server
        fields: ClassVar = [
            "server_id", "transport", "command", "cwd", "url", "module", *_LIMITS, "review",
        ]  # fmt: skip
        labels: ClassVar = {
            "server_id": gettext_lazy("Id"),
            "transport": gettext_lazy("Transport"),
            "command": gettext_lazy("Command"),
            "cwd": gettext_lazy("Working directory"),
            "url": gettext_lazy("URL"),
            "module": gettext_lazy("Python module"),
            "tool_timeout_seconds": gettext_lazy("Silence of a tool (s)"),
            "tool_max_seconds": gettext_lazy("Longest call (s)"),
            "parallel_calls": gettext_lazy("Calls at the same time"),
            "review": gettext_lazy("When a tool's definition changes"),
        }
        help_texts: ClassVar = {
            "server_id": gettext_lazy(
                "Letters, digits, hyphens and dots, for example github.enterprise. The model sees "
                "it in front of each tool, and rules begin with it: it stays as it is."
            ),
            "command": gettext_lazy("A program such as npx, uvx or a path; no shell is used."),
            "cwd": gettext_lazy("Empty: the application's own."),
            "url": gettext_lazy("The MCP endpoint, for example https://mcp.example.org/mcp."),
            "module": gettext_lazy("Dotted path of a module whose functions are tools."),
            "tool_timeout_seconds": gettext_lazy("Empty: the assistant's limit (30 by default)."),
            "tool_max_seconds": gettext_lazy("Empty: the assistant's limit (120 by default)."),
            "parallel_calls": gettext_lazy("Empty: the assistant's limit (8 by default)."),
            "review": gettext_lazy(
                "Name, description, schema and annotations are what somebody agreed to. Block: the "
                "tool is not offered until somebody approves what is new. Warn: it is offered, and "
                "marked here."
            ),
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        row = self.instance
        self._stored = {name: getattr(row, name) for name in TRANSPORT_FIELDS}
        self._known = _names_of(row) if row.pk else []
        self._shown_url = secret_lines.masked_url(row.url)
        self.initial |= {
            "args_lines": "\n".join(secret_lines.argument_lines(row.args)),
            "env_lines": "\n".join(secret_lines.variable_lines(row.env)),
            "headers_lines": "\n".join(secret_lines.header_lines(row.headers)),
            "url": self._shown_url,
        }
        if row.pk and "server_id" in self.fields:
            # Rules and limits of assistants name the server: under another id they would be void.
            self.fields["server_id"].disabled = True
        is_superuser = self.user is None or getattr(self.user, "is_superuser", False)
        may_run = is_superuser and (settings.TOOLLOOP_ALLOW_STDIO or row.transport == "stdio")
        kinds = [kind for kind in Transport if may_run or kind != Transport.STDIO]
        if "transport" in self.fields:
            choices = [("", "---------"), *((kind.value, kind.label) for kind in kinds)]
            self.fields["transport"].choices = choices  # type: ignore[attr-defined]
        if not is_superuser:
            for name in ("command", "args_lines", "env_lines", "cwd", "confirm_command"):
                self.fields.pop(name, None)

    def clean(self) -> dict[str, object]:
        """Report what a bundle would not be allowed either; set the transport's own fields."""
        cleaned = super().clean() or self.cleaned_data
        report = Report()
        entry = self._entry(cleaned)
        parsed = read_server(ObjectReader(entry, "", report))
        add_faults(self, report, _FIELD_OF)
        self._check_twin(str(cleaned.get("server_id", "")))
        if not self.errors:
            for name in TRANSPORT_FIELDS:
                setattr(self.instance, name, parsed.fields[name])
                if name in cleaned:
                    cleaned[name] = parsed.fields[name]
            self._check_command(cleaned)
            self.check_names(trusted_names(Bundle(servers=(parsed,))), self._known)
            self._check_where_secrets_go(cleaned)
        self.warnings = [finding.message for finding in report.warnings]
        return cleaned

    def _check_where_secrets_go(self, cleaned: dict[str, object]) -> None:
        """Stored headers stay with their address; variables' values go where a superuser says."""
        if cleaned.get("transport") not in (Transport.HTTP, Transport.SSE):
            return
        old, new = str(self._stored["url"]), str(self.instance.url)
        has_moved = origin_of(old) != origin_of(new)
        if has_moved and secret_lines.MASK in str(cleaned.get("headers_lines") or ""):
            text = _("The stored values belong to %(address)s. Write them again for the new one.")
            self.add_error("headers_lines", text % {"address": origin_of(old)})
        named = _variables([new, *self.instance.headers.values()])
        stored = _variables([old, *dict(self._stored["headers"]).values()])
        if wanted := sorted(named if has_moved else named - stored):
            self.check_variables_go(wanted, "headers_lines")

    def _entry(self, cleaned: dict[str, object]) -> dict[str, object]:
        """The server as a bundle would name it, with only the fields of its transport."""
        entry = {name: cleaned[name] for name in ("server_id", "transport") if name in cleaned}
        entry |= {name: cleaned[name] for name in _LIMITS if cleaned.get(name) is not None}
        for name in FIELDS_OF_TRANSPORT.get(str(entry.get("transport")), ()):
            if name in _FIELD_OF:
                entry[name] = self._read_lines(name, str(cleaned.get(_FIELD_OF[name]) or ""))
            else:
                value = cleaned.get(name) or ""
                is_kept = name == "url" and value == self._shown_url and value
                entry[name] = self._stored["url"] if is_kept else value
        return entry

    def _read_lines(self, name: str, text: str) -> object:
        read: Callable[..., object] = (
            secret_lines.read_arguments if name == "args" else secret_lines.read_pairs
        )
        try:
            return read(text, self._stored[name])
        except secret_lines.LineProblem as problem:
            self.add_error(_FIELD_OF[name], str(problem))
            return _EMPTY[name]

    def _check_twin(self, server_id: str) -> None:
        twins = Server.objects.filter(server_id__iexact=server_id).exclude(pk=self.instance.pk)
        twin = twins.first() if server_id else None
        if twin is not None and "server_id" not in self.errors:
            text = _("There is a server %(id)s already: ids are unique without regard to case.")
            self.add_error("server_id", text % {"id": twin.server_id})

    def _check_command(self, cleaned: dict[str, object]) -> None:
        if cleaned.get("transport") != Transport.STDIO:
            return
        names = FIELDS_OF_TRANSPORT[Transport.STDIO]
        is_same = all(getattr(self.instance, name) == self._stored[name] for name in names)
        if not (is_same and self.instance.pk) and not cleaned.get("confirm_command"):
            text = _("This will run: %(command)s  Read it, then tick this box.")
            self.add_error("confirm_command", text % {"command": command_line(self.instance)})


def _variables(values: Iterable[object]) -> set[str]:
    """The variables that values name."""
    return {name for value in values for name in ENV_REFERENCE.findall(str(value))}


def command_line(server: Server) -> str:
    """The command of a server as a shell would be given it, secrets masked."""
    variables = secret_lines.variable_lines(server.env)
    words = [server.command, *secret_lines.argument_lines(server.args)]
    line = " ".join([*variables, *(shlex.quote(word) for word in words)])
    return f"cd {shlex.quote(server.cwd)} && {line}" if server.cwd else line


def _names_of(server: Server) -> list[tuple[str, str]]:
    fields = {name: getattr(server, name) for name in TRANSPORT_FIELDS}
    entry = ServerEntry(server_id=server.server_id, fields=fields)
    return list(trusted_names(Bundle(servers=(entry,))))
