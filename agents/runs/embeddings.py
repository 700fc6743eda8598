"""The provider of embeddings that is set, for memory that finds by meaning.

Place in the house: ``agents.runs``. Synchronous: it is asked from the thread of a tool.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2
from django.conf import settings

from agents.loop.errors import ModelError
from agents.runs.model_choices import ProviderFacts, load_provider
from agents.runs.resources import provider_key

BATCH = 64
"""Texts in one request."""


class EmbeddingProblem(Exception):
    """Raised when the provider gives no vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """A model of embeddings at a provider."""

    provider: ProviderFacts
    model: str

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """A vector for each text. Raises ``EmbeddingProblem``."""
        vectors: list[array[float]] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._ask(list(texts[start : start + BATCH]))
        return vectors

    def _ask(self, texts: list[str]) -> list[array[float]]:
        url = f"{self.provider.base_url.rstrip('/')}/embeddings"
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        try:
            key = provider_key(self.provider)
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            answer = httpx2.post(
                url, json=body, headers=headers, timeout=self.provider.timeout_seconds
            )
            answer.raise_for_status()
            rows = sorted(answer.json()["data"], key=lambda row: row["index"])
            vectors = [array("f", row["embedding"]) for row in rows]
        except ModelError as error:
            raise EmbeddingProblem(error.message) from error
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise EmbeddingProblem(f"{url}: {type(error).__name__}: {error}") from error
        if len(vectors) != len(texts):
            raise EmbeddingProblem(f"{url}: {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def configured_embeddings() -> Embeddings | None:
    """What ``TOOLLOOP_EMBEDDINGS`` names, ``None`` where it is not set or its provider is gone."""
    provider_id, _, model = settings.TOOLLOOP_EMBEDDINGS.partition("/")
    provider = load_provider(provider_id) if model else None
    return Embeddings(provider=provider, model=model) if provider is not None else None
