"""The groups of an assistant's form that fold, each with one line that sums it up.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.admin.assistant_form import COMPACTION, HOOK_FIELDS, PEOPLE, AssistantForm
from agents.admin.assistant_texts import LIMITS
from agents.models import Assistant

BEFORE = {
    "about": ("name", "assistant_id", "description", "starters"),
    "prompts": ("prompts", "disable_global_prompts", "prompt_presets"),
    "model": (
        "provider",
        "model",
        "fallback_provider",
        "fallback_model",
        "further_models",
        "options",
    ),
}
AFTER = {
    "limits": (
        "tool_loop", "max_turn", *LIMITS, "on_tool_error", "fallback_assistant", "sandbox",
        *COMPACTION, "trace_days", "tool_limits",
    ),
    "hooks": (*HOOK_FIELDS, "trust_names"),
    "people": PEOPLE,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One group. ``is_open`` where it has a fault, or where a new assistant begins."""

    name: str
    title: str
    summary: str
    fields: tuple[BoundField, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """The groups above and below the part on servers and tools."""

    before: tuple[Fold, ...]
    after: tuple[Fold, ...]


def folds(form: AssistantForm) -> Folds:
    """The groups of this form."""
    return Folds(
        before=tuple(_fold(form, name, fields) for name, fields in BEFORE.items()),
        after=tuple(
            _fold(form, name, fields) for name, fields in AFTER.items() if fields[0] in form.fields
        ),
    )


def _fold(form: AssistantForm, name: str, names: Sequence[str]) -> Fold:
    fields = tuple(form[field] for field in names if field in form.fields)
    titles = {
        "about": _("Name and starter prompts"),
        "prompts": _("Prompts and presets"),
        "model": _("Provider and model"),
        "limits": _("Tool loop and limits"),
        "hooks": _("Hooks"),
        "people": _("People"),
    }
    summaries = {
        "about": _about, "prompts": _prompts, "model": _model, "limits": _limits, "hooks": _hooks,
        "people": _people,
    }  # fmt: skip
    has_fault = any(field.errors for field in fields)
    is_first = not form.instance.pk and name in ("about", "model", "prompts")
    return Fold(
        name=name,
        title=titles[name],
        summary=summaries[name](form.instance),
        fields=fields,
        is_open=has_fault or is_first,
    )


def _about(row: Assistant) -> str:
    starters = row.starters if isinstance(row.starters, list) else []
    count = len(starters)
    words = ngettext("%(n)d starter prompt", "%(n)d starter prompts", count) % {"n": count}
    return _(", ").join(part for part in (row.assistant_id, words) if part)


def _prompts(row: Assistant) -> str:
    prompts = row.prompts if isinstance(row.prompts, list) else []
    texts = [str(item.get("content", "")) for item in prompts if isinstance(item, dict)]
    letters = sum(len(text) for text in texts)
    presets = len(row.prompt_presets or {})
    return _(", ").join(
        [
            ngettext("%(n)d prompt", "%(n)d prompts", len(texts)) % {"n": len(texts)},
            ngettext("%(n)d character", "%(n)d characters", letters) % {"n": letters},
            ngettext("%(n)d preset", "%(n)d presets", presets) % {"n": presets},
        ]
    )


def _model(row: Assistant) -> str:
    if row.provider is None:
        return _("no provider yet")
    model = row.model or row.provider.default_model or _("no model yet")
    text = _(", ").join([row.provider.provider_id, model])
    fallback = row.fallback_model or (
        row.fallback_provider.default_model if row.fallback_provider else ""
    )
    if fallback:
        text += "; " + _("fallback model %(model)s") % {"model": fallback}
    return text


def _limits(row: Assistant) -> str:
    changed = [
        f"{name} {getattr(row, name):g}"
        for name in LIMITS
        if getattr(row, name) is not None
        and getattr(row, name) != Assistant._meta.get_field(name).get_default()
    ]
    parts = [
        _("on") if row.tool_loop else _("off"),
        f"max_turn {row.max_turn}",
        *changed,
        _("the others at their defaults") if changed else _("all others at their defaults"),
    ]
    return _(", ").join(parts)


def _hooks(row: Assistant) -> str:
    named = [name.removesuffix("_hook") for name in HOOK_FIELDS if getattr(row, name)]
    return _(", ").join(named) or _("none")


def _people(row: Assistant) -> str:
    named = {
        name: ", ".join(getattr(row, name).values_list("name", flat=True)) if row.pk else ""
        for name in PEOPLE
    }
    parts = [_("chat: %(who)s") % {"who": named["groups"] or _("everybody")}]
    if named["trace_groups"]:
        parts.append(_("traces: %(who)s") % {"who": named["trace_groups"]})
    if named["approver_groups"]:
        parts.append(_("decide on calls: %(who)s") % {"who": named["approver_groups"]})
    return "; ".join(parts)
