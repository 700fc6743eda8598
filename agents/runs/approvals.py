"""Calls that wait for a person in the browser.

Place in the house: ``agents.runs``. The same question stands in every tab; whoever owns the
conversation decides once. Waiting costs the run nothing; after an hour it counts as denied.
"""

from __future__ import annotations

import asyncio

from agents.loop.interfaces import Approval, ApprovalRequest

WAIT_SECONDS = 3600.0
"""How long a question may stay open."""


class BrowserApprover:
    """Holds the open questions of this process by call key."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Future[Approval]] = {}

    async def decide(self, request: ApprovalRequest) -> Approval:
        """The person's decision, or a denial when nobody answered in time."""
        future: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        self._open[request.call.key] = future
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await future
        except TimeoutError:
            return Approval(is_allowed=False, reason="Nobody answered within an hour.", by="nobody")
        finally:
            self._open.pop(request.call.key, None)

    def answer(self, key: str, approval: Approval) -> bool:
        """Decide an open question; ``False`` where it is not open any more."""
        future = self._open.get(key)
        if future is None or future.done():
            return False
        future.set_result(approval)
        return True
