"""What the list shows of traces whose end was not told by the process that began them.

Place in the house: ``traces``. Counted from the stored spans, once, when their texts are indexed.
"""

from __future__ import annotations

from collections.abc import Collection

from traces.inspection_rows import load_spans
from traces.models import Trace
from traces.tallies import tally_of


def store_missing_summaries(trace_ids: Collection[str]) -> None:
    """Count those of these ended traces that were not counted while they went on."""
    uncounted = Trace.objects.filter(pk__in=trace_ids, summary__isnull=True, end_ns__isnull=False)
    for trace in uncounted:
        summary = tally_of(load_spans(trace.pk)).sum_up(trace.start_ns, trace.end_ns or 0)
        Trace.objects.filter(pk=trace.pk).update(**summary.columns())
