"""Finding traces by the tools, outcomes and models that occur in them.

Place in the house: ``traces``. Labels are stored when a trace has ended, together with its texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Exists, OuterRef, QuerySet

from traces.models import Label, LabelKind, Trace

NEWEST = 1000
"""Traces whose labels are offered as choices."""

MOST_CHOICES = 60


def store_labels(spans: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
    """Store the labels of traces; ``spans`` are the attributes of their spans."""
    rows = [
        Label(trace_id=trace, kind=kind, value=value[:300])
        for trace, own in spans.items()
        for kind, value in dict.fromkeys(pair for one in own for pair in _labels(one))
    ]
    Label.objects.bulk_create(rows, ignore_conflicts=True)


def with_label(traces: QuerySet[Trace], kind: str, value: str) -> QuerySet[Trace]:
    """The traces in which this occurs."""
    return traces.filter(Exists(Label.objects.filter(trace=OuterRef("pk"), kind=kind, value=value)))


def label_choices(traces: QuerySet[Trace]) -> dict[str, list[str]]:
    """By kind, what occurs in the newest of these traces."""
    newest = list(traces.order_by("-start_ns").values_list("pk", flat=True)[:NEWEST])
    found: dict[str, list[str]] = {kind: [] for kind in LabelKind.values}
    rows = Label.objects.filter(trace__in=newest).order_by("kind", "value")
    for kind, value in rows.values_list("kind", "value").distinct():
        if len(found[kind]) < MOST_CHOICES:
            found[kind].append(value)
    return found


def _labels(attributes: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    server, tool = attributes.get("toolloop.server"), attributes.get("gen_ai.tool.name")
    if server and tool:
        yield LabelKind.TOOL, f"{server}.{tool}"
    if outcome := attributes.get("toolloop.outcome"):
        yield LabelKind.OUTCOME, str(outcome)
    if model := attributes.get("gen_ai.response.model"):
        yield LabelKind.MODEL, str(model)
