"""Which providers answer: one that fails rests for a while, one whose account is the fault until
somebody looks at it.

Place in the house: ``agents.runs``. The state stands on the provider's row, so that all processes
know it. Plain synchronous functions on the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.loop.errors import (
    ModelBilling,
    ModelError,
    ModelKeyRefused,
    ModelOverloaded,
    ModelUnreachable,
)
from agents.models import Provider
from agents.runs.model_choices import ProviderFacts

REST_MINUTES = (1, 5, 25)
"""How long a provider rests after its first, second, and every further failure in a row."""

KEY, BILLING = "key", "billing"

ERROR_CHARS = 500

Item = TypeVar("Item")


def note_failure(provider_id: str, error: ModelError) -> None:
    """Let a provider rest that did not answer, or bar one whose account is the fault.

    Requests that are wrong in themselves say nothing about the provider.
    """
    rows = Provider.objects.filter(provider_id=provider_id)
    if isinstance(error, ModelKeyRefused | ModelBilling):
        kind = KEY if isinstance(error, ModelKeyRefused) else BILLING
        rows.update(barred=kind, last_failure=error.message[:ERROR_CHARS])
    elif isinstance(error, ModelOverloaded | ModelUnreachable):
        row = rows.first()
        if row is None or (row.rests_until is not None and row.rests_until > timezone.now()):
            return  # Another run has noted this already.
        minutes = REST_MINUTES[min(row.failures, len(REST_MINUTES) - 1)]
        rows.update(
            failures=F("failures") + 1,
            rests_until=timezone.now() + timedelta(minutes=minutes),
            last_failure=error.message[:ERROR_CHARS],
        )


def note_success(provider_id: str) -> None:
    """Forget a provider's failures: it answers again."""
    Provider.objects.filter(provider_id=provider_id).update(
        failures=0, rests_until=None, barred="", last_failure=""
    )


def is_resting(facts: ProviderFacts, now: datetime) -> bool:
    """Whether others are asked before this provider."""
    return bool(facts.barred) or (facts.rests_until is not None and facts.rests_until > now)


def best_first(
    items: Sequence[tuple[ProviderFacts, Item]], now: datetime
) -> list[tuple[ProviderFacts, Item]]:
    """The items in the order in which they are asked: those that answer as they stand, then those
    that rest, whose rest ends first; the barred ones last."""
    late = now + timedelta(days=365_000)

    def place(pair: tuple[ProviderFacts, Item]) -> tuple[int, datetime]:
        facts = pair[0]
        if facts.barred:
            return 2, late
        return (1, facts.rests_until or late) if is_resting(facts, now) else (0, late)

    return sorted(items, key=place)


def standing_words(row: Provider | ProviderFacts) -> str:
    """How a provider stands, in words; ``""`` where it answers."""
    if row.barred == KEY:
        words = _("its key was refused; asked last until it is saved or tested again")
    elif row.barred == BILLING:
        words = _("its account cannot pay; asked last until it is saved or tested again")
    elif row.rests_until is not None and row.rests_until > timezone.now():
        at = timezone.localtime(row.rests_until).strftime("%H:%M:%S")
        words = _("rests until %(time)s after %(n)d failures in a row") % {
            "time": at,
            "n": row.failures,
        }
    else:
        return ""
    return f"{words}: {row.last_failure}" if row.last_failure else words


def standing_of_all() -> dict[str, str]:
    """How each provider stands that does not simply answer, by its id. Named in
    ``TOOLLOOP_PROVIDER_STANDING``."""
    rows = Provider.objects.filter(Q(rests_until__isnull=False) | ~Q(barred=""))
    return {row.provider_id: words for row in rows if (words := standing_words(row))}
