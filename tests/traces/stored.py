"""Runs as rows, told as the loop would tell them, without an event loop."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.events import Teller, tool_call
from traces.models import Trace
from traces.records import RunLost, SpanRecord, TraceRecord
from traces.span_builder import SpanBuilder
from traces.storage import TraceStorage

SECOND = 1_000_000_000
BEGIN = 1_770_000_000


def store_events(told: Sequence[events.Event]) -> None:
    """Store what these events change, all of it at once."""
    builder = SpanBuilder(lambda: secrets.token_hex(8))
    spans: dict[str, SpanRecord] = {}
    traces: dict[str, TraceRecord] = {}
    lost: list[RunLost] = []
    for event in told:
        for change in builder.handle(event):
            match change:
                case SpanRecord():
                    spans[change.id] = change
                case TraceRecord():
                    traces[change.id] = change
                case RunLost():
                    lost.append(change)
    TraceStorage().write(list(spans.values()), list(traces.values()), lost)


def store_run(
    run: str = "r1",
    *,
    user: object = "",
    message: str = "Hello",
    begins_at: int = 0,
    tell: Callable[[Teller], None] | None = None,
    is_ended: bool = True,
    **end: object,
) -> Trace:
    """The trace ``trace-<run>`` of a run that began so many seconds after the others.

    The first moment is in the year 2026. ``tell`` tells what happens in it, one call with its
    result unless given; ``end`` are fields of its end.
    """
    told: list[events.Event] = []
    teller = Teller(told.append, run=run)
    teller.start(trace=f"trace-{run}", user=str(user), message=message, assistant_name="Helper")
    (tell or tell_one_call)(teller)
    if is_ended:
        teller.finish(**end)
    store_events(
        [replace(event, at_ns=event.at_ns + (BEGIN + begins_at) * SECOND) for event in told]
    )
    return Trace.objects.get(pk=f"trace-{run}")


def tell_one_call(teller: Teller) -> None:
    """A question, one call that is answered, the answer."""
    call = tool_call(f"{teller.run}:0:1:0")
    question = {"role": "user", "content": "Hello"}
    teller.tell(events.TurnStarted, turn=0)
    teller.ask(question)
    teller.answer("", call)
    teller.start_call(call)
    teller.finish_call(call, full_text="hi")
    teller.tell(events.TurnFinished, turn=0, decision="continued", calls=1)
    teller.tell(events.TurnStarted, turn=1)
    teller.ask(question, {"role": "tool", "content": "hi", "tool_call_id": call.id}, turn=1)
    teller.answer("Done", turn=1)
    teller.tell(events.TurnFinished, turn=1, decision="answered")


def tell_failed_call(teller: Teller) -> None:
    """A call that fails, nothing else."""
    call = tool_call(f"{teller.run}:0:1:0")
    teller.tell(events.TurnStarted, turn=0)
    teller.ask({"role": "user", "content": "Hello"})
    teller.answer("", call)
    teller.start_call(call)
    teller.finish_call(call, Outcome.TOOL_ERROR, text="Error: no such station")


def tell_fallback(teller: Teller) -> None:
    """The loop gives up and the fallback answers."""
    teller.tell(events.FallbackStarted, level=2, reason="max_turns", assistant="fb")


def tell_nothing(teller: Teller) -> None:
    """The run begins, no more."""
