"""What other processes ask of one that takes runs, so that nobody waits for its next look.

Place in the house: ``agents.runs``. The database holds what was decided; these messages only say
that there is something to be read. A call alone is stopped by message only.
"""

from __future__ import annotations

from agents.loop.open_calls import OpenCalls
from agents.runs.approvals import BrowserApprover
from agents.runs.relay import Relay
from agents.runs.supervisor import Supervisor


def obey_requests(
    relay: Relay, supervisor: Supervisor, approver: BrowserApprover, open_calls: OpenCalls
) -> None:
    """Act on ``look`` (queued or stopped runs), ``decided`` (``key`` of a call that a person was
    asked about) and ``stop_call`` (``key``)."""
    relay.on("look", lambda content: supervisor.wake())
    relay.on("decided", lambda content: approver.tell(str(content["key"])))
    relay.on("stop_call", lambda content: _stop_call(open_calls, str(content["key"])))


def _stop_call(open_calls: OpenCalls, key: str) -> None:
    open_calls.stop(key)
