"""What one web process holds: its hub, its supervisor, its approver, and its ties to others.

Place in the house: ``agents.runs``. Daphne has no lifespan, so ``asgi.py`` starts and drains this
with the reactor; where no reactor calls (tests), the first socket starts it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from django.conf import settings

from agents.loop.open_calls import OpenCalls
from agents.mcp_client.pool import ServerPool
from agents.runs.approvals import BrowserApprover
from agents.runs.broadcaster import TAKERS
from agents.runs.follower import Follower
from agents.runs.hub import Hub, Render, RenderAll
from agents.runs.relay import Relay, make_relay
from agents.runs.requests import obey_requests
from agents.runs.resources import RunResources
from agents.runs.supervisor import Supervisor


@dataclass(slots=True, kw_only=True)
class WebProcess:
    """The parts that consumers and pages share. ``relay`` leads to other processes, if any."""

    hub: Hub
    supervisor: Supervisor
    approver: BrowserApprover
    open_calls: OpenCalls
    pool: ServerPool
    follower: Follower
    relay: Relay | None

    def announce(self, conversation_id: str) -> None:
        """Something changed that no event tells: have runs looked for, and other pages told."""
        self.supervisor.wake()
        self.ask_takers("look")
        self.follower.broadcaster.tell_changed(conversation_id)

    def ask_takers(self, kind: str, **content: str) -> bool:
        """Ask whichever process has a run (``agents.runs.requests``); whether that is possible."""
        if self.relay is not None:
            self.relay.publish(TAKERS, {"kind": kind, **content})
        return self.relay is not None


_process: WebProcess | None = None


def start_web_process(render: Render, render_all: RenderAll) -> WebProcess:
    """The parts of this process; made and started at the first call, on the running event loop."""
    global _process
    if _process is None:
        _process = _make_process(Hub(render, render_all))
        if _process.relay is not None:
            _process.relay.start()
        _process.follower.start()
        if settings.TOOLLOOP_WEB_TAKES_RUNS:
            _process.supervisor.start()
    return _process


def _make_process(hub: Hub) -> WebProcess:
    relay, approver, resources = make_relay(settings.REDIS_URL), BrowserApprover(), RunResources()

    def is_alone() -> bool:
        return relay is None and settings.TOOLLOOP_WEB_TAKES_RUNS and not supervisor.others

    def tell_lost(conversation_id: str) -> None:
        hub.sync_all(conversation_id)
        follower.broadcaster.tell_changed(conversation_id)

    follower = Follower(hub, relay, is_alone=is_alone)
    observers = [hub, follower.broadcaster]
    supervisor = Supervisor(
        resources=resources, approver=approver, observers=observers, tell_lost=tell_lost
    )
    if relay is not None:
        obey_requests(relay, supervisor, approver, resources.open_calls)
    return WebProcess(
        hub=hub,
        supervisor=supervisor,
        approver=approver,
        open_calls=resources.open_calls,
        pool=resources.pool,
        follower=follower,
        relay=relay,
    )


def web_process() -> WebProcess | None:
    """The parts of this process, or ``None`` where no run can be executed here."""
    return _process


async def drain_web_process() -> None:
    """End the runs and children of this process in order; bounded in time."""
    global _process
    process, _process = _process, None
    if process is None:
        return
    await process.supervisor.drain()
    await process.follower.close()
    if process.relay is not None:
        await process.relay.close()
    await process.hub.close()
    # What was cancelled gets a turn of the loop to end in.
    await asyncio.sleep(0)
