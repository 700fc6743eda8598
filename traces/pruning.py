"""Deleting old traces, in batches that hold nobody up.

Place in the house: ``traces``; behind the command ``prune_traces``. A trace goes with its spans and
with the texts that only it mentioned. A payload goes when no span refers to it any more, and only
at a later pruning, two hours on: a process may still take it for stored
(``storage.KNOWN_SECONDS``).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from traces.attributes import PAYLOADS
from traces.full_text import remove_from_index
from traces.models import Blob, Document, Label, Mention, ModelCall, Span, Trace

BATCH = 100
"""Traces, or a thousand times as many small rows, that one transaction touches."""

PAUSE_SECONDS = 0.05
"""Between two batches: time for those who wait to write."""

QUARANTINE_NS = 2 * 3600 * 1_000_000_000
"""How long a payload must have been without a span before it is deleted."""

DAY_NS = 86_400 * 1_000_000_000


@dataclass(slots=True)
class Pruned:
    """What was deleted, and payloads that will be at a later pruning."""

    traces: int = 0
    texts: int = 0
    payloads: int = 0
    payloads_later: int = 0


def old_traces(
    days: int | None, by_assistant: Mapping[str, int | None], *, now_ns: int
) -> QuerySet[Trace]:
    """Ended traces that may go: after ``days``, or after their own assistant's number of them.

    ``by_assistant`` has numbers of days by assistant id; ``None`` there or as ``days`` keeps.
    """
    wanted = Q(pk__in=[])
    for assistant, own in by_assistant.items():
        if own is not None:
            wanted |= Q(assistant=assistant, start_ns__lt=now_ns - own * DAY_NS)
    if days is not None:
        others = ~Q(assistant__in=list(by_assistant))
        wanted |= others & Q(start_ns__lt=now_ns - days * DAY_NS)
    return Trace.objects.filter(wanted, end_ns__isnull=False)


def prune(traces: QuerySet[Trace]) -> Pruned:
    """Delete these traces and what only they needed."""
    pruned = Pruned()
    for ids in _batches(traces):
        with transaction.atomic():
            Span.objects.filter(trace__in=ids).delete()
            mentioned = list(
                Mention.objects.filter(trace__in=ids).values_list("document", flat=True).distinct()
            )
            Mention.objects.filter(trace__in=ids).delete()
            Label.objects.filter(trace__in=ids).delete()
            ModelCall.objects.filter(trace__in=ids).delete()
            pruned.texts += _delete_texts(mentioned)
            Trace.objects.filter(pk__in=ids).delete()
        pruned.traces += len(ids)
        time.sleep(PAUSE_SECONDS)
    _sweep_payloads(pruned)
    return pruned


def _batches(traces: QuerySet[Trace]) -> Iterator[list[str]]:
    while ids := list(traces.order_by("start_ns").values_list("pk", flat=True)[:BATCH]):
        yield ids


def _delete_texts(document_ids: Iterable[int]) -> int:
    """Delete those texts that no trace mentions any more."""
    still = Mention.objects.filter(document=OuterRef("pk"))
    gone = list(Document.objects.filter(~Exists(still), pk__in=document_ids))
    remove_from_index(gone)
    Document.objects.filter(pk__in=[document.pk for document in gone]).delete()
    return len(gone)


def _sweep_payloads(pruned: Pruned) -> None:
    """Note which payloads no span refers to; delete those that were noted long ago."""
    began_ns = time.time_ns()
    used = _used_hashes(Span.objects.all())
    unused = set(Blob.objects.values_list("sha256", flat=True).iterator()) - used
    due = Blob.objects.filter(unused_since_ns__lt=began_ns - QUARANTINE_NS)
    for some in _parts(sorted(unused & set(due.values_list("sha256", flat=True)))):
        with transaction.atomic():
            # What was recorded since the sweep began may need one of them again.
            newer = _used_hashes(Span.objects.filter(start_ns__gte=began_ns - DAY_NS))
            gone = [digest for digest in some if digest not in newer]
            pruned.payloads += Blob.objects.filter(sha256__in=gone).delete()[0]
        time.sleep(PAUSE_SECONDS)
    for some in _parts(sorted(unused)):
        noted = Blob.objects.filter(sha256__in=some, unused_since_ns__isnull=True)
        pruned.payloads_later += noted.update(unused_since_ns=began_ns)
    back = Blob.objects.filter(unused_since_ns__isnull=False).values_list("sha256", flat=True)
    for some in _parts(sorted(set(back) & used)):
        Blob.objects.filter(sha256__in=some).update(unused_since_ns=None)


def _used_hashes(spans: QuerySet[Span]) -> set[str]:
    """The payloads that spans refer to."""
    used: set[str] = set()
    for attributes in spans.order_by().values_list("attributes", flat=True).iterator(2000):
        for name in PAYLOADS & attributes.keys():
            found = attributes[name]
            used.update(found if isinstance(found, list) else [found])
    return used


def _parts(hashes: list[str], size: int = 500) -> Iterator[list[str]]:
    for start in range(0, len(hashes), size):
        yield hashes[start : start + size]
