"""A process that only takes runs: no pages, no sockets.

Place in the house: ``agents.runs``; ``manage.py run_worker`` is its command. It shares the queue
with web processes and other workers through the database, and what happens in its runs through
Redis where there is one.
"""

from __future__ import annotations

import asyncio
import signal

from django.conf import settings

from agents.runs.approvals import BrowserApprover
from agents.runs.broadcaster import Broadcaster
from agents.runs.relay import make_relay
from agents.runs.requests import obey_requests
from agents.runs.resources import RunResources
from agents.runs.supervisor import Supervisor

END_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def work_until_stopped(runs_at_once: int) -> None:
    """Take runs until SIGTERM or SIGINT, then drain in order; bounded in time."""
    is_stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in END_SIGNALS:
        loop.add_signal_handler(number, is_stopped.set)
    relay, approver, resources = make_relay(settings.REDIS_URL), BrowserApprover(), RunResources()
    broadcaster = Broadcaster(relay)
    supervisor = Supervisor(
        resources=resources,
        approver=approver,
        observers=[broadcaster],
        tell_lost=broadcaster.tell_changed,
        runs_at_once=runs_at_once,
    )
    if relay is not None:
        obey_requests(relay, supervisor, approver, resources.open_calls)
        relay.start()
    broadcaster.start()
    supervisor.start()
    await is_stopped.wait()
    await supervisor.drain()
    await broadcaster.close()
    if relay is not None:
        await relay.close()
