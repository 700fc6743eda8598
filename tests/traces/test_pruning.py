"""Old traces go, with what only they needed, and nothing else."""

from __future__ import annotations

import io
import time

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from agents.loop import events
from agents.models import Assistant
from tests.traces.events import tell_small_run
from traces.exporting import trace_as_json
from traces.models import Blob, Document, Mention, Span, Trace
from traces.pruning import DAY_NS, QUARANTINE_NS, prune
from traces.recorder import TraceSink
from traces.search import search_traces

pytestmark = pytest.mark.django_db(transaction=True)


async def record(*runs: str, age_days: int = 0) -> None:
    """Small runs whose traces began so long ago."""
    sink = TraceSink()
    for run in runs:
        await tell_small_run(sink.handle, run)
    await sink.close()

    @sync_to_async
    def age() -> None:
        moment = time.time_ns() - age_days * DAY_NS
        Trace.objects.filter(run__in=runs).update(start_ns=moment, end_ns=moment + 1000)
        Span.objects.filter(run__in=runs).update(start_ns=moment, end_ns=moment + 1000)

    await age()


def let_quarantine_pass() -> None:
    Blob.objects.filter(unused_since_ns__isnull=False).update(
        unused_since_ns=time.time_ns() - 2 * QUARANTINE_NS
    )


def pruned(*arguments: str) -> str:
    out = io.StringIO()
    call_command("prune_traces", *arguments, stdout=out)
    return out.getvalue()


def runs() -> list[str]:
    return sorted(Trace.objects.values_list("run", flat=True))


async def test_traces_older_than_the_given_days_go_with_spans_and_texts() -> None:
    await record("r1", age_days=40)
    await record("r2", age_days=10)

    @sync_to_async
    def check() -> None:
        assert "deleted: 1 traces" in pruned("--days", "30")
        assert runs() == ["r2"]
        assert set(Span.objects.values_list("run", flat=True)) == {"r2"}
        assert set(Mention.objects.values_list("trace__run", flat=True)) == {"r2"}
        assert not Document.objects.filter(mentions=None).exists()
        assert [trace.run for trace in search_traces(Trace.objects.all(), "Done")] == ["r2"]

    await check()


async def test_an_assistants_own_number_of_days_comes_first() -> None:
    await record("r1", age_days=40)

    @sync_to_async
    def check() -> None:
        helper = Assistant.objects.create(assistant_id="helper", name="Helper", trace_days=90)
        pruned("--days", "30")
        assert runs() == ["r1"]
        Assistant.objects.filter(pk=helper.pk).update(trace_days=7)
        pruned()
        assert runs() == []

    await check()


async def test_without_a_number_nothing_goes() -> None:
    await record("r1", age_days=4000)
    assert "deleted: 0 traces" in await sync_to_async(pruned)()
    assert "1 traces would be deleted" in await sync_to_async(pruned)("--days", "1", "--dry-run")
    assert await sync_to_async(runs)() == ["r1"]


async def test_running_traces_stay() -> None:
    sink = TraceSink()
    started = events.RunStarted(run="r1", at_ns=1, conversation="c", trace="t", assistant="helper")
    await sink.handle(started)
    await sink.close()
    await sync_to_async(pruned)("--days", "1")
    assert await sync_to_async(runs)() == ["r1"]


async def test_payloads_go_at_a_later_pruning_and_what_others_need_stays() -> None:
    await record("r1", age_days=40)
    await record("r2")

    @sync_to_async
    def check() -> None:
        before = Blob.objects.count()
        pruned("--days", "30")
        assert Blob.objects.count() == before
        let_quarantine_pass()
        pruned("--days", "30")
        assert Blob.objects.count() < before
        whole = trace_as_json(Trace.objects.get(run="r2"))
        assert "gen_ai.tool.call.result" in str(whole)
        assert "Hello" in str(whole)

    await check()


async def test_a_payload_that_is_needed_again_stays() -> None:
    await record("r1", age_days=40)
    await sync_to_async(pruned)("--days", "30")
    await record("r2")

    @sync_to_async
    def check() -> None:
        let_quarantine_pass()
        done = prune(Trace.objects.none())
        assert done.payloads > 0
        assert "Hello" in str(trace_as_json(Trace.objects.get(run="r2")))

    await check()


def test_a_number_of_days_below_one_is_refused() -> None:
    with pytest.raises(CommandError, match="1 or more, got 0"):
        pruned("--days", "0")
