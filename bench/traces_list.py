"""How long the list of traces takes in the database when it is large.

    python -m bench.traces_list [--spans 1000000] [--rounds 5] [--check]

Fills a new SQLite database with traces of 25 spans each and their searchable texts, English and
Chinese, then asks what the page asks: a page for each of the usual filters, the counts beside it,
searches for a rare word, a frequent one, an inner part of one, two Chinese characters and a phrase.
Prints medians in milliseconds. ``--check`` exits with 1 if a number is above its bound.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FILTER_BOUND_MS, SEARCH_BOUND_MS = 100, 300

PAGE_BOUND_MS = 300
"""For all that a page asks, put together as what is printed."""

SPANS_PER_TRACE = 25
TEXTS_PER_TRACE = 4
AT_ONCE = 1000

_KINDS = ("agent", "policy", "turn", "model", "tool_call", "tool_call")
_WORDS = (
    *("weather", "forecast", "umbrella", "temperature", "station", "harbour", "invoice", "refund"),
    *("order", "customer", "delivery", "database", "index", "branch", "commit", "release"),
    *("report", "quarter", "budget", "meeting", "calendar", "holiday", "travel", "hotel", "flight"),
    *("train", "ticket", "museum", "recipe", "dinner", "market", "price", "exchange", "summary"),
)
_CHINESE = (
    "北京今天的天气怎么样",
    "上个月的订单为什么少了",
    "把合同里的日期列成表",
    "明天早上六点出门",
)
_REASONS = ("answered",) * 14 + (
    "max_turns",
    "errors",
    "time",
    "cancelled",
    "provider_error",
    "repeats",
)


def fill(span_count: int) -> None:
    """Write the traces, spans and texts."""
    from django.db import transaction

    from traces.full_text import add_to_index
    from traces.models import Document, Label, Mention, Span, Trace

    random.seed(7)
    start_ns, step_ns = time.time_ns() - 30 * 86_400 * 10**9, 30 * 86_400 * 10**9 * SPANS_PER_TRACE
    count = span_count // SPANS_PER_TRACE
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        traces = [_trace(Trace, n, start_ns + n * step_ns // span_count) for n in numbers]
        with transaction.atomic():
            Trace.objects.bulk_create(traces)
            Span.objects.bulk_create(
                [_span(Span, trace, place) for trace in traces for place in range(SPANS_PER_TRACE)]
            )
            documents = Document.objects.bulk_create(
                [
                    Document(
                        sha256=f"{trace.pk}{place}".ljust(64, "0"), text=_text(trace.pk, place)
                    )
                    for trace in traces
                    for place in range(TEXTS_PER_TRACE)
                ]
            )
            add_to_index(documents)
            Label.objects.bulk_create(
                [
                    Label(trace=trace, kind=kind, value=value)
                    for trace in traces
                    for kind, value in _labels()
                ]
            )
            Mention.objects.bulk_create(
                [
                    Mention(trace=trace, document=documents[at * TEXTS_PER_TRACE + place])
                    for at, trace in enumerate(traces)
                    for place in range(TEXTS_PER_TRACE)
                ]
            )


def _trace(model: type, number: int, start_ns: int) -> object:
    reason = random.choice(_REASONS)
    status = {"cancelled": "cancelled", "provider_error": "failed"}.get(reason, "completed")
    duration_ms = random.randrange(400, 15_000)
    return model(
        id=f"{number:032x}", run=f"{number:032x}", conversation=f"{number // 3:032x}",
        assistant=f"assistant-{number % 7}", assistant_name=f"Assistant {number % 7}",
        user=str(number % 50), message=" ".join(random.choices(_WORDS, k=8)), status=status,
        stop_reason=reason, level=None if status == "cancelled" else 1, turns=4, tool_calls=8,
        input_tokens=9000, output_tokens=400, start_ns=start_ns,
        end_ns=start_ns + duration_ms * 10**6, is_indexed=True, duration_ms=duration_ms,
        errors=int(random.random() < 0.05), retries=int(random.random() < 0.05),
        fell_back=reason in ("max_turns", "errors", "time", "repeats"), first_token_ms=600,
        cost=random.random() * 0.4,
        summary={"segments": [["M", 0, 5000, 60, 0, 1, 0], ["C", 5000, 5000, 60, 0, 1, 0]]},
    )  # fmt: skip


def _labels() -> Iterator[tuple[str, str]]:
    """Three of forty tools, a rare outcome now and then, one of three models; one tool is rare."""
    for number in random.sample(range(40), k=3):
        yield "tool", f"server-{number % 5}.tool-{number}"
    if random.random() < 0.0005:
        yield "tool", "server-0.rare"
    yield "outcome", "ok"
    if random.random() < 0.05:
        yield "outcome", random.choice(("tool_error", "timeout", "denied"))
    yield "model", random.choice(("small", "large", "huge"))


def _span(model: type, trace: object, place: int) -> object:
    return model(
        id=f"{trace.pk[-12:]}{place:04x}", trace=trace, parent="", run=trace.pk, position=place,  # type: ignore[attr-defined]
        kind=_KINDS[place % len(_KINDS)], name="weather.get", turn=str(place // 5), status="ok",
        start_ns=trace.start_ns + place, end_ns=trace.start_ns + place + 5,  # type: ignore[attr-defined]
        attributes={"gen_ai.tool.name": "get", "toolloop.server": "weather", "toolloop.chars": 412,
                    "gen_ai.tool.call.result": "0" * 64, "toolloop.duration_ms": 12.5},
    )  # fmt: skip


def _text(key: str, place: int) -> str:
    words = " ".join(random.choices(_WORDS, k=40))
    chinese = random.choice(_CHINESE) if place == 0 else ""
    return f"{words} {chinese} code-{key[-6:]}-{place}"


_USUAL: dict[str, dict[str, str]] = {
    "no filter": {},
    "status failed": {"status": "failed"},
    "stop reason": {"stop": "max_turns"},
    "assistant": {"assistant": "assistant-3"},
    "last day": {"since": "day"},
    "errors": {"view": "errors"},
    "fell back": {"view": "fell_back"},
    "slow": {"view": "slow"},
    "assistant, reason": {"assistant": "assistant-3", "stop": "errors"},
    "tool": {"tool": "server-3.tool-3"},
    "tool, rare": {"tool": "server-0.rare"},
    "tool, none": {"tool": "nowhere.none"},
    "outcome": {"outcome": "timeout"},
    "model": {"model": "huge"},
    "tool, outcome": {"tool": "server-3.tool-3", "outcome": "denied"},
    "longer than 10 min": {"length": "10min"},
    "cost": {"cost": "0.1"},
    "cost, none": {"cost": "1"},
}
"""The usual filters of the list."""


def questions() -> Iterator[tuple[str, int, Callable[[], object]]]:
    """Name, bound in ms and the work of everything that is asked."""
    from django.contrib.auth import get_user_model

    from traces.list_page import list_page
    from traces.models import Trace
    from traces.queries import (
        ListFilters,
        assistants_of,
        count_by_stop_reason,
        filter_traces,
        read_page,
    )

    def page(filters: ListFilters) -> Callable[[], object]:
        return lambda: read_page(filter_traces(Trace.objects.all(), filters))

    for name, given in _USUAL.items():
        yield f"page: {name}", FILTER_BOUND_MS, page(ListFilters(**given))
    middle = f"{Trace.objects.order_by('start_ns')[1000].start_ns}-x"
    person = get_user_model().objects.create_superuser("bench", password="x")

    def whole(**query: str) -> Callable[[], object]:
        return lambda: list_page(person, query)

    yield "whole page", PAGE_BOUND_MS, whole()
    yield "whole page: assistant", PAGE_BOUND_MS, whole(assistant="assistant-3")
    yield "whole page: umbrella", PAGE_BOUND_MS, whole(q="umbrella")
    yield "whole page: 订单", PAGE_BOUND_MS, whole(q="订单")
    yield "page: far back", FILTER_BOUND_MS, lambda: read_page(Trace.objects.all(), after=middle)
    yield "counts", FILTER_BOUND_MS, lambda: count_by_stop_reason(Trace.objects.all())
    yield "assistants", FILTER_BOUND_MS, lambda: assistants_of(Trace.objects.all())
    words = {
        "rare": "code-0003e8-2", "frequent": "umbrella", "inner part": "mbrell",
        "Chinese pair": "订单", "Chinese phrase": "北京今天的天气", "two words": "museum refund",
        "phrase": '"hotel flight"', "none": "nowhere-to-be-found",
    }  # fmt: skip
    for name, text in words.items():
        yield f"search: {name}", SEARCH_BOUND_MS, page(ListFilters(words=text))
    both = ListFilters(words="订单", stop="max_turns")
    yield "search, reason", SEARCH_BOUND_MS, page(both)


def main() -> int:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/traces.sqlite3"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        began = time.perf_counter()
        fill(options.spans)
        size = Path(folder, "traces.sqlite3").stat().st_size / 1e6
        print(f"{options.spans:,} spans in {time.perf_counter() - began:.0f} s, {size:,.0f} MB")
        return _ask(options.rounds, is_checked=options.check)


def _ask(rounds: int, *, is_checked: bool) -> int:
    is_slow = False
    for name, bound, work in questions():
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            work()
            times.append((time.perf_counter() - began) * 1000)
        median = statistics.median(times)
        is_slow = is_slow or median > bound
        print(f"{name:<24}{median:8.1f} ms   bound {bound}{'   ABOVE' if median > bound else ''}")
    return int(is_slow and is_checked)


if __name__ == "__main__":
    sys.exit(main())
