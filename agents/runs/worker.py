"""Executes a claimed run: plan, loop, storing, and what happens when something unforeseen breaks.

Place in the house: ``agents.runs``. The same function serves commands, web processes and workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from agents.loop.endings import HandedBack
from agents.loop.events import Event, RunFinished
from agents.loop.interfaces import Approver, SystemClock
from agents.loop.request import RunOutcome
from agents.loop.run import run_loop
from agents.models import Run
from agents.runs import leases, lifecycle
from agents.runs.message_recorder import MessageRecorder
from agents.runs.outside import RunOutside, build_request
from agents.runs.plans import RunPlan, load_plan
from agents.runs.resources import RunResources
from agents.runs.sinks import Observer, RunEvents

RENEW_SECONDS = 10.0
"""How often a worker renews its lease."""

Result = TypeVar("Result")

LOST_TEXT = "This run was taken from its process, which had been silent for too long."

_LOST = RunOutcome(
    status="interrupted", stop_reason="worker_lost", level=3, answer="", error=LOST_TEXT
)
"""What a worker knows of a run with which another one goes on."""

logger = logging.getLogger(__name__)


async def finish_first(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work returns; where this task is cancelled meanwhile, the stop comes after it.

    For steps that must not be left half done: a run that is claimed must also be ended.
    """
    own, inner, is_stopped = asyncio.current_task(), asyncio.ensure_future(work), False
    assert own is not None
    while not inner.done():
        try:
            await asyncio.wait({inner})
        except asyncio.CancelledError:
            own.uncancel()
            is_stopped = True
    if is_stopped:
        own.cancel()
    return inner.result()


async def execute_run(
    run_id: str,
    *,
    resources: RunResources,
    approver: Approver,
    observers: Sequence[Observer] = (),
) -> RunOutcome:
    """Bring a claimed run to its end; its outcome.

    Raises ``CancelledError`` when the task is cancelled: the run is stored as cancelled then. Where
    the process ends it is given back instead, and its outcome is what it has so far: running.
    """
    plan = await finish_first(sync_to_async(_open_plan)(run_id))
    holder = lifecycle.Holder(
        conversation=plan.run.conversation_id, run=run_id, owner=resources.owner
    )
    recorder = MessageRecorder(holder, plan.leaf_id, plan.last_call_message)
    events = RunEvents(recorder.handle, [*resources.observers, *observers])
    outside = RunOutside(plan, resources=resources, approver=approver, emit=events)
    lease = asyncio.create_task(_hold_lease(run_id, resources.owner, asyncio.current_task()))
    try:
        return await run_loop(build_request(plan, plan.run), outside=outside, emit=events)
    except HandedBack:
        return await finish_first(_give_back(run_id, resources.owner, recorder))
    except asyncio.CancelledError:
        if resources.is_ending:
            await finish_first(_give_back(run_id, resources.owner, recorder))
        raise
    except lifecycle.RunLost:
        _forget_cancel(lease)
        logger.warning("Run %s was taken from this process: it was silent for too long", run_id)
        return await _leave(run_id, observers)
    except Exception as error:  # a bug or a failing database: the run must still end
        logger.exception("Run %s broke", run_id)
        what = f"An unexpected error ended this run: {type(error).__name__}. See the log."
        return await _end_broken(run_id, what, events)
    finally:
        lease.cancel()
        await asyncio.gather(lease, return_exceptions=True)


async def _give_back(run_id: str, owner: str, recorder: MessageRecorder) -> RunOutcome:
    """Let another process go on, behind everything that came of the run here."""
    try:
        await recorder.flush()
    except Exception:  # whatever cannot be stored, the run must be given back
        logger.exception("Run %s is given back without its last results", run_id)
    await sync_to_async(leases.release_run)(run_id, owner)
    return RunOutcome(status="running", stop_reason="", level=None, answer="")


def _forget_cancel(lease: asyncio.Task[None]) -> None:
    """Where the lease's end cancelled this task, that was not a stop by a person."""
    own = asyncio.current_task()
    if lease.done() and own is not None:
        own.uncancel()


def _open_plan(run_id: str) -> RunPlan:
    plan = load_plan(run_id)
    lifecycle.keep_configuration(run_id, plan.run.configuration)
    return plan


async def _hold_lease(run_id: str, owner: str, work: asyncio.Task[Any] | None) -> None:
    """Renew the lease as long as it is ours; work on a run that is not ours any more is ended."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        if not await sync_to_async(lifecycle.renew_lease)(run_id, owner):
            break
    if work is not None:
        work.cancel()


async def _end_broken(run_id: str, what: str, events: RunEvents) -> RunOutcome:
    """End a run that broke inside visibly: status interrupted, level 3."""
    text = await sync_to_async(lifecycle.interrupt_run)(run_id, what)
    outcome = replace(_LOST, answer=text or "", error=what)
    await events.tell_observers(_finished(run_id, outcome))
    return outcome


async def _leave(run_id: str, observers: Sequence[Observer]) -> RunOutcome:
    """Tell those who watch here that another process has the run now; its trace goes on there."""
    await RunEvents(_store_nothing, observers).tell_observers(_finished(run_id, _LOST))
    return _LOST


async def tell_ends(run_ids: Sequence[str], observers: Sequence[Observer]) -> list[Run]:
    """Tell the observers how runs ended on which no process works any more; their rows."""
    runs = await sync_to_async(lambda: list(Run.objects.filter(pk__in=run_ids)))()
    for run in runs:
        outcome = RunOutcome(
            status=run.status,
            stop_reason=run.stop_reason,
            level=run.level,
            answer="",
            error=run.error,
        )
        await RunEvents(_store_nothing, observers).tell_observers(_finished(run.pk, outcome))
    return runs


async def _store_nothing(event: Event) -> None:
    """These runs are stored already."""


def _finished(run_id: str, outcome: RunOutcome) -> RunFinished:
    return RunFinished(
        run=run_id,
        at_ns=SystemClock().now_ns(),
        status=outcome.status,
        stop_reason=outcome.stop_reason,
        level=outcome.level,
        answer=outcome.answer,
        turns=0,
        tool_calls=0,
        input_tokens=0,
        output_tokens=0,
        error=outcome.error,
    )
