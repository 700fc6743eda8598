"""The form of an assistant: judged as an entry of a bundle is, with its servers and whitelist.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _

from agents.admin.assistant_texts import HELP, LABELS, LIMITS
from agents.admin.choices import AssistantChoices, LinkChoice, link_choice, read_choices
from agents.admin.fields import ModelLinesField, PromptsField, ReadableJSONField, StartersField
from agents.admin.limit_rows import LimitsField
from agents.admin.reports import add_faults
from agents.admin.trust_form import TrustForm
from agents.bundle.approval_rules import check_approval_servers
from agents.bundle.assistant_entries import HOOKS, read_assistant
from agents.bundle.parsing import check_value
from agents.bundle.reading import ObjectReader
from agents.bundle.report import Report
from agents.loop.errors import HookError
from agents.models import Assistant, OnToolError, Provider, Server
from agents.runs.plans import import_hook, load_hook
from agents.system_assistants import EDITABLE_FIELDS, SYSTEM_PREFIX

HOOK_FIELDS = tuple(f"{name}_hook" for name in HOOKS)
COMPACTION = (
    "compaction_enabled", "compaction_trigger_ratio", "compaction_reserve_tokens",
    "compaction_model", "context_window",
)  # fmt: skip
_NUMBERS = (*LIMITS, "max_turn", *(name for name in COMPACTION[1:] if name != "compaction_model"))
PEOPLE = ("groups", "trace_groups", "approver_groups")
_PLAIN = (
    "name", "description", "model", "fallback_model", "further_models", "starters",
    "disable_global_prompts", "prompts", "prompt_presets", "options", "on_tool_error", "sandbox",
    "tool_limits",
)  # fmt: skip
_POINTERS = {
    "id": "assistant_id",
    **{f"hooks/{name}": f"{name}_hook" for name in HOOKS},
    **{f"limits/{name}": name for name in LIMITS},
    "compaction/enabled": "compaction_enabled",
    "compaction/trigger_ratio": "compaction_trigger_ratio",
    "compaction/reserve_tokens": "compaction_reserve_tokens",
    "compaction/model": "compaction_model",
    "compaction/context_window": "context_window",
}


class AssistantForm(TrustForm):
    """``choices`` are the servers and the policy, stored or posted; ``server_faults`` what is wrong
    with them. A preview imports no hooks.
    """

    is_preview = False

    prompts = PromptsField(label=LABELS["prompts"], help_text=HELP["prompts"])
    prompt_presets = ReadableJSONField(
        kind=dict, empty={}, label=LABELS["prompt_presets"], help_text=HELP["prompt_presets"]
    )
    further_models = ModelLinesField(
        label=LABELS["further_models"], help_text=HELP["further_models"]
    )
    starters = StartersField(label=LABELS["starters"], help_text=HELP["starters"])
    options = ReadableJSONField(
        kind=dict, empty={}, label=LABELS["options"], help_text=HELP["options"]
    )

    tool_limits = LimitsField(label=LABELS["tool_limits"], help_text=HELP["tool_limits"])

    class Meta:
        model = Assistant
        fields: ClassVar = [
            "assistant_id", *_PLAIN, "provider", "fallback_provider", "fallback_assistant",
            "tool_loop", "max_turn", *LIMITS, *HOOK_FIELDS, *COMPACTION, "trace_days", *PEOPLE,
        ]  # fmt: skip
        labels: ClassVar = LABELS
        help_texts: ClassVar = HELP
        widgets: ClassVar = {
            "description": forms.Textarea(attrs={"rows": 2}),
            **dict.fromkeys(PEOPLE, forms.CheckboxSelectMultiple),
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.server_faults: list[str] = []
        self.warnings: list[str] = []
        self._known = self._names(self.instance) if self.instance.pk else []
        for name in _NUMBERS:
            if name in self.fields:
                self._make_limit(name)
        if self.instance.is_system:
            for name in [name for name in self.fields if name not in EDITABLE_FIELDS]:
                del self.fields[name]
        elif "provider" in self.fields:
            kinds = [(kind.value, kind.label) for kind in OnToolError]
            self.fields["on_tool_error"].choices = kinds  # type: ignore[attr-defined]
            self.fields["provider"].required = True
            self.fields["fallback_assistant"].queryset = (  # type: ignore[attr-defined]
                Assistant.objects.exclude(pk=self.instance.pk)
            )
        if self.instance.pk and "assistant_id" in self.fields:
            self.fields["assistant_id"].disabled = True
        self._stored_choices = self._read_stored()
        self.choices = self._read_choices()

    @property
    def has_other_choices(self) -> bool:
        """Whether servers, whitelists or policy are not those that were stored when it was made."""
        return _essence(self.choices) != _essence(self._stored_choices)

    def _make_limit(self, name: str) -> None:
        """An empty limit is its default, which the field shows."""
        field = self.fields[name]
        field.required = False
        default = Assistant._meta.get_field(name).get_default()
        unset = _("unknown") if name == "context_window" else _("no limit")
        shown = unset if default is None else f"{default:g}"
        field.widget.attrs["placeholder"] = shown

    def _read_choices(self) -> AssistantChoices:
        if isinstance(self.data, QueryDict) and "servers_shown" in self.data:
            servers = dict(Server.objects.values_list("pk", "server_id"))
            return read_choices(self.data, servers)
        return self._stored_choices

    def _read_stored(self) -> AssistantChoices:
        links: list[LinkChoice] = []
        if self.instance.pk:
            rows = self.instance.server_links.select_related("server").order_by("position")
            links = [
                link_choice(row.server_id, row.server.server_id, row.allowed_tools) for row in rows
            ]
        return AssistantChoices(links=tuple(links), approval=dict(self.instance.approval))

    def clean(self) -> dict[str, object]:
        """Report what a bundle would not be allowed either, and hooks that cannot be used."""
        cleaned = super().clean() or self.cleaned_data
        for name in _NUMBERS:
            if name in cleaned and cleaned[name] is None:
                cleaned[name] = Assistant._meta.get_field(name).get_default()
        report = Report()
        reader = ObjectReader(self._entry(cleaned), "", report)
        read_assistant(reader)
        if self.instance.is_system:
            report.faults = [f for f in report.faults if f.pointer.startswith("/prompts")]
        add_faults(self, report, _POINTERS)
        self.warnings = [f"{f.pointer.lstrip('/')}: {f.message}" for f in report.warnings]
        self._check_policy()
        if not self.errors:
            self.check_names(self._names_in(cleaned), self._known)
        if not self.errors and not self.is_preview:
            self._check_hooks(cleaned)
            self._check_version()
        return cleaned

    def _entry(self, cleaned: dict[str, object]) -> dict[str, object]:
        """The assistant as a bundle would name it."""
        entry = {name: cleaned[name] for name in _PLAIN if name in cleaned}
        entry["id"] = cleaned.get("assistant_id", self.instance.assistant_id) or ""
        # A missing provider is the field's own fault already.
        provider = cleaned.get("provider")
        entry["provider"] = provider.provider_id if isinstance(provider, Provider) else "-"
        if self.instance.is_system:
            return {key: entry[key] for key in ("id", "provider", "model", "prompts")
                    if key in entry}  # fmt: skip
        for name in PEOPLE:
            entry[name] = [str(group) for group in cleaned.get(name) or ()]
        entry["hooks"] = {name: cleaned.get(f"{name}_hook") or None for name in HOOKS}
        entry["limits"] = {name: cleaned[name] for name in LIMITS if name in cleaned}
        names = (name for name in COMPACTION if name in cleaned)
        entry["compaction"] = {name.removeprefix("compaction_"): cleaned[name] for name in names}
        return entry

    def clean_assistant_id(self) -> str:
        """Ids of the application's own assistants are refused."""
        value = str(self.cleaned_data["assistant_id"])
        if value.startswith(SYSTEM_PREFIX) and not self.instance.pk:
            text = _("Ids that begin with %(prefix)s are the application's own.")
            raise forms.ValidationError(text % {"prefix": SYSTEM_PREFIX})
        return value

    def clean_max_turn(self) -> int | None:
        """A whole number from 1 on."""
        value = self.cleaned_data["max_turn"]
        if value is not None and value < 1:
            raise forms.ValidationError(
                _("Expected a whole number from 1 on, got %(n)d.") % {"n": value}
            )
        return value

    def _check_policy(self) -> None:
        report = Report()
        names = [link.server_id for link in self.choices.links]
        check_approval_servers(dict(self.choices.approval), names, "", report)
        check_value([list(link.ticked) for link in self.choices.links], report)
        check_value(dict(self.choices.approval), report)
        for fault in report.faults:
            self.server_faults.append(f"{fault.pointer.lstrip('/')}: {fault.message}")
        for text in self.server_faults:
            self.add_error(None, text)

    def _check_hooks(self, cleaned: dict[str, object]) -> None:
        """Import each hook, as a run will."""
        for name in HOOK_FIELDS:
            path = str(cleaned.get(name) or "")
            if not path:
                continue
            will_be_trusted = path.rpartition(".")[0] in self.names_to_trust()
            try:
                import_hook(path) if will_be_trusted else load_hook(path)
            except HookError as error:
                self.add_error(name, str(error))

    def _check_version(self) -> None:
        """Let nobody undo by accident what somebody else saved since this page was opened."""
        seen = self.data.get("seen_version")
        if seen is None or not self.instance.pk or seen == str(self.instance.version):
            return
        newest = self.instance.versions.order_by("-number").first()
        text = _("%(who)s saved this assistant after you opened it: see its versions. Nothing of "
                 "yours is stored yet; saving again replaces what was saved.")  # fmt: skip
        self.add_error(None, text % {"who": newest.by if newest and newest.by else _("Somebody")})

    def _names_in(self, cleaned: dict[str, object]) -> list[tuple[str, str]]:
        paths = (str(cleaned.get(name) or "") for name in HOOK_FIELDS)
        return [("module", path.rpartition(".")[0]) for path in paths if path]

    def _names(self, row: Assistant) -> list[tuple[str, str]]:
        return self._names_in({name: getattr(row, name) for name in HOOK_FIELDS})

    def _post_clean(self) -> None:
        super()._post_clean()
        if not self.instance.is_system:
            self.instance.approval = dict(self.choices.approval)


def _essence(choices: AssistantChoices) -> tuple[object, ...]:
    allowed = [(link.key, link.allowed_tools) for link in choices.links]
    links = [(key, None if tools is None else frozenset(tools)) for key, tools in allowed]
    return links, dict(choices.approval)
