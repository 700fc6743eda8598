"""The form of a provider. A stored key is never shown: an empty field keeps it, a box removes it.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.fields import ReadableJSONField
from agents.admin.price_rows import PricesField
from agents.admin.reports import add_faults
from agents.admin.trust_form import TrustForm, origin_of
from agents.bundle.entries import Bundle, ProviderEntry
from agents.bundle.provider_entries import read_provider
from agents.bundle.reading import ObjectReader
from agents.bundle.report import Report
from agents.bundle.validation import trusted_names
from agents.models import Provider

_COLUMNS = (
    "base_url", "api_key_env", "default_model", "fallback_model", "vision", "timeout_ms",
    "max_retries", "system_first_only", "tool_call_id_pattern", "no_stream_options",
    "no_parallel_calls", "call_fields", "plain_schemas", "prices",
)  # fmt: skip

CALL_FIELDS = gettext_lazy("Fields of calls")


class ProviderForm(TrustForm):
    """Judged as an entry of a bundle is."""

    new_key = forms.CharField(
        required=False,
        max_length=2000,
        label=gettext_lazy("Key"),
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "class": "vTextField"}),
    )
    remove_key = forms.BooleanField(required=False, label=gettext_lazy("Remove the stored key"))
    call_fields = ReadableJSONField(
        kind=dict,
        empty={},
        rows=7,
        label=CALL_FIELDS,
        help_text=gettext_lazy(
            "For providers that refuse calls without fields of theirs, as Gemini 3 refuses calls "
            "that another model made. A JSON object, sent with such calls."
        ),
    )
    prices = PricesField(
        label=gettext_lazy("Prices"),
        help_text=gettext_lazy(
            "For a million tokens. Cached input costs as much as input where nothing stands. Empty "
            "a row to remove it; save for more rows."
        ),
    )

    class Meta:
        model = Provider
        fields: ClassVar = ["provider_id", *_COLUMNS]
        labels: ClassVar = {
            "provider_id": gettext_lazy("Id"),
            "base_url": gettext_lazy("Base URL"),
            "api_key_env": gettext_lazy("Key from variable"),
            "default_model": gettext_lazy("Default model"),
            "fallback_model": gettext_lazy("Fallback model"),
            "vision": gettext_lazy("Takes pictures"),
            "timeout_ms": gettext_lazy("Silence (ms)"),
            "max_retries": gettext_lazy("Retries"),
            "system_first_only": gettext_lazy("One system message, first"),
            "tool_call_id_pattern": gettext_lazy("Pattern of call ids"),
            "no_stream_options": gettext_lazy("Without stream_options"),
            "no_parallel_calls": gettext_lazy("One call at a time"),
            "call_fields": CALL_FIELDS,
            "plain_schemas": gettext_lazy("Plain schemas"),
        }
        help_texts: ClassVar = {
            "provider_id": gettext_lazy("The name in bundles and traces, for example main."),
            "base_url": gettext_lazy(
                "What stands before /chat/completions, for example https://api.openai.com/v1."
            ),
            "api_key_env": gettext_lazy(
                "The name of an environment variable of this application, for example "
                "OPENAI_API_KEY. It comes first; the stored key serves where it is not set."
            ),
            "default_model": gettext_lazy("Asked where an assistant names no model."),
            "fallback_model": gettext_lazy("Asked when the model above does not answer."),
            "vision": gettext_lazy("Send pictures that tools return."),
            "timeout_ms": gettext_lazy("How long the provider may say nothing."),
            "max_retries": gettext_lazy(
                "How often a request is tried again after an overload or a broken connection."
            ),
            "system_first_only": gettext_lazy(
                "For models that refuse system messages behind others: all are joined into one."
            ),
            "tool_call_id_pattern": gettext_lazy(
                "For providers that refuse ids of other forms, for example ^[a-zA-Z0-9]{9}$."
            ),
            "no_stream_options": gettext_lazy(
                "For providers that refuse it. Tokens are estimated then."
            ),
            "no_parallel_calls": gettext_lazy(
                "For models that cannot ask for several tools in one answer: parallel_tool_calls "
                "is sent as false, and calls that come together are sent back one by one."
            ),
            "plain_schemas": gettext_lazy(
                "For providers that refuse keywords of JSON Schema, as Gemini does: tools are "
                "described in the few that all take, and in words."
            ),
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._known = _names_of(self.instance) if self.instance.pk else []
        self._base_url, self._env_name = self.instance.base_url, self.instance.api_key_env
        self._has_key = is_set = has_stored_key(self.instance)
        if "new_key" in self.fields:
            self.fields["new_key"].help_text = (
                _("A key is stored, encrypted. Leave this empty to keep it.")
                if is_set
                else _("Stored encrypted and never shown again. Empty where none is needed.")
            )
        if not is_set:
            self.fields.pop("remove_key", None)

    def clean(self) -> dict[str, object]:
        """Report what a bundle would not be allowed either."""
        cleaned = super().clean() or self.cleaned_data
        report = Report()
        columns = {name: cleaned[name] for name in _COLUMNS if name in cleaned}
        entry = {"id": cleaned.get("provider_id", ""), **columns}
        parsed = read_provider(ObjectReader(entry, "", report))
        add_faults(self, report, {"id": "provider_id"})
        if cleaned.get("new_key") and cleaned.get("remove_key"):
            self.add_error("remove_key", _("Either a new key or none: empty the field above."))
        if not self.errors:
            self.check_names(trusted_names(Bundle(providers=(parsed,))), self._known)
        if not self.errors:
            self._check_where_keys_go(cleaned)
        return cleaned

    def _check_where_keys_go(self, cleaned: dict[str, object]) -> None:
        """A stored key stays with its address; a variable's value goes where a superuser says."""
        has_moved = origin_of(str(cleaned["base_url"])) != origin_of(self._base_url)
        is_kept = self._has_key and not cleaned.get("new_key") and not cleaned.get("remove_key")
        if has_moved and is_kept:
            text = _("The stored key belongs to %(address)s. Write the key again, or remove it.")
            self.add_error("new_key", text % {"address": origin_of(self._base_url)})
        named = cleaned.get("api_key_env")
        if named and (has_moved or named != self._env_name):
            self.check_variables_go([str(named)], "api_key_env")

    def clean_new_key(self) -> str:
        """The key without blanks at its ends."""
        key = str(self.cleaned_data["new_key"]).strip()
        if not (key.isascii() and key.isprintable()):
            raise forms.ValidationError(
                _("Expected the key alone, without line breaks and characters that no key has.")
            )
        return key

    def _post_clean(self) -> None:
        super()._post_clean()
        if self.cleaned_data.get("remove_key"):
            self.instance.api_key = ""
        if self.cleaned_data.get("new_key"):
            self.instance.api_key = self.cleaned_data["new_key"]


def has_stored_key(provider: Provider) -> bool:
    """Whether a key is stored with the provider."""
    return bool(provider.api_key)


def _names_of(provider: Provider) -> list[tuple[str, str]]:
    fields = {"base_url": provider.base_url, "api_key_env": provider.api_key_env}
    entry = ProviderEntry(provider_id=provider.provider_id, fields=fields)
    return list(trusted_names(Bundle(providers=(entry,))))
