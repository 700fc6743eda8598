"""The sink stores runs behind their back: whole, once, and without holding them up."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from pytest_django import Settings

from agents.loop import events
from tests.traces.events import START_NS, Teller, tell_small_run, tool_call
from traces import recorder
from traces.exporting import find_trace, trace_as_json
from traces.models import Blob, Span, Trace
from traces.recorder import TraceSink
from traces.redaction import register_secret
from traces.storage import TraceStorage

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def exported(identifier: str) -> dict[str, Any]:
    trace = find_trace(identifier)
    assert trace is not None
    return json.loads(json.dumps(trace_as_json(trace)))


async def record(*told: events.Event) -> TraceSink:
    sink = TraceSink()
    for event in told:
        await sink.handle(event)
    await sink.flush()
    return sink


def told_by(tell: Callable[[Teller], None], run: str = "r1") -> list[events.Event]:
    said: list[events.Event] = []
    tell(Teller(said.append, run=run))
    return said


async def test_a_run_is_stored_and_exported_whole() -> None:
    sink = TraceSink()
    await tell_small_run(sink.handle, "r1")
    await sink.flush()
    found = await exported("trace-of-r1")
    assert found["trace"]["status"] == "completed"
    assert found["trace"]["run"] == "r1"
    spans = [(span["kind"], span["name"], span["turn"], span["status"]) for span in found["spans"]]
    assert spans == [
        ("agent", "helper", None, "ok"),
        ("turn", "turn 0", 0, "ok"),
        ("model", "chat m1", 0, "ok"),
        ("tool_call", "echo.echo", 0, "ok"),
        ("turn", "turn 1", 1, "ok"),
        ("model", "chat m1", 1, "ok"),
    ]
    assert found["spans"][0]["parent"] is None
    assert found["spans"][2]["parent"] == found["spans"][1]["id"]
    call = found["spans"][3]["attributes"]
    assert call["gen_ai.tool.call.arguments"] == {"message": "hi"}
    assert call["gen_ai.tool.call.result"] == "hi"
    last = found["spans"][5]["attributes"]
    assert [message["role"] for message in last["gen_ai.input.messages"]] == ["user", "tool"]
    assert last["gen_ai.output.messages"] == [{"role": "assistant", "content": "Done"}]
    assert await exported("r1") == found


async def test_a_message_that_is_sent_again_is_stored_once() -> None:
    sink = TraceSink()
    await tell_small_run(sink.handle, "r1")
    await sink.flush()
    before = await Blob.objects.acount()
    await tell_small_run(sink.handle, "r2")
    await sink.flush()
    assert await Trace.objects.acount() == 2
    new_blobs = await Blob.objects.acount() - before
    assert new_blobs == 2, "the messages with a call's id of their own, and nothing else"


async def test_a_big_result_is_kept_whole() -> None:
    text = "".join(f"line {number} ü\n" for number in range(80_000))

    def tell(teller: Teller) -> None:
        call = tool_call()
        teller.start()
        teller.start_call(call)
        teller.finish_call(call, text=text[:8000], full_text=text, is_truncated=True)
        teller.finish()

    await record(*told_by(tell))
    found = await exported("t1")
    assert found["spans"][1]["attributes"]["gen_ai.tool.call.result"] == text
    assert (await Blob.objects.order_by("-size").afirst()).size > 1_000_000  # type: ignore[union-attr]


async def test_fifty_turns_serialise_each_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    original = TraceStorage._remember

    def remember(self: TraceStorage, value: object, digest: str) -> None:
        written.append(id(value))
        original(self, value, digest)

    monkeypatch.setattr(TraceStorage, "_remember", remember)
    messages = [{"role": "user", "content": f"{number}"} for number in range(100)]

    def tell(teller: Teller) -> None:
        teller.start()
        for turn in range(50):
            teller.ask(*messages[: 2 * turn + 2], turn=turn)
            teller.answer("x", turn=turn)
        teller.finish()

    sink = TraceSink()
    for event in told_by(tell):
        await sink.handle(event)
        await sink.flush()
    assert sorted(written.count(id(message)) for message in messages) == [1] * 100


async def test_spans_are_stored_while_they_are_open_without_a_flush() -> None:
    sink = TraceSink()
    await sink.handle(told_by(lambda teller: teller.start())[0])
    async with asyncio.timeout(5):
        while not await Span.objects.filter(status="running").aexists():
            await asyncio.sleep(0.01)
    await sink.close()


async def test_handling_an_event_does_not_wait_for_the_database() -> None:
    sink = TraceSink()
    begun = time.perf_counter()
    await sink.handle(told_by(lambda teller: teller.start())[0])
    assert time.perf_counter() - begun < recorder.GATHER_SECONDS / 2
    assert not await Span.objects.aexists()
    await sink.flush()
    assert await Span.objects.acount() == 1


def start_and_finish(teller: Teller) -> None:
    teller.start()
    teller.finish()


async def test_a_database_that_is_away_costs_nothing_but_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = TraceStorage.write
    refusals = [OperationalError("database is away")] * 2

    def write(self: TraceStorage, *changes: Any) -> None:
        if refusals:
            raise refusals.pop()
        original(self, *changes)

    monkeypatch.setattr(TraceStorage, "write", write)
    start, end = told_by(start_and_finish)
    with caplog.at_level(logging.ERROR, logger="traces"):
        sink = await record(start)
        await sink.handle(end)
        await sink.flush()
    assert "database is away" in caplog.text
    await sink.flush()
    assert [span.status async for span in Span.objects.all()] == ["ok"]


async def test_waiting_spans_do_not_grow_without_bound(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def write(self: TraceStorage, *changes: Any) -> None:
        raise OperationalError("database is away")

    monkeypatch.setattr(TraceStorage, "write", write)
    monkeypatch.setattr(recorder, "MAX_PENDING", 3)
    sink = TraceSink()
    with caplog.at_level(logging.ERROR, logger="traces"):
        for number in range(5):
            for event in told_by(lambda teller: teller.start(), run=f"r{number}"):
                await sink.handle(event)
            await sink.flush()
    assert "given up" in caplog.text
    assert len(recorder._writer()._spans) <= 3


async def test_a_payload_that_is_no_json_does_not_stop_the_trace() -> None:
    def tell(teller: Teller) -> None:
        call = tool_call()
        teller.start(message="half \ud83d and \0")
        teller.start_call(call, arguments={"n": float("nan"), "t": "a\0b", "u": "\\u0000"})
        teller.finish_call(call, structured={"x": float("inf")}, error="e\0", text="\ud800")
        teller.finish()

    await record(*told_by(tell))
    attributes = (await exported("t1"))["spans"][1]["attributes"]
    assert attributes["gen_ai.tool.call.arguments"] == {"n": "nan", "t": "a\ufffdb", "u": "\\u0000"}
    assert attributes["toolloop.structured"] == {"x": "inf"}


async def test_secrets_do_not_reach_the_database(settings: Settings) -> None:
    register_secret("registered-secret-value")
    settings.OPENAI_API_KEY = "key-from-the-environment"

    def tell(teller: Teller) -> None:
        call = tool_call()
        teller.start(message="registered-secret-value")
        teller.ask({"role": "user", "content": "Bearer abcdefgh1234"})
        teller.start_call(call, arguments={"password": "hunter2!"})
        teller.finish_call(call, error="key-from-the-environment was refused", text="x")
        teller.finish("failed", error="registered-secret-value")

    await record(*told_by(tell))
    stored = json.dumps(await exported("t1"))
    for secret in ("registered-secret", "abcdefgh1234", "hunter2", "key-from-the-environment"):
        assert secret not in stored
    assert stored.count("[redacted]") >= 5


async def test_the_open_spans_of_a_dead_process_become_lost() -> None:
    start = told_by(lambda teller: teller.start())[0]
    await record(start)
    recorder._writers.clear()
    end = told_by(lambda teller: teller.finish("interrupted", stop_reason="worker_lost"))[0]
    await record(end)
    span, trace = await Span.objects.aget(), await Trace.objects.aget()
    assert (span.status, trace.status, trace.stop_reason) == ("lost", "interrupted", "worker_lost")
    assert span.end_ns == trace.end_ns == START_NS + 1_000_000


async def test_many_runs_at_once_share_one_writer() -> None:
    sinks = [TraceSink() for _ in range(20)]
    jobs = [tell_small_run(sink.handle, f"r{n}") for n, sink in enumerate(sinks)]
    await asyncio.gather(*jobs)
    await sinks[0].flush()
    assert await Trace.objects.filter(status="completed").acount() == 20
    assert await Span.objects.acount() == 120


def test_the_command_writes_one_json_object() -> None:
    asyncio.run(record_small_run())
    out = io.StringIO()
    call_command("export_trace", "r1", "--format", "json", stdout=out)
    found = json.loads(out.getvalue())
    assert found["trace"]["id"] == "trace-of-r1"
    keys = {"id", "parent", "kind", "name", "turn", "status", "start_ns", "end_ns", "attributes"}
    assert all(keys <= span.keys() for span in found["spans"])


async def record_small_run() -> None:
    sink = TraceSink()
    await tell_small_run(sink.handle, "r1")
    await sink.close()


def test_an_unknown_trace_and_an_unknown_format_are_told() -> None:
    with pytest.raises(CommandError, match="there is no trace and no traced run with the id nope"):
        call_command("export_trace", "nope")
    with pytest.raises(CommandError, match="json"):
        call_command("export_trace", "nope", "--format", "pdf")


def test_a_closed_span_without_an_end_is_refused_by_the_database() -> None:
    with connection.cursor() as cursor, pytest.raises(Exception, match="span_ended_has_status"):
        cursor.execute(
            "INSERT INTO traces_span (id, trace_id, parent, run, position, kind, name, turn,"
            " status, start_ns, attributes)"
            " VALUES ('a', 't', '', 'r', 1, 'turn', 'x', '', 'ok', 1, '{}')"
        )
