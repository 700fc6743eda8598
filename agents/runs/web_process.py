"""What one web process holds: its hub, its supervisor, its approver.

Place in the house: ``agents.runs``. Daphne has no lifespan, so ``asgi.py`` starts and drains this
with the reactor; where no reactor calls (tests), the first socket starts it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agents.loop.open_calls import OpenCalls
from agents.mcp_client.pool import ServerPool
from agents.runs.approvals import BrowserApprover
from agents.runs.hub import Hub, Render, RenderAll
from agents.runs.resources import RunResources
from agents.runs.supervisor import Supervisor


@dataclass(slots=True, kw_only=True)
class WebProcess:
    """The parts that consumers and pages share."""

    hub: Hub
    supervisor: Supervisor
    approver: BrowserApprover
    open_calls: OpenCalls
    pool: ServerPool


_process: WebProcess | None = None


def start_web_process(render: Render, render_all: RenderAll) -> WebProcess:
    """The parts of this process; made and started at the first call, on the running event loop."""
    global _process
    if _process is None:
        approver = BrowserApprover()
        hub = Hub(render, render_all)
        resources = RunResources()
        supervisor = Supervisor(
            resources=resources, approver=approver, observers=[hub], tell_lost=hub.sync_all
        )
        _process = WebProcess(
            hub=hub,
            supervisor=supervisor,
            approver=approver,
            open_calls=resources.open_calls,
            pool=resources.pool,
        )
        supervisor.start()
    return _process


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
    await process.hub.close()
    # What was cancelled gets a turn of the loop to end in.
    await asyncio.sleep(0)
