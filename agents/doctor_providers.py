"""The doctor's look at providers: keys, an answer of each, and who is not asked first now.

Place in the house: ``agents``, above ``agents.runs``; a part of ``doctor``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from asgiref.sync import async_to_sync

from agents.findings import Finding, Health, counted, found
from agents.loop.errors import ModelKeyRefused
from agents.models import Provider
from agents.runs.model_choices import provider_facts
from agents.runs.provider_checks import ProviderCheck, ask_provider
from agents.runs.provider_health import note_success, standing_words
from agents.runs.resources import provider_key

ANSWER_SECONDS = 15.0
"""How long a provider may take to answer."""


def look_over_providers(*, is_offline: bool) -> Iterator[Finding]:
    """A key where one is named, and an answer of the model."""
    rows = list(Provider.objects.all())
    if not rows:
        yield found("providers", Health.ERROR, "there is none", "Add one in the admin.")
        return
    askable: list[Provider] = []
    for row in rows:
        subject = f"provider {row.provider_id}"
        facts = provider_facts(row)
        assert facts is not None
        try:
            provider_key(facts)
        except ModelKeyRefused as error:
            yield found(subject, Health.ERROR, error.message, error.hint)
            continue
        if is_offline:
            yield from _offline_provider(row)
        else:
            askable.append(row)
    answered = set()
    for check in _ask_providers(askable):
        yield _provider_finding(check)
        if check.is_ok:
            note_success(check.provider)
            answered.add(check.provider)
    for row in rows:
        if row.provider_id not in answered and (told := standing_words(row)):
            hint = "Its page in the admin asks it again: Test, or Ask it again now."
            yield found(f"provider {row.provider_id}", Health.WARNING, told, hint)


def _offline_provider(row: Provider) -> Iterator[Finding]:
    subject = f"provider {row.provider_id}"
    if row.default_model:
        yield found(subject, Health.OK, f"key and model {row.default_model} are set (not asked)")
    else:
        hint = "Set default_model, or a model at every assistant."
        yield found(subject, Health.WARNING, "has no default model (not asked)", hint)


def _ask_providers(rows: Sequence[Provider]) -> list[ProviderCheck]:
    """All of them at the same time; the model asked is the one that assistants use."""
    asked = [(provider_facts(row), _model_of(row)) for row in rows]

    async def ask() -> list[ProviderCheck]:
        calls = (
            ask_provider(facts, model, seconds=ANSWER_SECONDS)
            for facts, model in asked
            if facts is not None
        )
        return list(await asyncio.gather(*calls))

    return async_to_sync(ask)()


def _model_of(row: Provider) -> str:
    """The default model, or the first that an assistant names."""
    if row.default_model:
        return row.default_model
    named = row.assistants.exclude(model="").values_list("model", flat=True)
    return named.first() or ""


def _provider_finding(check: ProviderCheck) -> Finding:
    subject = f"provider {check.provider}"
    if not check.is_ok:
        return found(subject, Health.ERROR, check.error, check.hint)
    listed = "" if check.models is None else f"; {counted(len(check.models), 'model')} listed"
    text = f"{check.model} answered in {check.seconds:.1f} s{listed}"
    if check.models and check.model not in check.models:
        return found(
            subject, Health.WARNING, text, f"{check.model} is not among the listed models."
        )
    return found(subject, Health.OK, text)
