"""A trace as a file: which formats there are and how each is made.

Place in the house: ``traces``; called by the command and by views. Who may read the trace was
asked before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from traces.evidence import trace_as_evidence
from traces.exporting import trace_as_json
from traces.inspection.reading import hashes_of_all
from traces.inspection_rows import load_trace
from traces.models import Trace
from traces.otlp import trace_as_otlp
from traces.records import SpanRecord, TraceRecord
from traces.storage import load_payloads
from traces.transcript import trace_as_transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """One format: its name in addresses and commands, what people call it, how its file ends.

    ``make(trace, has_content)`` gives the text; ``can_leave_out`` tells whether the format knows a
    variant without texts.
    """

    name: str
    label: Promise
    suffix: str
    content_type: str
    make: Callable[[Trace, bool], str]
    can_leave_out: bool = False


def export_format(name: str) -> ExportFormat | None:
    """The format of this name."""
    return next((known for known in FORMATS if known.name == name), None)


def file_name(trace: Trace, chosen: ExportFormat) -> str:
    """What the file is called: ``trace-1f3a9c04.md``."""
    kept = "".join(letter for letter in trace.pk if letter.isalnum() or letter in "-_")
    return f"trace-{kept[:8]}.{chosen.suffix}"


def _json(trace: Trace, has_content: bool) -> str:
    return json.dumps(trace_as_json(trace), ensure_ascii=False)


def _otlp(trace: Trace, has_content: bool) -> str:
    record, spans, payloads = _loaded(trace)
    made = trace_as_otlp(record, spans, payloads, now_ns=time.time_ns(), has_content=has_content)
    return json.dumps(made, ensure_ascii=False)


def _markdown(trace: Trace, has_content: bool) -> str:
    record, spans, payloads = _loaded(trace)
    return trace_as_evidence(
        record, spans, payloads, now_ns=time.time_ns(), has_content=has_content
    )


def _transcript(trace: Trace, has_content: bool) -> str:
    record, spans, payloads = _loaded(trace)
    return trace_as_transcript(record, spans, payloads, now_ns=time.time_ns())


def _loaded(trace: Trace) -> tuple[TraceRecord, list[SpanRecord], dict[str, object]]:
    """A trace with its spans and all their payloads."""
    found = load_trace(trace.pk)
    assert found is not None
    record, spans = found
    return record, spans, load_payloads(hashes_of_all(spans))


FORMATS = (
    ExportFormat(
        name="json",
        label=gettext_lazy("JSON, everything"),
        suffix="json",
        content_type="application/json",
        make=_json,
    ),
    ExportFormat(
        name="otlp",
        label=gettext_lazy("OTLP/JSON, for OpenTelemetry"),
        suffix="otlp.json",
        content_type="application/json",
        make=_otlp,
        can_leave_out=True,
    ),
    ExportFormat(
        name="markdown",
        label=gettext_lazy("Markdown, as evidence"),
        suffix="md",
        content_type="text/markdown; charset=utf-8",
        make=_markdown,
        can_leave_out=True,
    ),
    ExportFormat(
        name="transcript",
        label=gettext_lazy("Transcript, plain text"),
        suffix="txt",
        content_type="text/plain; charset=utf-8",
        make=_transcript,
    ),
)
