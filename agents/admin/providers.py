"""Providers in the admin.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

import os

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.checks import examine_provider, found_words, probe_provider
from agents.admin.common import AppAdmin
from agents.admin.marks import state
from agents.admin.price_rows import price_lines
from agents.admin.provider_form import ProviderForm
from agents.bundle.audit import audited
from agents.models import Provider
from agents.runs.provider_health import note_success, standing_words

QUIRKS = (
    "system_first_only", "tool_call_id_pattern", "no_stream_options", "no_parallel_calls",
    "call_fields", "plain_schemas",
)  # fmt: skip
FOUND = "provider-quirks-"
"""Key in the session for what a test of a provider found, followed by the provider's key."""


@admin.register(Provider)
class ProviderAdmin(AppAdmin):
    """Where models answer."""

    form = ProviderForm
    change_form_template = "admin/agents/provider/change_form.html"
    buttons = {
        "test": "press_test", "quirk": "press_quirk", "model": "press_model",
        "again": "press_again",
    }  # fmt: skip
    encrypted = ("api_key",)
    list_display = (
        "provider_id", "base_url", "key_state", "default_model", "fallback_model", "standing",
    )  # fmt: skip
    search_fields = ("provider_id", "base_url", "default_model")
    actions = ("test_chosen",)
    readable = (
        "provider_id", "base_url", "api_key_env", "key_state", "default_model", "fallback_model",
        "vision", "timeout_ms", "max_retries", *QUIRKS, "priced",
    )  # fmt: skip

    def get_fieldsets(
        self, request: HttpRequest, obj: Model | None = None
    ) -> list[tuple[object, dict[str, object]]]:
        """The form in groups; for reading, everything but the key."""
        if not self.can_change(request, obj):
            return [(None, {"fields": self.readable})]
        key = ["api_key_env", "new_key"]
        if obj is not None and obj.api_key:
            key.append("remove_key")
        trust = ["trust_names"] if request.user.is_superuser else []
        return [
            (None, {"fields": ["provider_id", "base_url"]}),
            (gettext_lazy("Key"), {"fields": key}),
            (gettext_lazy("Models"), {"fields": ["default_model", "fallback_model", "vision"]}),
            (gettext_lazy("Time and retries"), {"fields": ["timeout_ms", "max_retries"]}),
            (
                gettext_lazy("Quirks"),
                {"fields": list(QUIRKS)},
            ),
            (gettext_lazy("Prices and trust"), {"fields": ["prices", *trust]}),
        ]

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """``key_state`` and ``priced`` are no columns."""
        return ("key_state", "priced") if not self.can_change(request, obj) else ()

    @admin.display(description=gettext_lazy("Key"))
    def key_state(self, row: Provider) -> SafeString:
        """Whether there is a key, and from where; never the key."""
        if row.api_key_env and os.environ.get(row.api_key_env):
            return state("ok", "done", row.api_key_env)
        # Emptiness can be asked of the database, without the key that decrypts.
        if Provider.objects.filter(pk=row.pk).exclude(api_key="").exists():
            return state("ok", "done", _("stored"))
        if row.api_key_env:
            text = format_html(_("{} is not set"), row.api_key_env)
            return state("bad", "error", text)
        return state("off", "skipped", _("none"))

    @admin.display(description=gettext_lazy("Prices"))
    def priced(self, row: Provider) -> SafeString:
        """The prices for reading, a line for each model."""
        return format_html_join("", "{}<br>", ((line,) for line in price_lines(row.prices)))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, object], **kwargs: object
    ) -> HttpResponse:
        """The form with what the last test found."""
        row = kwargs.get("obj")
        if isinstance(row, Provider):
            context["found"] = _found(request, row)
            context["standing"] = standing_words(row)
            context["quirk_words"] = found_words(row, context["found"])
        return super().render_change_form(request, context, **kwargs)

    @admin.display(description=gettext_lazy("standing"))
    def standing(self, row: Provider) -> str:
        """Whether it rests after failures, or is barred."""
        return standing_words(row) or _("answers")

    def save_model(self, request: HttpRequest, row: Provider, form: object, change: bool) -> None:
        """A provider that was saved is asked again."""
        super().save_model(request, row, form, change)
        note_success(row.provider_id)

    def press_again(self, request: HttpRequest, row: Provider) -> tuple[bool, str]:
        """Forget the provider's failures."""
        note_success(row.provider_id)
        return True, _("It is asked again from now on.")

    def press_test(self, request: HttpRequest, row: Provider) -> tuple[bool, str]:
        """Ask the provider, with a tool as well, and look for its quirks; they are offered."""
        is_ok, line, found = examine_provider(row)
        request.session[f"{FOUND}{row.pk}"] = found
        return is_ok, line

    def press_quirk(self, request: HttpRequest, row: Provider) -> tuple[bool, str]:
        """Set what the last test found."""
        name = request.POST.get("name", "")
        found = _found(request, row)
        quirks = found.get("quirks") or {}
        if name not in QUIRKS or name not in quirks:
            return False, _("Test the provider first: only what a test found can be set here.")
        with audited(request.user.get_username()):
            setattr(row, name, quirks[name])
            row.save(update_fields=[name])
        return True, _("%(name)s is set.") % {"name": ProviderForm.Meta.labels[name]}

    def press_model(self, request: HttpRequest, row: Provider) -> tuple[bool, str]:
        """Make a model that the provider lists the default one."""
        name = request.POST.get("name", "")
        found = _found(request, row)
        if name not in (found.get("models") or ()):
            return False, _("Test the provider first: only models that it lists can be set here.")
        with audited(request.user.get_username()):
            row.default_model = name[:200]
            row.save(update_fields=["default_model"])
        return True, _("%(name)s is the default model.") % {"name": name}

    def press_plain_test(self, request: HttpRequest, row: Provider) -> tuple[bool, str]:
        """Ask the provider for one answer."""
        return probe_provider(row)

    @admin.action(description=gettext_lazy("Test the selected providers"), permissions=["change"])
    def test_chosen(self, request: HttpRequest, rows: QuerySet[Provider]) -> None:
        """Ask each of them."""
        for row in rows:
            is_ok, line = self._pressed("press_plain_test", request, row)
            messages.add_message(request, messages.SUCCESS if is_ok else messages.ERROR, line)
            self.log_change(request, row, line[:1000])


def _found(request: HttpRequest, row: Provider) -> dict[str, object]:
    """What the last test found; nothing of it holds for another address."""
    found = request.session.get(f"{FOUND}{row.pk}") or {}
    return found if found.get("base_url") == row.base_url else {}
