"""Asks a provider for its models and for one small streamed answer.

Place in the house: ``agents.runs``; the admin and the doctor call it. It uses the same client as
runs do. Texts are for people and never hold a key.
"""

from __future__ import annotations

import asyncio
import difflib
import time
from dataclasses import dataclass

from asgiref.sync import async_to_sync

from agents.loop.errors import ModelError, ModelNotFound
from agents.loop.interfaces import Model, ModelDelta, ModelRequest
from agents.runs.model_choices import ProviderFacts
from agents.runs.resources import RunResources, provider_key

CHECK_SECONDS = 30.0
"""How long a check may take in all; a provider's own timeout counts where it is shorter."""

QUESTION = "Answer with the word OK."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCheck:
    """What came of asking. ``models`` is ``None`` where the provider does not list any.

    ``error`` is ``""`` when it answered, else one line; ``hint`` says what to do;
    ``status`` is that of a refusal.
    """

    provider: str
    model: str = ""
    models: tuple[str, ...] | None = None
    answer: str = ""
    seconds: float = 0.0
    error: str = ""
    hint: str = ""
    status: int | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the model answered."""
        return not self.error


def check_provider(
    facts: ProviderFacts, model: str = "", *, seconds: float = CHECK_SECONDS
) -> ProviderCheck:
    """Ask a provider; ``model`` is its default model unless given. Call it outside of asyncio."""
    return async_to_sync(ask_provider)(facts, model, seconds=seconds)


async def ask_provider(
    facts: ProviderFacts, model: str = "", *, seconds: float = CHECK_SECONDS
) -> ProviderCheck:
    """Like ``check_provider``, inside an event loop."""
    resources = RunResources(observers=[])
    wanted = model or facts.default_model
    models: tuple[str, ...] | None = None
    begun = 0.0
    limit = min(seconds, facts.timeout_seconds + 1)
    try:
        async with asyncio.timeout(limit):
            client = resources.client(facts)
            models = await _list_models(client)
            if not wanted:
                raise ModelNotFound(
                    f"The provider {facts.provider_id} has no default model to ask.",
                    hint=_choose_hint(models),
                )
            begun = time.monotonic()
            answer = await _ask(client, wanted)
    except ModelError as error:
        return _failed(facts, wanted, models, error)
    except TimeoutError:
        return ProviderCheck(
            provider=facts.provider_id,
            model=wanted,
            models=models,
            error=f"No answer within {limit:g} seconds.",
            hint="Is the model being loaded? Try again, or raise the timeout.",
        )
    finally:
        await resources.close()
    return ProviderCheck(
        provider=facts.provider_id,
        model=wanted,
        models=models,
        answer=shown(answer, facts),
        seconds=time.monotonic() - begun,
    )


async def _list_models(client: Model) -> tuple[str, ...] | None:
    """The models, or ``None`` where listing is not offered. A key's or a network's fault raises."""
    try:
        return tuple(await client.list_models())  # type: ignore[attr-defined]
    except ModelNotFound as error:
        if error.status is None:
            raise
        return None
    except ModelError as error:
        if error.status is None or error.status in (401, 403):
            raise
        return None


async def _ask(client: Model, model: str) -> str:
    async def ignore(delta: ModelDelta) -> None:
        return None

    request = ModelRequest(model=model, messages=({"role": "user", "content": QUESTION},))
    return (await client.answer(request, ignore)).text


def _failed(
    facts: ProviderFacts, model: str, models: tuple[str, ...] | None, error: ModelError
) -> ProviderCheck:
    hint = error.hint
    if isinstance(error, ModelNotFound) and models and model and model not in models:
        near = difflib.get_close_matches(model, models, n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        hint = f"{_choose_hint(models)}{guess}"
    return ProviderCheck(
        provider=facts.provider_id,
        model=model,
        models=models,
        error=error.message,
        hint=hint,
        status=error.status,
    )


def shown(text: str, facts: ProviderFacts) -> str:
    """The beginning of what a model said, on one line. A provider may send the key back."""
    key = provider_key(facts)
    return " ".join((text.replace(key, "[key]") if len(key) >= 6 else text).split())[:80]


def _choose_hint(models: tuple[str, ...] | None) -> str:
    if not models:
        return "Set default_model to a model that the provider has."
    more = f" and {len(models) - 5} more" if len(models) > 5 else ""
    return f"Set default_model to one of: {', '.join(models[:5])}{more}."
