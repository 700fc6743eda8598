"""All requests to providers in one list: written with their spans, found by provider and outcome.

Place in the house: ``traces``. Who may read which comes from ``traces.access``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Avg, Count, Max, Min, Q, QuerySet, Sum

from traces.access import readable_traces
from traces.costs import cost_of
from traces.models import ModelCall, Span, SpanKind, SpanStatus
from traces.records import SpanRecord
from traces.tallies import NS_PER_MS

PAGE_ROWS = 50
ERROR_CHARS = 1000

MOST = 2**53
"""No count is larger, whatever a provider tells."""

COLUMNS = (
    "id", "trace_id", "at_ns", "provider", "model", "status", "http_status", "error",
    "first_chunk_ms", "duration_ms", "input_tokens", "output_tokens", "cost", "currency",
)  # fmt: skip
UPDATES = COLUMNS[5:]

OUTCOMES = ("ok", "error", "cancelled", "lost")
PERIODS = {"hour": 3600, "day": 86_400, "week": 604_800}
"""Seconds of the choices of time; anything else means all."""

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the address asks for; empty means everything. ``before`` is the key of the last row of
    the page before."""

    provider: str = ""
    outcome: str = ""
    period: str = ""
    before: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSum:
    """What was asked of one provider in a period. ``costs`` are amounts by currency, which may be
    empty; there is none where no price is known."""

    provider: str
    requests: int = 0
    failed: int = 0
    tokens: int = 0
    costs: Mapping[str, float] = field(default_factory=dict)
    first_chunk_ms: float | None = None


def call_rows(spans: Iterable[SpanRecord], redacted: Callable[[str], str]) -> list[Row]:
    """The rows of the requests among these spans that have ended."""
    return [
        _row(span, redacted) for span in spans if span.kind == "model" and span.end_ns is not None
    ]


def _row(span: SpanRecord, redacted: Callable[[str], str]) -> Row:
    known = span.attributes
    first = known.get("gen_ai.response.time_to_first_chunk")
    error = known.get("toolloop.error")
    model = known.get("gen_ai.response.model") or known.get("gen_ai.request.model") or ""
    price = known.get("toolloop.price")
    currency = price.get("currency") if isinstance(price, Mapping) else ""
    assert span.end_ns is not None
    return (
        span.id,
        span.trace,
        span.start_ns,
        str(known.get("gen_ai.provider.name") or "")[:100],
        redacted(str(model))[:200],
        span.status,
        _whole(known, "toolloop.error.status"),
        redacted(str(error))[:ERROR_CHARS] if error else "",
        round(first * 1000) if isinstance(first, float) else None,
        (span.end_ns - span.start_ns) // NS_PER_MS,
        _whole(known, "gen_ai.usage.input_tokens") or 0,
        _whole(known, "gen_ai.usage.output_tokens") or 0,
        cost_of(known),
        str(currency or "")[:20],
    )


def _whole(known: Mapping[str, object], name: str) -> int | None:
    value = known.get(name)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return max(0, min(value, MOST)) if is_whole else None


def reads_all(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether nothing is kept from a person."""
    return not readable_traces(user).query.where


def readable_calls(user: AbstractBaseUser | AnonymousUser) -> QuerySet[ModelCall]:
    """The requests in the traces that a person may read."""
    traces = readable_traces(user)
    if not traces.query.where:  # everything: no trace need be looked up
        return ModelCall.objects.all()
    return ModelCall.objects.filter(trace__in=traces)


def read_filters(asked: Mapping[str, str]) -> Filters:
    """The filters of an address; what is none is left out."""
    outcome, period = asked.get("outcome", ""), asked.get("period", "")
    at, _, key = asked.get("before", "").partition(".")
    is_key = at.isascii() and at.isdigit() and len(at) < 20
    return Filters(
        provider=asked.get("provider", "")[:100],
        outcome=outcome if outcome in OUTCOMES else "",
        period=period if period in PERIODS else "",
        before=(int(at), key[:16]) if is_key else None,
    )


def filtered(calls: QuerySet[ModelCall], filters: Filters) -> QuerySet[ModelCall]:
    """The requests that fit, newest first."""
    if filters.provider:
        calls = calls.filter(provider=filters.provider)
    if filters.outcome:
        calls = calls.filter(status=filters.outcome)
    if filters.period:
        calls = calls.filter(at_ns__gte=time.time_ns() - PERIODS[filters.period] * 10**9)
    if filters.before is not None:
        at_ns, key = filters.before
        calls = calls.filter(at_ns__lte=at_ns).filter(Q(at_ns__lt=at_ns) | Q(id__lt=key))
    return calls.order_by("-at_ns", "-id")


def read_rows(calls: QuerySet[ModelCall]) -> tuple[list[ModelCall], str]:
    """One page of rows, and the key of the next one, ``""`` where there is none."""
    rows = list(calls.select_related("trace")[: PAGE_ROWS + 1])
    if len(rows) <= PAGE_ROWS:
        return rows, ""
    last = rows[PAGE_ROWS - 1]
    return rows[:PAGE_ROWS], f"{last.at_ns}.{last.id}"


def sums_by_provider(calls: QuerySet[ModelCall], seconds: int) -> list[ProviderSum]:
    """What was asked of each provider in the last seconds, the busiest first."""
    if not calls.query.where:
        # Named one by one, each is read from the index that covers what is summed up.
        calls = calls.filter(provider__in=_providers())
    since_ns = time.time_ns() - seconds * 10**9
    calls = calls.filter(at_ns__gte=since_ns).order_by()
    has_cost = Q(cost__isnull=False)
    rows = calls.values("provider").annotate(
        requests=Count("pk"),
        failed=Count("pk", filter=Q(status=SpanStatus.ERROR)),
        given=Sum("input_tokens"),
        made=Sum("output_tokens"),
        paid=Sum("cost"),
        one=Min("currency", filter=has_cost),
        other=Max("currency", filter=has_cost),
        first=Avg("first_chunk_ms"),
    )
    sums = [
        ProviderSum(
            provider=row["provider"],
            requests=row["requests"],
            failed=row["failed"],
            tokens=row["given"] + row["made"],
            costs=_costs(calls.filter(provider=row["provider"]), row),
            first_chunk_ms=row["first"],
        )
        for row in rows
    ]
    return sorted(sums, key=lambda one: (-one.requests, one.provider))


def _costs(calls: QuerySet[ModelCall], row: Mapping[str, Any]) -> dict[str, float]:
    """Amounts by currency; asked for apart only where there are several."""
    if row["paid"] is None:
        return {}
    if row["one"] == row["other"]:
        return {row["one"]: row["paid"]}
    paid = calls.filter(cost__isnull=False).values("currency").annotate(paid=Sum("cost"))
    return {part["currency"]: part["paid"] for part in paid.order_by("currency")}


def _providers() -> list[str]:
    """Every provider that was ever asked: one step in the index for each."""
    found: list[str] = []
    names = ModelCall.objects.order_by("provider").values_list("provider", flat=True)
    while (name := names.filter(provider__gt=found[-1] if found else "").first()) is not None:
        found.append(name)
    return found


def keep_lost_calls(spans: QuerySet[Span], at_ns: int) -> None:
    """Put the requests among spans that a dead process left open on the list, as lost."""
    left = [
        SpanRecord(
            id=row.pk, trace=row.trace_id, parent=row.parent, run=row.run, position=row.position,
            kind=row.kind, name=row.name, turn=row.turn, status=SpanStatus.LOST.value,
            start_ns=row.start_ns, end_ns=max(at_ns, row.start_ns), attributes=row.attributes,
        )
        for row in spans.filter(kind=SpanKind.MODEL)
    ]  # fmt: skip
    # Stored spans are redacted.
    rows = [ModelCall(**dict(zip(COLUMNS, row, strict=True))) for row in call_rows(left, str)]
    ModelCall.objects.bulk_create(rows, ignore_conflicts=True)
