"""Takes queued runs and executes them in this process, and ends them in order.

Place in the house: ``agents.runs``; one per web process or worker. A closed tab does not stop a
run: tasks belong to the supervisor, never to a socket.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError

from agents.loop.interfaces import Approver
from agents.runs import leases, lifecycle, workers
from agents.runs.connections import drop_broken_connections
from agents.runs.resources import RunResources, release_dead_owners
from agents.runs.sinks import Observer
from agents.runs.warming import warm_servers
from agents.runs.worker import execute_run, tell_ends

SCAN_SECONDS = 1.0
"""How often the table is looked at for runs that nobody announced."""

DRAIN_SECONDS = 10.0
"""How long running runs may take to end when the process is asked to stop."""

logger = logging.getLogger(__name__)


class Supervisor:
    """The runs of this process. Everything here happens on one event loop.

    ``tell_lost`` gets the conversation of a run that another process lost and this one ended.
    ``others`` is how many other processes take runs, as far as is known.
    """

    def __init__(
        self,
        *,
        resources: RunResources,
        approver: Approver,
        observers: Sequence[Observer],
        tell_lost: Callable[[str], None],
        runs_at_once: int | None = None,
    ) -> None:
        self._resources = resources
        self._approver = approver
        self._observers = observers
        self._tell_lost = tell_lost
        self._runs_at_once = runs_at_once or settings.TOOLLOOP_RUNS_PER_PROCESS
        self.others = 0
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._scan_task: asyncio.Task[None] | None = None
        self._sign_task: asyncio.Task[None] | None = None
        self._warm_task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._is_draining = False
        self._refused: set[str] = set()
        self._stopped: set[str] = set()

    def start(self) -> None:
        """Begin to take runs."""
        if self._scan_task is None:
            self._scan_task = asyncio.create_task(self._scan())
            self._sign_task = asyncio.create_task(self._give_signs())
            self._warm_task = asyncio.create_task(self._warm())

    def wake(self) -> None:
        """Look at the table now: a message was submitted."""
        self._wake.set()

    def stop_run(self, run_id: str) -> bool:
        """Stop a run of this process; ``False`` where it is not here or has ended."""
        task = self._runs.get(run_id)
        if task is None or run_id in self._stopped:
            return task is not None
        # Once: a second one would break off how the run ends.
        self._stopped.add(run_id)
        return task.cancel()

    async def drain(self) -> None:
        """Take no more runs, let the turns that run end, give the runs back, end all children."""
        self._is_draining = True
        tasks = (self._scan_task, self._warm_task, self._sign_task)
        own = [task for task in tasks if task is not None]
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)
        if own:
            await self._sign_off()
        self._resources.is_ending = True
        running = list(self._runs.values())
        if running:
            _, late = await asyncio.wait(running, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=DRAIN_SECONDS)
        for observer in self._resources.observers:
            await observer.flush()
        await self._resources.close()

    async def _scan(self) -> None:
        await self._free_runs_of_the_dead()
        while True:
            self._wake.clear()
            try:
                await self._take_runs()
            except Exception:  # the database may be away for a moment; the next look may succeed
                logger.exception("queued runs could not be taken")
                await sync_to_async(drop_broken_connections)()
            try:
                async with asyncio.timeout(SCAN_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _free_runs_of_the_dead(self) -> None:
        try:
            await sync_to_async(release_dead_owners)()
        except Exception:  # their leases run out anyway
            logger.exception("runs of dead processes could not be looked for")

    async def _give_signs(self) -> None:
        """Say regularly that this process takes runs, and learn who else does."""
        owner, room = self._resources.owner, self._runs_at_once
        while True:
            try:
                self.others = await sync_to_async(workers.give_sign)(owner, room)
            except Exception:  # the database may be away for a moment
                logger.exception("the sign of life of this process could not be stored")
            await asyncio.sleep(workers.SIGN_SECONDS)

    async def _sign_off(self) -> None:
        try:
            await sync_to_async(workers.sign_off)(self._resources.owner)
        except Exception:  # its last sign of life will be too old soon
            logger.exception("this process could not be signed off")

    async def _warm(self) -> None:
        try:
            await warm_servers(self._resources)
        except Exception:  # a convenience: runs open what they need by themselves
            logger.exception("servers could not be opened ahead")

    async def _take_runs(self) -> None:
        await self._stop_wanted()
        resumable, ended = await sync_to_async(leases.settle_lost_runs)()
        for run in await tell_ends(ended, self._resources.observers):
            self._tell_lost(run.conversation_id)
        for run_id in resumable[: self._room()]:
            take_over = sync_to_async(leases.take_over_run)
            if run_id not in self._runs and await take_over(run_id, self._resources.owner):
                self._begin(run_id)
        for run_id in await sync_to_async(lifecycle.claimable_runs)(self._room()):
            if run_id not in self._refused and await self._claim(run_id):
                self._begin(run_id)

    def _room(self) -> int:
        """How many more runs this process may take."""
        return max(self._runs_at_once - len(self._runs), 0)

    async def _stop_wanted(self) -> None:
        """Stop the runs that somebody wants to end, from whichever process."""
        if not self._runs:
            return
        for run_id in await sync_to_async(leases.stop_requests)(list(self._runs)):
            self.stop_run(run_id)

    def _begin(self, run_id: str) -> None:
        task = asyncio.create_task(self._execute(run_id))
        task.add_done_callback(partial(self._on_end, run_id))
        self._runs[run_id] = task

    async def _claim(self, run_id: str) -> bool:
        """Whether the run is ours now. One that cannot be claimed must not hold up the others."""
        try:
            return await sync_to_async(lifecycle.claim_run)(run_id, self._resources.owner)
        except DatabaseError:  # the database may be away: the next look tries again
            raise
        except Exception:  # whatever is wrong with one run, the queue must go on
            logger.exception("run %s cannot be begun; this process leaves it alone", run_id)
            self._refused.add(run_id)
            return False

    async def _execute(self, run_id: str) -> None:
        try:
            await execute_run(
                run_id,
                resources=self._resources,
                approver=self._approver,
                observers=self._observers,
            )
        except asyncio.CancelledError:
            # A stop by a person ends here; when the process ends, its loop cancels this task again.
            return
        except Exception:  # the worker's last line: the run is taken over when its lease runs out
            logger.exception("run %s could not be executed", run_id)

    def _on_end(self, run_id: str, task: asyncio.Task[None]) -> None:
        # Not in the task: one that is cancelled before its first step never runs.
        self._runs.pop(run_id, None)
        self._stopped.discard(run_id)
        self.wake()
