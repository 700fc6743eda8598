"""Requests have a currency and more indexes; those that were recorded before are listed too."""

from __future__ import annotations

from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from traces.costs import cost_of

AT_ONCE = 2000
NS_PER_MS = 1_000_000
MOST = 2**53


def list_older_requests(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """A row for the span of every request that has ended."""
    calls, spans = apps.get_model("traces", "ModelCall"), apps.get_model("traces", "Span")
    ended = spans.objects.filter(kind="model", end_ns__isnull=False).order_by("pk")
    last = ""
    while found := list(ended.filter(pk__gt=last)[:AT_ONCE]):
        calls.objects.bulk_create([_call(calls, span) for span in found], ignore_conflicts=True)
        last = found[-1].pk


def _call(calls: Any, span: Any) -> object:
    known = span.attributes
    first = known.get("gen_ai.response.time_to_first_chunk")
    price = known.get("toolloop.price")
    model = known.get("gen_ai.response.model") or known.get("gen_ai.request.model") or ""
    return calls(
        id=span.pk,
        trace_id=span.trace_id,
        at_ns=span.start_ns,
        provider=str(known.get("gen_ai.provider.name") or "")[:100],
        model=str(model)[:200],
        status=span.status,
        http_status=_whole(known.get("toolloop.error.status")),
        error=str(known.get("toolloop.error") or "")[:1000],
        first_chunk_ms=round(first * 1000) if isinstance(first, float) else None,
        duration_ms=(span.end_ns - span.start_ns) // NS_PER_MS,
        input_tokens=_whole(known.get("gen_ai.usage.input_tokens")) or 0,
        output_tokens=_whole(known.get("gen_ai.usage.output_tokens")) or 0,
        cost=cost_of(known),
        currency=str(price.get("currency") or "")[:20] if isinstance(price, dict) else "",
    )


def _whole(value: object) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return max(0, min(value, MOST)) if is_whole else None


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0009_model_calls"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="modelcall",
            name="model_call_failed",
        ),
        migrations.AddField(
            model_name="modelcall",
            name="currency",
            field=models.CharField(blank=True, db_default="", default="", max_length=20),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(fields=["status", "-at_ns", "-id"], name="model_call_by_status"),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                fields=["provider", "status", "-at_ns", "-id"], name="model_call_by_both"
            ),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                fields=[
                    "provider",
                    "at_ns",
                    "status",
                    "input_tokens",
                    "output_tokens",
                    "cost",
                    "currency",
                    "first_chunk_ms",
                ],
                name="model_call_sums",
            ),
        ),
        migrations.RunPython(list_older_requests, migrations.RunPython.noop),
    ]
