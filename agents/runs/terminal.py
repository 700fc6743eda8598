"""Runs in a terminal: messages one after the other in one conversation, told as they happen.

Place in the house: ``agents.runs``, behind the command ``run_assistant``.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asgiref.sync import sync_to_async

from agents.loop.events import (
    Compacted,
    Event,
    FallbackStarted,
    ModelDeltaReceived,
    ProviderRetry,
    RunFinished,
    ToolCallFinished,
)
from agents.loop.request import RunOutcome
from agents.models import Conversation
from agents.runs import leases, lifecycle
from agents.runs.approvers import terminal_approver
from agents.runs.event_lines import event_line
from agents.runs.resources import RunResources, release_dead_owners
from agents.runs.sinks import RunEvents
from agents.runs.worker import execute_run, finish_first, tell_ends

CLAIM_PAUSE_SECONDS = 0.2
"""How often a run that waits for another one of its conversation tries to start."""

TRIES_BEFORE_WORD = 5
"""After how many tries a run that waits says so on standard error."""

TRIES_BETWEEN_RENEWALS = 25
"""How often a run that waits renews its place in the queue."""

Write = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class JsonLines:
    """Observer: every event as one JSON line."""

    write: Write

    async def handle(self, event: Event) -> None:
        """Write the event's line."""
        line = event_line(event)
        if line is not None:
            self.write(json.dumps(line, ensure_ascii=False))

    async def flush(self) -> None:
        """Nothing waits."""


@dataclass(slots=True, kw_only=True)
class PlainLines:
    """Observer for people: tool calls as they end on ``note``; the answers on ``write``."""

    write: Write
    note: Write

    async def handle(self, event: Event) -> None:
        """Write what a person wants to see."""
        match event:
            case ModelDeltaReceived():
                return
            case ToolCallFinished():
                result = event.result
                name = f"{result.server}.{result.tool}" if result.tool else result.call.name
                detail = f": {result.error.splitlines()[0][:200]}" if result.error else ""
                self.note(f"[{name} {result.outcome.value} {result.duration_ms:.0f} ms{detail}]")
            case ProviderRetry():
                self.note(f"[provider: {event.error} Trying {event.model} again.]")
            case Compacted():
                self.note(f"[older messages summed up: {event.error or 'done'}]")
            case FallbackStarted():
                self.note(f"[the run could not end by itself: {event.reason}, level {event.level}]")
            case RunFinished() if not event.error:
                pass
            case RunFinished():
                self.note(event.error)

    async def flush(self) -> None:
        """Nothing waits."""


async def run_messages(
    conversation: Conversation,
    messages: Sequence[str],
    *,
    observer: JsonLines | PlainLines,
) -> list[RunOutcome] | None:
    """The outcomes of all messages, one after the other; ``None`` when SIGINT or SIGTERM stopped
    it.
    """
    resources = RunResources()
    loop = asyncio.get_running_loop()
    stop = _Stop(asyncio.current_task())
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.ask)
    outcomes: list[RunOutcome] = []
    try:
        await sync_to_async(_import_libraries)(conversation)
        for message in messages:
            outcomes.append(await _run_message(conversation, message, resources, observer))
        return outcomes
    except asyncio.CancelledError:
        return None
    finally:
        stop.is_over = True
        await RunEvents(_ignore, resources.observers).flush()
        await resources.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _import_libraries(conversation: Conversation) -> None:
    """Import now what takes seconds: it must not count against the first run's time limit."""
    importlib.import_module("agents.providers.openai_chat")
    if conversation.assistant.server_links.exclude(server__transport="python").exists():
        importlib.import_module("agents.mcp_client.connection")


class _Stop:
    """Cancels a task at the first signal, unless it is ending already.

    Later signals change nothing: the end is bounded in time, and broken off it would leave child
    processes behind.
    """

    def __init__(self, task: asyncio.Task[object] | None) -> None:
        self.is_over = False
        self._task = task

    def ask(self) -> None:
        """A signal came."""
        if self._task is not None and not self.is_over:
            self.is_over = True
            self._task.cancel()


async def _run_message(
    conversation: Conversation,
    message: str,
    resources: RunResources,
    observer: JsonLines | PlainLines,
) -> RunOutcome:
    submit = sync_to_async(lifecycle.submit_message)
    run = await finish_first(submit(conversation, message, resources.owner))
    try:
        await _claim(run.pk, conversation.pk, resources)
    except asyncio.CancelledError:
        await sync_to_async(lifecycle.cancel_queued_run)(run.pk)
        raise
    outcome = await execute_run(
        run.pk, resources=resources, approver=terminal_approver(), observers=[observer]
    )
    if isinstance(observer, PlainLines):
        observer.write(outcome.answer)
    return outcome


async def _claim(run_id: str, conversation_id: str, resources: RunResources) -> None:
    """Take the run as soon as its conversation is free; says so where that takes long.

    What another process left unfinished in the conversation is finished first.
    """
    tries, owner = 0, resources.owner
    await finish_first(sync_to_async(release_dead_owners)())
    while not await finish_first(sync_to_async(lifecycle.claim_run)(run_id, owner)):
        if tries == TRIES_BEFORE_WORD:
            sys.stderr.write("Waiting: another run of this conversation is not finished.\n")
        if tries % TRIES_BETWEEN_RENEWALS == 0:
            await sync_to_async(lifecycle.renew_lease)(run_id, owner)
        left, ended = await finish_first(sync_to_async(_take_left)(conversation_id, run_id, owner))
        await tell_ends(ended, resources.observers)
        if left is not None:
            await execute_run(left, resources=resources, approver=terminal_approver())
            continue
        await asyncio.sleep(CLAIM_PAUSE_SECONDS)
        tries += 1


def _take_left(conversation_id: str, own_run: str, owner: str) -> tuple[str | None, list[str]]:
    """The id of a run of a dead process that is ours now, if there is one; and of those that ended
    here."""
    resumable, ended = leases.settle_lost_runs(conversation_id)
    for run_id in resumable:
        if leases.take_over_run(run_id, owner):
            return run_id, ended
    for run_id in lifecycle.claimable_runs(10, conversation_id):
        if run_id != own_run and lifecycle.claim_run(run_id, owner):
            return run_id, ended
    return None, ended


async def _ignore(event: Event) -> None:
    """There is no required sink here."""
