"""The calls that servers work on right now, so that a person can stop one of them.

Place in the house: ``agents.loop``. One ``OpenCalls`` per process, shared by its runs; stopping a
call gives it the result ``cancelled``, and the run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from agents.loop.results import Outcome, ToolReply

STOPPED_TEXT = "A person stopped this call."


class OpenCalls:
    """Calls by their keys, while they are executed."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[ToolReply]] = {}

    def stop(self, key: str) -> bool:
        """Stop a call; ``False`` where it is not executed here."""
        task = self._tasks.get(key)
        return task is not None and task.cancel()

    async def execute(self, key: str, work: Coroutine[Any, Any, ToolReply]) -> ToolReply:
        """What the work brings; ``cancelled`` where this call alone was stopped."""
        own = asyncio.current_task()
        assert own is not None
        task = asyncio.create_task(work)
        self._tasks[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            if own.cancelling():
                raise
            return ToolReply(outcome=Outcome.CANCELLED, error=STOPPED_TEXT)
        finally:
            self._tasks.pop(key, None)
