"""The page of the list of traces put together, and the rows that are brought up to date.

Place in the house: ``traces``; called by ``views``. Only traces that go on (or were recorded before
summaries were) have their spans read, and only those that are shown.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from traces.access import readable_traces
from traces.inspection.formats import count, seconds
from traces.inspection.marks import call_state, run_state, stop_word
from traces.inspection_rows import load_spans
from traces.labels import label_choices
from traces.listing import FacetView, ListRowView, axis_seconds, facet_views, row_view
from traces.models import Trace
from traces.queries import (
    COSTS,
    LENGTHS,
    MAX_NEWER,
    SLOW_MS,
    SPANS_OF_TIME,
    STATUSES,
    ListFilters,
    assistants_of,
    count_found,
    count_newer,
    cursor_of,
    filter_traces,
    read_filters,
    read_page,
)
from traces.search import is_idle
from traces.tallies import NS_PER_MS, RunSummary, tally_of

Reader = AbstractBaseUser | AnonymousUser

_SINCE_WORDS = {
    "hour": gettext_lazy("last hour"),
    "day": gettext_lazy("last 24 hours"),
    "week": gettext_lazy("last 7 days"),
    "month": gettext_lazy("last 30 days"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceView:
    """A way to another list; ``title`` says what it holds, or is empty."""

    text: str
    href: str
    is_current: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipView:
    """A filter: what it is set to (empty: not set), how it is taken away, what can be chosen."""

    name: str
    word: str
    value: str
    clear: str
    choices: tuple[ChoiceView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPageView:
    """Everything on the page. ``kept`` is what a new search leaves as it is, ``newest`` is the
    cursor of the first row, ``query`` what narrows the list; ``older`` and ``newer`` are addresses,
    empty where there is nothing. ``nothing_in`` are words in which there is nothing to look for.
    """

    filters: ListFilters
    kept: tuple[tuple[str, str], ...]
    query: str
    views: tuple[ChoiceView, ...]
    chips: tuple[ChipView, ...]
    facets: tuple[tuple[FacetView, str], ...]
    has_bar: bool
    total: str
    rows: tuple[ListRowView, ...]
    axis: int
    axis_text: str
    newest: str
    foot: str
    newer_text: str
    older: str
    newer: str
    has_any: bool
    nothing_in: str


def list_page(user: Reader, query: Mapping[str, str]) -> ListPageView:
    """The page that an address asks for."""
    filters = read_filters(query)
    readable = readable_traces(user)
    found = filter_traces(readable, filters)
    page = read_page(found, after=query.get("after", ""), before=query.get("before", ""))
    counts = count_found(readable, filters)
    total = counts.total
    shown_total = _("more than %(n)s") if counts.is_more else "%(n)s"
    rows, axis = _rows(user, page.rows)
    facets = facet_views(counts.by_stop_reason)
    return ListPageView(
        filters=filters,
        kept=tuple(filters.but(words="").named().items()),
        query=filters.query(),
        views=_quick_views(filters),
        chips=_chips(readable, filters, counts.by_stop_reason),
        facets=tuple((facet, filters.but(stop=facet.reason).query()) for facet in facets),
        has_bar=any(facet.width for facet in facets),
        total=ngettext("%(n)s run", "%(n)s runs", total) % {"n": shown_total % {"n": count(total)}},
        rows=rows,
        axis=axis,
        axis_text=_("Duration, to %(time)s") % {"time": seconds(axis)},
        newest=cursor_of(page.rows[0]) if page.rows else "",
        foot=_("%(shown)s of %(total)s, newest first.")
        % {"shown": count(len(page.rows)), "total": shown_total % {"n": count(total)}},
        newer_text=newer_text(page.newer_count),
        older=filters.query(after=page.older) if page.older else "",
        newer=filters.query(before=page.newer) if page.newer else "",
        has_any=bool(total) or readable.exists(),
        nothing_in=filters.words if is_idle(filters.words) else "",
    )


def fresh_rows(user: Reader, query: Mapping[str, str]) -> tuple[tuple[ListRowView, ...], int, str]:
    """The rows that ``ids`` names as they are now, how many newer runs match, and a sentence on
    those. ``newest`` is the cursor of the first row that is shown, ``axis`` its axis in seconds."""
    ids = query.get("ids", "").replace("\0", "").split(",")[:50]
    readable = readable_traces(user)
    traces = list(readable.filter(pk__in=ids).order_by("-start_ns"))
    axis = query.get("axis", "")
    known_axis = int(axis) if axis.isascii() and axis.isdigit() and len(axis) < 8 else 0
    rows, _axis = _rows(user, traces, axis=known_axis)
    newest = query.get("newest", "")
    found = filter_traces(readable, read_filters(query))
    newer = count_newer(found, newest) if newest else len(found.values_list("pk")[:1])
    return rows, newer, newer_text(newer)


def newer_text(newer: int) -> str:
    """How many runs came after those that are shown; empty for none."""
    if newer >= MAX_NEWER:
        return _("Rows keep their place; many newer runs wait above.")
    if not newer:
        return ""
    return ngettext(
        "Rows keep their place; %(n)s newer run waits above.",
        "Rows keep their place; %(n)s newer runs wait above.",
        newer,
    ) % {"n": count(newer)}


def _rows(
    user: Reader, traces: Sequence[Trace], *, axis: int = 0
) -> tuple[tuple[ListRowView, ...], int]:
    now_ns = time.time_ns()
    lengths = [(trace.end_ns or now_ns) - trace.start_ns for trace in traces]
    shared = axis or axis_seconds(max(lengths, default=0) / NS_PER_MS)
    names = _names(user, traces)
    rows = tuple(
        row_view(trace, _summary(trace, now_ns), now_ns=now_ns, axis=shared, users=names)
        for trace in traces
    )
    return rows, shared


def _summary(trace: Trace, now_ns: int) -> RunSummary | None:
    """The numbers of a trace that has none stored."""
    if trace.end_ns is not None and trace.summary is not None:
        return None
    return tally_of(load_spans(trace.pk)).sum_up(trace.start_ns, trace.end_ns or now_ns)


def _names(user: Reader, traces: Sequence[Trace]) -> dict[str, str]:
    """The names of other people whose runs are shown, by their keys."""
    keys = {trace.user for trace in traces} - {str(user.pk)}
    known = [key for key in keys if key.isascii() and key.isdigit() and len(key) < 19]
    if not known:
        return {}
    people = get_user_model().objects.filter(pk__in=known)
    return {str(person.pk): person.get_username() for person in people}


def _quick_views(filters: ListFilters) -> tuple[ChoiceView, ...]:
    slow = _("%(time)s and longer") % {"time": seconds(SLOW_MS / 1000)}
    words = (
        ("", _("All"), ""),
        ("fell_back", _("Fell back"), _("not answered by the model itself")),
        ("errors", _("Errors"), _("with a failed call, request or hook")),
        ("slow", _("Slow"), slow),
    )
    return tuple(
        ChoiceView(
            text=text,
            href=filters.but(view=name).query() or ".",
            is_current=filters.view == name,
            title=title,
        )
        for name, text, title in words
    )


def _chips(
    readable: QuerySet[Trace], filters: ListFilters, counts: Mapping[str, int]
) -> tuple[ChipView, ...]:
    times = [(name, str(_SINCE_WORDS[name])) for name in SPANS_OF_TIME]
    statuses = [(name, run_state(name).word) for name in STATUSES]
    reasons = [(name, stop_word(name)) for name in sorted({*counts, *filter(None, [filters.stop])})]
    assistants = assistants_of(readable)
    labels = label_choices(readable)
    outcomes = [(name, call_state(name).word) for name in labels["outcome"]]
    lengths = [(name, _("%(time)s and longer") % {"time": seconds(ms / 1000)})
               for name, ms in LENGTHS.items()]  # fmt: skip
    costs = [(name, _("%(cost)s and more") % {"cost": name}) for name in COSTS]
    has_costs = filters.cost or readable.filter(cost__isnull=False).exists()
    return (
        _chip(filters, "since", _("time"), times),
        _chip(filters, "assistant", _("assistant"), assistants),
        _chip(filters, "status", _("status"), statuses),
        _chip(filters, "stop", _("stop reason"), reasons),
        _chip(filters, "tool", _("tool"), [(name, name) for name in labels["tool"]]),
        _chip(filters, "outcome", _("outcome"), outcomes),
        _chip(filters, "model", _("model"), [(name, name) for name in labels["model"]]),
        _chip(filters, "length", _("duration"), lengths),
        *([_chip(filters, "cost", _("cost"), costs)] if has_costs else []),
    )


def _chip(
    filters: ListFilters, name: str, word: str, choices: Sequence[tuple[str, str]]
) -> ChipView:
    value = getattr(filters, name)
    return ChipView(
        name=name,
        word=word,
        value=dict(choices).get(value, value),
        clear=filters.but(**{name: ""}).query() or ".",
        choices=tuple(
            ChoiceView(text=text, href=filters.but(**{name: key}).query(), is_current=key == value)
            for key, text in choices
        ),
    )
