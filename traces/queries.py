"""What the list of traces asks the database: filters, pages by key, counts.

Place in the house: ``traces``. Everything that narrows the list stands in the address; a page is
told by the first or last row of its neighbour, so that rows keep their place when newer ones come.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet

from traces.labels import with_label
from traces.models import Trace
from traces.search import search_traces

PAGE_SIZE = 25
SLOW_MS = 10_000
"""A run of this length and more is a slow one."""

MAX_NEWER = 999
"""Newer runs that are counted; of more only that there are more is told."""

MAX_COUNTED = 1000
"""Traces that a search counts: beyond that only that there are more is told."""

VIEWS = ("fell_back", "errors", "slow")
STATUSES = ("running", "completed", "failed", "cancelled", "interrupted")
SPANS_OF_TIME = {"hour": 3600, "day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400}
"""Names of the time filter, in seconds."""

LABELS = ("tool", "outcome", "model")
LENGTHS = {"1s": 1000, "5s": 5000, "30s": 30_000, "2min": 120_000, "10min": 600_000}
"""Names of the filter for how long a run took at least, in milliseconds."""

COSTS = {"0.001": 0.001, "0.01": 0.01, "0.1": 0.1, "1": 1.0}
"""Names of the filter for what a run cost at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilters:
    """What narrows the list; empty texts narrow nothing. ``stop`` is a stop reason, ``tool``
    is ``server.tool``, ``length`` and ``cost`` are names of least values."""

    words: str = ""
    view: str = ""
    status: str = ""
    stop: str = ""
    assistant: str = ""
    since: str = ""
    tool: str = ""
    outcome: str = ""
    model: str = ""
    length: str = ""
    cost: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether all traces are shown."""
        return self == ListFilters()

    def named(self) -> dict[str, str]:
        """What is set, by its name in the address."""
        given = {
            "q": self.words, "view": self.view, "status": self.status, "stop": self.stop,
            "assistant": self.assistant, "since": self.since, "tool": self.tool,
            "outcome": self.outcome, "model": self.model, "length": self.length,
            "cost": self.cost,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value}

    def query(self, **more: str) -> str:
        """The address's query, ``?`` included where there is any."""
        text = urlencode({**self.named(), **more})
        return f"?{text}" if text else ""

    def but(self, **changes: str) -> ListFilters:
        """The same with some of them changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePage:
    """A page of the list, newest first. ``older`` and ``newer`` are the cursors of its neighbours,
    empty where there is none; ``newer_count`` counts what stands above (``MAX_NEWER`` at most)."""

    rows: tuple[Trace, ...]
    older: str
    newer: str
    newer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCounts:
    """How many traces were found, and of each stop reason; ``is_more`` where not all were
    counted."""

    total: int
    by_stop_reason: dict[str, int]
    is_more: bool = False


def read_filters(query: Mapping[str, str]) -> ListFilters:
    """The filters of an address; what makes no sense narrows nothing."""

    def known(name: str, values: object) -> str:
        value = query.get(name, "")
        return value if value in values else ""  # type: ignore[operator]

    return ListFilters(
        words=query.get("q", "").replace("\0", " ").strip()[:200],
        view=known("view", VIEWS),
        status=known("status", STATUSES),
        stop=query.get("stop", "").replace("\0", "")[:20],
        assistant=query.get("assistant", "").replace("\0", "")[:100],
        since=known("since", SPANS_OF_TIME),
        tool=query.get("tool", "").replace("\0", "")[:300],
        outcome=query.get("outcome", "").replace("\0", "")[:40],
        model=query.get("model", "").replace("\0", "")[:300],
        length=known("length", LENGTHS),
        cost=known("cost", COSTS),
    )


def filter_traces(traces: QuerySet[Trace], filters: ListFilters) -> QuerySet[Trace]:
    """The traces that the filters leave."""
    if filters.since:
        seconds = SPANS_OF_TIME[filters.since]
        traces = traces.filter(start_ns__gte=time.time_ns() - seconds * 1_000_000_000)
    if filters.status:
        traces = traces.filter(status=filters.status)
    if filters.stop:
        traces = traces.filter(stop_reason=filters.stop)
    if filters.assistant:
        traces = traces.filter(assistant=filters.assistant)
    for kind in LABELS:
        if value := getattr(filters, kind):
            traces = with_label(traces, kind, value)
    if filters.length:
        traces = traces.filter(duration_ms__gte=LENGTHS[filters.length])
    if filters.cost:
        traces = traces.filter(cost__gte=COSTS[filters.cost])
    match filters.view:
        case "fell_back":
            traces = traces.filter(fell_back=True)
        case "errors":
            traces = traces.filter(errors__gt=0)
        case "slow":
            traces = traces.filter(duration_ms__gte=SLOW_MS)
    return search_traces(traces, filters.words) if filters.words else traces


def cursor_of(trace: Trace) -> str:
    """Where a trace stands in the list."""
    return f"{trace.start_ns}-{trace.pk}"


def read_page(traces: QuerySet[Trace], *, after: str = "", before: str = "") -> TracePage:
    """The page behind or before a cursor; the newest one without, or where it cannot be read."""
    key_after, key_before = _key(after), _key(before)
    if key_before is not None and key_after is None:
        rows = list(traces.filter(_newer(*key_before)).order_by("start_ns", "pk")[:PAGE_SIZE])
        if len(rows) == PAGE_SIZE:
            return _page(traces, rows[::-1], has_older=True, has_newer=True)
    found = traces.order_by("-start_ns", "-pk")
    if key_after is not None:
        found = found.filter(_older(*key_after))
    rows = list(found[: PAGE_SIZE + 1])
    has_older, has_newer = len(rows) > PAGE_SIZE, key_after is not None
    return _page(traces, rows[:PAGE_SIZE], has_older=has_older, has_newer=has_newer)


def count_newer(traces: QuerySet[Trace], cursor: str) -> int:
    """How many traces stand above a row, up to ``MAX_NEWER``; 0 for no cursor."""
    key = _key(cursor)
    if key is None:
        return 0
    return len(traces.filter(_newer(*key)).order_by("-start_ns").values_list("pk")[:MAX_NEWER])


def count_by_stop_reason(traces: QuerySet[Trace]) -> dict[str, int]:
    """How many ended traces there are of each stop reason, the most frequent first."""
    # A running trace has none yet; asked so, the index alone can answer.
    ended = traces.exclude(stop_reason="").order_by()
    rows = ended.values_list("stop_reason").annotate(n=Count("pk")).order_by("-n", "stop_reason")
    return dict(rows)


def count_found(readable: QuerySet[Trace], filters: ListFilters) -> FoundCounts:
    """How many traces the filters leave; a search counts the newest ``MAX_COUNTED`` at most."""
    others = filter_traces(readable, filters.but(stop=""))
    if not filters.words:
        total = filter_traces(readable, filters).count()
        return FoundCounts(total=total, by_stop_reason=count_by_stop_reason(others))
    newest = others.order_by("-start_ns", "-pk").values_list("stop_reason", flat=True)
    reasons = Counter(newest[: MAX_COUNTED + 1])
    is_more = reasons.total() > MAX_COUNTED
    total = reasons[filters.stop] if filters.stop else reasons.total()
    ended = {reason: n for reason, n in reasons.most_common() if reason}
    return FoundCounts(total=min(total, MAX_COUNTED), by_stop_reason=ended, is_more=is_more)


def assistants_of(traces: QuerySet[Trace]) -> list[tuple[str, str]]:
    """The assistants that have traces: id and newest name, by name."""
    ids = traces.order_by().values_list("assistant", flat=True).distinct()
    newest = {own: traces.filter(assistant=own).order_by("-start_ns").first() for own in ids if own}
    named = [(own, trace.assistant_name or own) for own, trace in newest.items() if trace]
    return sorted(named, key=lambda pair: pair[1].casefold())


def _page(
    traces: QuerySet[Trace], rows: list[Trace], *, has_older: bool, has_newer: bool
) -> TracePage:
    """``has_newer`` tells that there may be newer ones; the first page need not be asked."""
    if not rows:
        return TracePage(rows=(), older="", newer="", newer_count=0)
    newer = count_newer(traces, cursor_of(rows[0])) if has_newer else 0
    return TracePage(
        rows=tuple(rows),
        older=cursor_of(rows[-1]) if has_older else "",
        newer=cursor_of(rows[0]) if newer else "",
        newer_count=newer,
    )


def _newer(start_ns: int, key: str) -> Q:
    return Q(start_ns__gt=start_ns) | Q(start_ns=start_ns, pk__gt=key)


def _older(start_ns: int, key: str) -> Q:
    return Q(start_ns__lt=start_ns) | Q(start_ns=start_ns, pk__lt=key)


def _key(cursor: str) -> tuple[int, str] | None:
    at, dash, key = cursor.partition("-")
    is_number = at.isascii() and at.isdigit() and len(at) < 20 and int(at) < 1 << 63
    return (int(at), key) if dash and is_number and "\0" not in key else None
