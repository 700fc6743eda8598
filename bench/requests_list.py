"""How long the page of requests takes in the database when there are very many.

    python -m bench.requests_list [--spans 1000000] [--rounds 5] [--check]

Fills a new SQLite database with the requests of the last 30 days, one in five spans (the page reads
no others) and five a trace, at four providers, one of them asked rarely; then asks what the page
asks, for an operator and for somebody who reads a fiftieth of the traces. Prints medians in
milliseconds. ``--check`` exits with 1 if a number is above its bound.
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

BOUND_MS = 100
SPANS_PER_REQUEST, REQUESTS_PER_TRACE = 5, 5
USERS = 50
AT_ONCE = 2000
DAYS = 30


def fill(requests: int) -> None:
    """Write the traces and their requests."""
    from django.db import transaction

    from traces.models import ModelCall, Trace

    random.seed(7)
    span_ns = DAYS * 86_400 * 10**9
    start_ns = time.time_ns() - span_ns
    count = requests // REQUESTS_PER_TRACE
    for first in range(0, count, AT_ONCE):
        traces = [
            Trace(
                id=f"{n:032x}", run=f"{n:032x}", conversation=f"{n:032x}", assistant="helper",
                assistant_name="Helper", user=str(n % USERS), status="completed",
                start_ns=start_ns + n * span_ns // count, end_ns=start_ns + n * span_ns // count,
            )
            for n in range(first, min(first + AT_ONCE, count))
        ]  # fmt: skip
        calls = [_call(ModelCall, trace, n) for trace in traces for n in range(REQUESTS_PER_TRACE)]
        with transaction.atomic():
            Trace.objects.bulk_create(traces)
            ModelCall.objects.bulk_create(calls)


def _call(model: type, trace: object, place: int) -> object:
    provider = random.choices(("main", "spare", "local", "rare"), (70, 20, 10, 0.01))[0]
    status = random.choices(("ok", "error", "cancelled"), (970, 29, 1))[0]
    return model(
        id=f"{trace.pk[-12:]}{place:04x}", trace=trace, provider=provider, model=f"{provider}-1",  # type: ignore[attr-defined]
        at_ns=trace.start_ns + place * 10**9, status=status, duration_ms=2400,  # type: ignore[attr-defined]
        http_status=503 if status == "error" else None,
        error="The provider cannot answer now (503): overloaded" if status == "error" else "",
        first_chunk_ms=600, input_tokens=4000, output_tokens=200,
        cost=random.random() / 100 if provider != "local" else None,
    )  # fmt: skip


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    """Name and work of everything that is asked."""
    from django.contrib.auth import get_user_model

    from traces.model_calls import (
        PERIODS,
        Filters,
        filtered,
        read_rows,
        readable_calls,
        sums_by_provider,
    )
    from traces.models import ModelCall

    people = get_user_model().objects
    for who, person in (
        ("operator", people.create_superuser("root", password="x")),
        ("reader", people.create_user("reader", id=7)),
    ):
        calls = readable_calls(person)
        middle = ModelCall.objects.order_by("at_ns")[1000]
        chosen = {
            "no filter": Filters(),
            "failed": Filters(outcome="error"),
            "broken off": Filters(outcome="cancelled"),
            "answered": Filters(outcome="ok"),
            "a provider": Filters(provider="spare"),
            "a rare provider": Filters(provider="rare"),
            "provider, failed": Filters(provider="local", outcome="error"),
            "rare, failed": Filters(provider="rare", outcome="error"),
            "rare, broken off": Filters(provider="rare", outcome="cancelled"),
            "no such provider": Filters(provider="none"),
            "last hour": Filters(period="hour"),
            "last week, failed": Filters(period="week", outcome="error"),
            "far back": Filters(before=(middle.at_ns, middle.id)),
        }
        for name, filters in chosen.items():
            yield f"{who}: {name}", lambda f=filters, c=calls: read_rows(filtered(c, f))
        for period, seconds in PERIODS.items():
            yield f"{who}: sums, {period}", lambda s=seconds, c=calls: sums_by_provider(c, s)


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
        fill(options.spans // SPANS_PER_REQUEST)
        size = Path(folder, "traces.sqlite3").stat().st_size / 1e6
        seconds = time.perf_counter() - began
        print(f"the requests of {options.spans:,} spans in {seconds:.0f} s, {size:,.0f} MB")
        return _ask(options.rounds, is_checked=options.check)


def _ask(rounds: int, *, is_checked: bool) -> int:
    is_slow = False
    for name, work in questions():
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            work()
            times.append((time.perf_counter() - began) * 1000)
        median = statistics.median(times)
        is_slow = is_slow or median > BOUND_MS
        print(f"{name:<32}{median:8.1f} ms{'   ABOVE' if median > BOUND_MS else ''}")
    return int(is_slow and is_checked)


if __name__ == "__main__":
    sys.exit(main())
