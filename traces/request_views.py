"""The page of all requests to providers: one place to look when models do not answer.

Place in the house: ``traces``. Readers see the requests of the traces that they may read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from traces.inspection.formats import count, duration, money
from traces.inspection.marks import span_state
from traces.inspection.own_words import own_line
from traces.inspection.view_models import StateView
from traces.model_calls import (
    ERROR_CHARS,
    PERIODS,
    Filters,
    ProviderSum,
    filtered,
    read_filters,
    read_rows,
    readable_calls,
    reads_all,
    sums_by_provider,
)
from traces.models import ModelCall
from traces.tallies import NS_PER_MS

Standing = Mapping[str, tuple[str, str]]
"""How providers stand, by their ids: words, empty where one simply answers; address in the admin.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """One request, ready to be shown; ``href`` leads to its span."""

    at_ns: int
    provider: str
    model: str
    assistant: str
    state: StateView
    status: str
    error: str
    first_chunk: str
    duration: str
    tokens: str
    cost: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLine:
    """What was asked of one provider, and how it stands; ``admin`` leads to its settings. Both are
    empty for who may not read everything."""

    provider: str
    requests: str
    failed: str
    tokens: str
    cost: str
    first_chunk: str
    standing: str
    admin: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to narrow the list."""

    text: str
    href: str
    is_current: bool


@login_required
@require_GET
def model_requests(request: HttpRequest) -> HttpResponse:
    """The requests, newest first, with a line for each provider."""
    filters = read_filters(request.GET)
    calls = readable_calls(request.user)
    rows, following = read_rows(filtered(calls, filters))
    period = filters.period or "day"
    sums = sums_by_provider(calls, PERIODS[period])
    is_operator = reads_all(request.user)
    standing: Standing = import_string(settings.TOOLLOOP_PROVIDER_STANDING)() if is_operator else {}
    context = {
        "section": "traces",
        "filters": filters,
        "rows": [_row(row) for row in rows],
        "providers": list(_lines(filters, sums, standing)),
        "is_operator": is_operator,
        "since": _period_words()[period],
        "outcomes": _outcomes(filters),
        "periods": _periods(filters),
        "older": _address(filters, before=following) if following else "",
        "newest": _address(filters) if filters.before else "",
        "everything": _address(replace(filters, provider="")),
    }
    return render(request, "traces/requests.html", context)


def _row(row: ModelCall) -> RequestRow:
    place = reverse("trace", args=[row.trace_id])
    return RequestRow(
        at_ns=row.at_ns,
        provider=row.provider,
        model=row.model,
        assistant=row.trace.assistant_name or row.trace.assistant,
        state=span_state(row.status),
        status=str(row.http_status or ""),
        error=own_line(row.error, ERROR_CHARS) if row.error else "",
        first_chunk=_time(row.first_chunk_ms),
        duration=_time(row.duration_ms),
        tokens=f"{count(row.input_tokens)} / {count(row.output_tokens)}",
        cost="" if row.cost is None else _amounts({row.currency: row.cost}),
        href=f"{place}?{urlencode({'span': row.id})}",
    )


def _lines(
    filters: Filters, sums: Sequence[ProviderSum], standing: Standing
) -> Iterator[ProviderLine]:
    asked = {one.provider for one in sums}
    silent = [ProviderSum(provider=name) for name in sorted(standing) if name not in asked]
    for one in [*sums, *silent]:
        share = f" ({one.failed / one.requests:.0%})" if one.failed else ""
        words, admin = standing.get(one.provider, ("", ""))
        yield ProviderLine(
            provider=one.provider,
            requests=count(one.requests),
            failed=f"{count(one.failed)}{share}",
            tokens=count(one.tokens),
            cost=_amounts(one.costs),
            first_chunk=_time(one.first_chunk_ms),
            standing=words,
            admin=admin,
            href=_address(replace(filters, provider=one.provider, before=None)),
        )


def _outcomes(filters: Filters) -> list[Choice]:
    words = {
        "": _("all"), "ok": _("answered"), "error": _("failed"), "cancelled": _("broken off"),
        "lost": _("lost"),
    }  # fmt: skip
    return [
        Choice(
            text=text,
            href=_address(replace(filters, outcome=name, before=None)),
            is_current=filters.outcome == name,
        )
        for name, text in words.items()
    ]


def _periods(filters: Filters) -> list[Choice]:
    return [
        Choice(
            text=text,
            href=_address(replace(filters, period=name, before=None)),
            is_current=filters.period == name,
        )
        for name, text in _period_words().items()
    ]


def _period_words() -> dict[str, str]:
    return {
        "": _("any time"),
        "hour": _("last hour"),
        "day": _("last 24 hours"),
        "week": _("last 7 days"),
    }


def _address(filters: Filters, before: str = "") -> str:
    asked = {
        "provider": filters.provider,
        "outcome": filters.outcome,
        "period": filters.period,
        "before": before,
    }
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{reverse('trace_requests')}{'?' if query else ''}{query}"


def _time(milliseconds: float | None) -> str:
    return "" if milliseconds is None else duration(milliseconds * NS_PER_MS)


def _amounts(costs: Mapping[str, float]) -> str:
    """Amounts with their currencies, which are not added to each other."""
    return " + ".join(f"{money(amount)} {name}".rstrip() for name, amount in costs.items())
