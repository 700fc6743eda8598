"""Which providers answer: one that fails rests for a while, one whose account is the fault until
somebody looks at it.

Place in the house: ``agents.runs``. The standing is kept on the provider's row, so that all
processes know it. Plain synchronous functions on the database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

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
from agents.loop.messages import JsonObject
from agents.models import Provider
from agents.runs.model_choices import ModelChoice, ProviderFacts

REST_MINUTES = (1, 5, 25)
"""How long a provider rests after its first, second, and every further failure in a row."""

KEY, BILLING = "key", "billing"

ERROR_CHARS = 500

STANDING = ("failures", "rests_until", "barred", "last_failure")
"""The columns of a provider's standing."""

_NEVER = datetime.max.replace(tzinfo=UTC)


class HasStanding(Protocol):
    """A provider's row, its facts, or its standing alone."""

    @property
    def failures(self) -> int:
        """How often it failed in a row."""
        ...

    @property
    def rests_until(self) -> datetime | None:
        """When its last rest ends or ended."""
        ...

    @property
    def barred(self) -> str:
        """``key``, ``billing``, or empty."""
        ...

    @property
    def last_failure(self) -> str:
        """The line of its last failure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a provider stands, read by itself."""

    failures: int = 0
    rests_until: datetime | None = None
    barred: str = ""
    last_failure: str = ""


Item = TypeVar("Item")


def note_failure(provider_id: str, error: ModelError) -> None:
    """Let a provider rest that did not answer, or bar one whose account is the fault.

    Requests that are wrong in themselves say nothing about the provider. Of several runs that fail
    at the same time, or while it rests, one counts.
    """
    rows = Provider.objects.filter(provider_id=provider_id)
    line = error.message[:ERROR_CHARS]
    if isinstance(error, ModelKeyRefused | ModelBilling):
        kind = KEY if isinstance(error, ModelKeyRefused) else BILLING
        rows.update(barred=kind, last_failure=line)
    elif isinstance(error, ModelOverloaded | ModelUnreachable):
        now = timezone.now()
        failures = rows.values_list("failures", flat=True).first() or 0
        minutes = REST_MINUTES[min(failures, len(REST_MINUTES) - 1)]
        is_awake = Q(rests_until__isnull=True) | Q(rests_until__lte=now)
        rows.filter(is_awake, failures=failures).update(
            failures=F("failures") + 1,
            rests_until=now + timedelta(minutes=minutes),
            last_failure=line,
        )


def note_success(provider_id: str) -> None:
    """Forget a provider's failures: it answers again."""
    Provider.forget_failures(provider_id)


def read_standings(provider_ids: Collection[str]) -> dict[str, Standing]:
    """How these providers stand now, by their ids."""
    rows = Provider.objects.filter(provider_id__in=provider_ids).values("provider_id", *STANDING)
    return {row.pop("provider_id"): Standing(**row) for row in rows}


def refreshed(choice: ModelChoice) -> ModelChoice:
    """The same choice with its providers as they stand now."""
    named = [
        choice.provider,
        choice.fallback_provider,
        *(facts for facts, _model in choice.further),
    ]
    standings = read_standings({facts.provider_id for facts in named if facts is not None})

    def now(facts: ProviderFacts) -> ProviderFacts:
        standing = standings.get(facts.provider_id, Standing())
        return replace(facts, **{name: getattr(standing, name) for name in STANDING})

    return replace(
        choice,
        provider=choice.provider and now(choice.provider),
        fallback_provider=choice.fallback_provider and now(choice.fallback_provider),
        further=tuple((now(facts), model) for facts, model in choice.further),
    )


def _rests(standing: HasStanding, now: datetime) -> bool:
    return standing.rests_until is not None and standing.rests_until > now


def best_first(items: Sequence[tuple[HasStanding, Item]], now: datetime) -> list[Item]:
    """The items in the order in which they are asked: those that answer as they stand, then those
    that rest, whose rest ends first; the barred ones last."""

    def place(pair: tuple[HasStanding, Item]) -> tuple[int, datetime]:
        standing = pair[0]
        if standing.barred:
            return 2, _NEVER
        if _rests(standing, now):
            return 1, standing.rests_until or _NEVER
        return 0, _NEVER

    return [item for _standing, item in sorted(items, key=place)]


def reason_to_pass(standing: HasStanding) -> JsonObject:
    """Why others are asked first, as it is recorded (``ModelTarget.passed_over``)."""
    reason: JsonObject = {"reason": standing.barred, "error": standing.last_failure}
    if not standing.barred and standing.rests_until is not None:
        ends_ns = round(standing.rests_until.timestamp() * 1000) * 1_000_000
        reason |= {"reason": "resting", "until_ns": ends_ns, "failures": standing.failures}
    return reason


def standing_words(row: HasStanding) -> str:
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
    """How each provider stands, by its id; ``""`` where it simply answers. Named in
    ``TOOLLOOP_PROVIDER_STANDING``."""
    rows = Provider.objects.defer("api_key").order_by("provider_id")
    return {row.provider_id: standing_words(row) for row in rows}
