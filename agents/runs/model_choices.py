"""Which models an assistant asks: its providers as values, free of the ORM.

Place in the house: ``agents.runs``; read by ``plans``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agents.loop.messages import JsonObject
from agents.loop.wire import WireRules
from agents.models import Assistant, Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """A provider without the ORM; ``api_key`` is the decrypted stored one, never shown."""

    provider_id: str
    base_url: str
    api_key_env: str
    api_key: str = field(repr=False)
    default_model: str = ""
    fallback_model: str = ""
    vision: bool = False
    timeout_seconds: float = 60.0
    max_retries: int = 2
    system_first_only: bool = False
    tool_call_id_pattern: str = ""
    no_stream_options: bool = False
    no_parallel_calls: bool = False
    call_fields: JsonObject = field(default_factory=dict)
    plain_schemas: bool = False
    prices: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    failures: int = 0
    rests_until: datetime | None = None
    barred: str = ""
    last_failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which models an assistant asks, in the words of its configuration; ``further`` come after the
    fallback."""

    provider: ProviderFacts | None
    model: str = ""
    fallback_provider: ProviderFacts | None = None
    fallback_model: str = ""
    further: tuple[tuple[ProviderFacts, str], ...] = ()


def provider_facts(provider: Provider | None) -> ProviderFacts | None:
    """A provider's row as a value."""
    if provider is None:
        return None
    return ProviderFacts(
        provider_id=provider.provider_id,
        base_url=provider.base_url,
        api_key_env=provider.api_key_env,
        api_key=provider.api_key,
        default_model=provider.default_model,
        fallback_model=provider.fallback_model,
        vision=provider.vision,
        timeout_seconds=provider.timeout_ms / 1000,
        max_retries=provider.max_retries,
        system_first_only=provider.system_first_only,
        tool_call_id_pattern=provider.tool_call_id_pattern,
        no_stream_options=provider.no_stream_options,
        no_parallel_calls=provider.no_parallel_calls,
        call_fields=provider.call_fields,
        plain_schemas=provider.plain_schemas,
        prices=provider.prices,
        failures=provider.failures,
        rests_until=provider.rests_until,
        barred=provider.barred,
        last_failure=provider.last_failure,
    )


def wire_rules(provider: ProviderFacts | None) -> WireRules:
    """What a provider accepts; all that OpenAI does where there is none."""
    if provider is None:
        return WireRules(provider="")
    return WireRules(
        provider=provider.provider_id,
        vision=provider.vision,
        system_first_only=provider.system_first_only,
        id_pattern=provider.tool_call_id_pattern,
        one_call_each=provider.no_parallel_calls,
        call_fields=provider.call_fields,
        plain_schemas=provider.plain_schemas,
    )


def load_provider(provider_id: str) -> ProviderFacts | None:
    """A provider by its id, or ``None``."""
    return provider_facts(Provider.objects.filter(provider_id=provider_id).first())


def model_choice(assistant: Assistant) -> ModelChoice:
    """Which models an assistant asks."""
    return ModelChoice(
        provider=provider_facts(assistant.provider),
        model=assistant.model,
        fallback_provider=provider_facts(assistant.fallback_provider),
        fallback_model=assistant.fallback_model,
        further=_further(assistant),
    )


def _further(assistant: Assistant) -> tuple[tuple[ProviderFacts, str], ...]:
    """The models that are asked last; those of a provider that is gone are left out."""
    wanted = assistant.further_models
    if not wanted:
        return ()
    rows = Provider.objects.in_bulk([item["provider"] for item in wanted], field_name="provider_id")
    found = ((provider_facts(rows.get(item["provider"])), item["model"]) for item in wanted)
    return tuple((facts, model) for facts, model in found if facts is not None)
