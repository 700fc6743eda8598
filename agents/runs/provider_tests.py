"""The whole test of a provider: does it answer, and what are its quirks, within one minute.

Place in the house: ``agents.runs``, for the admin.
"""

from __future__ import annotations

import time
from dataclasses import replace

from asgiref.sync import async_to_sync

from agents.runs.model_choices import ProviderFacts
from agents.runs.provider_checks import CHECK_SECONDS, ProviderCheck, ask_provider
from agents.runs.provider_quirks import Examination, examine

TEST_SECONDS = 60.0
"""How long a test may take in all."""


def run_provider_test(
    facts: ProviderFacts, *, seconds: float = TEST_SECONDS
) -> tuple[ProviderCheck, Examination | None]:
    """Ask for an answer, then all else; ``None`` where no answer came. Call it outside of
    asyncio."""
    return async_to_sync(_test)(facts, seconds)


async def _test(facts: ProviderFacts, seconds: float) -> tuple[ProviderCheck, Examination | None]:
    end = time.monotonic() + seconds
    check = await ask_provider(facts, seconds=min(CHECK_SECONDS, seconds / 2))
    if check.status in (400, 422) and not facts.no_stream_options:
        bare = replace(facts, no_stream_options=True)
        again = await ask_provider(bare, seconds=min(CHECK_SECONDS, seconds / 4))
        check = again if again.is_ok else check
    if not check.is_ok:
        return check, None
    return check, await examine(facts, check.model, seconds=max(0.0, end - time.monotonic()))
