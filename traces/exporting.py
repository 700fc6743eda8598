"""A stored trace as plain values.

Place in the house: ``traces``. Payload hashes are replaced by the payloads themselves.
"""

from __future__ import annotations

from traces.attributes import PAYLOADS
from traces.inspection.reading import hashes_of_all
from traces.inspection_rows import load_spans
from traces.message_lists import SharedList
from traces.models import Span, Trace
from traces.records import SpanRecord
from traces.storage import load_payloads


def find_trace(identifier: str) -> Trace | None:
    """The trace of this id, or the trace of the run of this id."""
    trace = Trace.objects.filter(pk=identifier).first()
    if trace is not None:
        return trace
    span = Span.objects.filter(run=identifier).select_related("trace").first()
    return span.trace if span else None


def trace_as_json(trace: Trace) -> dict[str, object]:
    """``{"trace": {...}, "spans": [...]}``, spans in the order in which they began."""
    spans = load_spans(trace.pk)
    payloads = load_payloads(hashes_of_all(spans))
    return {
        "trace": {field.attname: getattr(trace, field.attname) for field in Trace._meta.fields},
        "spans": [_span_as_json(span, payloads) for span in spans],
    }


def turn_value(turn: str) -> int | str | None:
    """A stored turn as events have it: a number, ``"F"``, or ``None`` outside of turns."""
    return int(turn) if turn.isdigit() else turn or None


def _span_as_json(span: SpanRecord, payloads: dict[str, object]) -> dict[str, object]:
    return {
        "id": span.id,
        "parent": span.parent or None,
        "run": span.run,
        "kind": span.kind,
        "name": span.name,
        "turn": turn_value(span.turn),
        "status": span.status,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "attributes": {
            name: _resolve(value, payloads) if name in PAYLOADS else value
            for name, value in span.attributes.items()
        },
    }


def _resolve(value: object, payloads: dict[str, object]) -> object:
    if isinstance(value, list | SharedList):
        return [payloads.get(digest) for digest in value]
    return payloads.get(str(value))
