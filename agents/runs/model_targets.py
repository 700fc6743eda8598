"""From an assistant's chain of models to what a run can ask, the best first.

Place in the house: ``agents.runs``; used by ``outside``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from django.utils import timezone

from agents.loop.errors import ModelError, ModelNotFound
from agents.loop.interfaces import Model
from agents.loop.messages import JsonObject
from agents.loop.request import ModelTarget
from agents.runs.model_choices import ModelChoice, ProviderFacts, wire_rules
from agents.runs.provider_health import Standing, best_first, read_standings, reason_to_pass

ClientOf = Callable[[ProviderFacts], Model]
"""The client for a provider. Raises ``ModelKeyRefused`` where its named key is not set."""

Pair = tuple[ProviderFacts, str]
"""A provider and a model of it; the model is empty where none is set."""


def model_targets(
    choice: ModelChoice, assistant: str, client_of: ClientOf
) -> tuple[ModelTarget, ...]:
    """The models of a chain, best first as its providers stand. Those that cannot be asked at all
    are left out; raises the first one's fault where none can."""
    usable: list[tuple[ProviderFacts, ModelTarget]] = []
    faults: list[ModelError] = []
    reasons: list[JsonObject] = []
    for facts, model in model_chain(choice, assistant):
        try:
            usable.append((facts, _target(facts, model, assistant, client_of)))
            reason = reason_to_pass(facts)
        except ModelError as error:
            faults.append(error)
            reason = {"reason": "unusable", "error": error.message}
        reasons.append({"provider": facts.provider_id, "model": model, **reason})
    if not usable:
        raise faults[0]
    return _with_reasons(best_first(usable, timezone.now()), reasons)


def model_chain(choice: ModelChoice, assistant: str) -> list[Pair]:
    """The assistant's model, the fallback, the further ones: each once, in the order set.

    Raises ``ModelNotFound`` where no provider is set.
    """
    if choice.provider is None:
        raise ModelNotFound(
            f"No provider is set for the assistant {assistant}.",
            hint="Set its provider in the admin or import a bundle that names one.",
        )
    own = (choice.provider, choice.model or choice.provider.default_model)
    other = choice.fallback_provider or choice.provider
    is_same = other.provider_id == choice.provider.provider_id
    model = choice.fallback_model or (other.fallback_model if is_same else other.default_model)
    pairs = [own, *([(other, model)] if model else [])]
    pairs += [(facts, name or facts.default_model) for facts, name in choice.further]
    chain: dict[tuple[str, str], Pair] = {}
    for facts, name in pairs:
        chain.setdefault((facts.provider_id, name), (facts, name))
    return list(chain.values())


def as_they_stand(targets: Sequence[ModelTarget]) -> tuple[ModelTarget, ...]:
    """The same models as their providers stand now: those that rest behind the others."""
    standings = read_standings({target.provider for target in targets})
    pairs = [(standings.get(target.provider, Standing()), target) for target in targets]
    reasons: list[JsonObject] = [
        {"provider": target.provider, "model": target.model, **reason_to_pass(standing)}
        for standing, target in pairs
    ]
    return _with_reasons(best_first(pairs, timezone.now()), reasons)


def _with_reasons(
    ordered: Sequence[ModelTarget], reasons: Sequence[JsonObject]
) -> tuple[ModelTarget, ...]:
    """The first one with why those before it in the chain are not asked."""
    first, *others = ordered
    place = (first.provider, first.model)
    before = takewhile(lambda one: (one["provider"], one["model"]) != place, reasons)
    return (replace(first, passed_over=tuple(before)), *others)


def _target(
    provider: ProviderFacts, model: str, assistant: str, client_of: ClientOf
) -> ModelTarget:
    if not model:
        raise ModelNotFound(
            f"No model is set for the assistant {assistant} at the provider "
            f"{provider.provider_id}.",
            hint="Set the assistant's model or the provider's default_model.",
        )
    return ModelTarget(
        provider=provider.provider_id,
        model=model,
        client=client_of(provider),
        rules=wire_rules(provider),
        max_retries=provider.max_retries,
        price=provider.prices.get(model) or {},
    )
