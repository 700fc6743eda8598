"""The sink that stores traces, behind the run and never in its way.

Place in the house: ``traces``; named in ``TOOLLOOP_EVENT_SINKS``. One writer per event loop serves
all runs: it gathers changes for 100 ms and stores them in one transaction. A run goes on when
storing fails. The texts of ended traces are indexed for the search a little later.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import weakref
from asyncio import AbstractEventLoop

from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError

from agents.loop.events import Event, ModelDeltaReceived
from traces.live import tell_changed
from traces.records import Change, RunLost, RunTakenOver, SpanRecord, TraceRecord
from traces.search import index_ended_traces
from traces.span_builder import SpanBuilder
from traces.storage import TraceStorage

GATHER_SECONDS = 0.1

INDEX_SECONDS = 1.0
"""How long after a trace has ended its texts are indexed: the next run comes first."""

MAX_PENDING = 20_000
"""Spans that wait for a database that refuses them; beyond that the waiting ones are given up."""

logger = logging.getLogger(__name__)


class TraceSink:
    """Stores what happened in runs as spans. Many sinks of one event loop share one writer."""

    async def handle(self, event: Event) -> None:
        """Take note of an event; returns at once, whatever the database does."""
        if not isinstance(event, ModelDeltaReceived):
            _writer().take(event)

    async def flush(self) -> None:
        """Wait until everything that was handed over is stored, or storing it was tried."""
        await _writer().flush()

    async def close(self) -> None:
        """Store and index what is left; the writer keeps no task and no timer."""
        await _writer().flush()
        await _writer().index()


class _Writer:
    """Gathers changes and stores them. Lives on one event loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._builder = SpanBuilder(lambda: secrets.token_hex(8))
        self._storage = TraceStorage()
        self._spans: dict[str, SpanRecord] = {}
        self._traces: dict[str, TraceRecord] = {}
        self._lost_runs: list[RunLost] = []
        self._taken_over: list[RunTakenOver] = []
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._index_timer: asyncio.TimerHandle | None = None
        self._index_task: asyncio.Task[None] | None = None
        self._is_refused = False

    def take(self, event: Event) -> None:
        """Note an event's changes and see to it that they are stored soon."""
        for change in self._builder.handle(event):
            self._note(change)
        if self._has_pending() and self._timer is None:
            loop = self._loop()
            if loop is not None:
                self._timer = loop.call_later(GATHER_SECONDS, self._start)

    async def flush(self) -> None:
        """Store until nothing waits, or the database refuses it."""
        while self._has_pending() or self._task is not None:
            self._start()
            if self._task is None:
                return
            await asyncio.shield(self._task)
            if self._is_refused:
                return

    async def index(self) -> None:
        """Index the texts of ended traces now, if that is still to be done."""
        if self._index_timer is not None:
            self._start_indexing()
        if self._index_task is not None:
            await asyncio.shield(self._index_task)

    def _note(self, change: Change) -> None:
        match change:
            case SpanRecord():
                self._spans[change.id] = change
            case TraceRecord():
                self._traces[change.id] = change
            case RunLost():
                self._lost_runs.append(change)
            case RunTakenOver():
                self._taken_over.append(change)

    def _has_pending(self) -> bool:
        return bool(self._spans or self._traces or self._lost_runs or self._taken_over)

    def _start(self) -> None:
        """Begin to store unless that is going on; the task is held until it is done."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is None and self._has_pending():
            self._task = asyncio.ensure_future(self._store())

    async def _store(self) -> None:
        spans, traces, lost_runs = self._spans, self._traces, self._lost_runs
        taken_over, self._taken_over = self._taken_over, []
        self._spans, self._traces, self._lost_runs = {}, {}, []
        try:
            write = sync_to_async(self._storage.write)
            await write(list(spans.values()), list(traces.values()), lost_runs, taken_over)
            self._is_refused = False
            tell_changed({*traces, *(span.trace for span in spans.values())})
            if lost_runs or any(trace.end_ns for trace in traces.values()):
                self._index_soon()
        # An observer may fail in any way: it is logged, and the run goes on (style, rule 9).
        except Exception as error:
            self._is_refused = True
            self._keep(spans, traces, lost_runs, error)
        finally:
            self._task = None
            if not self._builder.has_runs():
                self._storage.forget_payloads()

    def _index_soon(self) -> None:
        loop = self._loop()
        if self._index_timer is None and loop is not None:
            self._index_timer = loop.call_later(INDEX_SECONDS, self._start_indexing)

    def _start_indexing(self) -> None:
        if self._index_timer is not None:
            self._index_timer.cancel()
            self._index_timer = None
        if self._index_task is None:
            self._index_task = asyncio.ensure_future(self._index())

    async def _index(self) -> None:
        """Some traces after the other, so that what is to be stored comes between them."""
        try:
            while await sync_to_async(index_ended_traces)():
                pass
        # What is not indexed now is indexed after the next run; nothing depends on it.
        except Exception as error:
            logger.warning("traces could not be indexed: %s: %s", type(error).__name__, error)
        finally:
            self._index_task = None

    def _keep(
        self,
        spans: dict[str, SpanRecord],
        traces: dict[str, TraceRecord],
        lost_runs: list[RunLost],
        error: Exception,
    ) -> None:
        """Put back what was not stored, to be stored with the next changes; newer states win."""
        count = len(spans) + len(self._spans)
        is_away = isinstance(error, (OperationalError, InterfaceError))
        is_kept = is_away and count <= MAX_PENDING
        outcome = "tried again with the next changes" if is_kept else "given up"
        logger.error(
            "%d spans could not be stored and are %s: %s: %s",
            len(spans),
            outcome,
            type(error).__name__,
            error,
            exc_info=None if is_away else error,
        )
        if is_kept:
            self._spans = {**spans, **self._spans}
            self._traces = {**traces, **self._traces}
            self._lost_runs = [*lost_runs, *self._lost_runs]
        else:
            self._storage.forget_payloads()


_writers: weakref.WeakKeyDictionary[AbstractEventLoop, _Writer] = weakref.WeakKeyDictionary()


def _writer() -> _Writer:
    """The writer of the running loop."""
    loop = asyncio.get_running_loop()
    writer = _writers.get(loop)
    if writer is None:
        writer = _writers[loop] = _Writer(loop)
    return writer
