"""A trace when its root run begins, and when it has ended.

Place in the house: ``traces``, pure; called by ``span_builder``.
"""

from __future__ import annotations

from dataclasses import replace

from agents.loop import events
from traces.records import RunLost, TraceRecord
from traces.tallies import Tally

MESSAGE_START = 200
"""Characters kept of the user's message."""


def started_trace(event: events.RunStarted, resumed: events.RunResumed | None) -> TraceRecord:
    """The trace of a root run that began, here or in another process."""
    return TraceRecord(
        id=event.trace,
        run=event.run,
        conversation=event.conversation,
        assistant=event.assistant,
        assistant_name=event.assistant_name,
        user=event.user,
        message=event.message[:MESSAGE_START],
        start_ns=resumed.started_ns if resumed else event.at_ns,
    )


def ended_trace(trace: TraceRecord, event: events.RunFinished, tally: Tally | None) -> TraceRecord:
    """The trace with how its root run ended and what was counted.

    Without a ``tally`` it is counted later (``traces.summaries``): another process had begun it.
    """
    end_ns = max(event.at_ns, trace.start_ns)
    ended = TraceRecord(
        id=trace.id, run=trace.run, conversation=trace.conversation, assistant=trace.assistant,
        assistant_name=trace.assistant_name, user=trace.user, message=trace.message,
        start_ns=trace.start_ns, status=event.status, stop_reason=event.stop_reason,
        level=event.level, turns=event.turns, tool_calls=event.tool_calls,
        input_tokens=event.input_tokens, output_tokens=event.output_tokens, end_ns=end_ns,
    )  # fmt: skip
    if tally is None:
        return ended
    return replace(ended, **tally.sum_up(trace.start_ns, end_ns).columns())


def lost_run(event: events.RunFinished) -> RunLost:
    """The end of a run of which nothing is in memory."""
    return RunLost(
        run=event.run,
        at_ns=event.at_ns,
        status=event.status,
        stop_reason=event.stop_reason,
        level=event.level,
    )
