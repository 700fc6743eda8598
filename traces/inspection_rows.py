"""Rows of the database as records for the inspector.

Place in the house: ``traces``; the one bridge from the tables to ``traces.inspection``. Payloads
are loaded by hash with ``traces.storage.load_payloads``: those that ``page_hashes``,
``detail_hashes`` and ``panel_hashes`` name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db.models import TextField
from django.db.models.functions import Cast

from traces.attributes import SHARED
from traces.message_lists import read_list
from traces.models import Span, Trace
from traces.records import SpanRecord, TraceRecord

_SPAN_COLUMNS = (
    "id", "trace_id", "parent", "run", "position", "kind", "name", "start_ns", "turn", "status",
    "end_ns",
)  # fmt: skip


def load_trace(trace_id: str) -> tuple[TraceRecord, list[SpanRecord]] | None:
    """A trace and all its spans in order, payload attributes as hashes; ``None`` for an unknown
    id."""
    row = Trace.objects.filter(pk=trace_id).values(*TraceRecord.__slots__).first()
    if row is None:
        return None
    return TraceRecord(**row), load_spans(trace_id)


def load_spans(trace_id: str) -> list[SpanRecord]:
    """All spans of a trace in order."""
    found = Span.objects.filter(trace=trace_id).order_by("position", "id")
    rows = found.values_list(*_SPAN_COLUMNS, Cast("attributes", TextField()))
    # One parser for all rows: a call of it for each takes three times as long.
    texts = [row[-1] for row in rows]
    attributes = json.loads(f"[{','.join(texts)}]")
    _join_lists(dict(zip((row[0] for row in rows), attributes, strict=True)))
    return [_span(*row[:-1], known) for row, known in zip(rows, attributes, strict=True)]


def _join_lists(rows: Mapping[str, dict[str, object]]) -> None:
    """Read the lists that refer to those of earlier spans: attributes by span, in order."""
    for name in SHARED:
        known: dict[str, object] = {}
        for span, attributes in rows.items():
            value = attributes.get(name)
            if isinstance(value, list):
                known[span] = attributes[name] = read_list(value, known)


def _span(
    id_: str,
    trace: str,
    parent: str,
    run: str,
    position: int,
    kind: str,
    name: str,
    start_ns: int,
    turn: str,
    status: str,
    end_ns: int | None,
    attributes: dict[str, object],
) -> SpanRecord:
    return SpanRecord(
        id=id_, trace=trace, parent=parent, run=run, position=position, kind=kind, name=name,
        start_ns=start_ns, turn=turn, status=status, end_ns=end_ns, attributes=attributes,
    )  # fmt: skip
