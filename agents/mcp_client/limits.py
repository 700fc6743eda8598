"""The time that one call may take.

Place in the house: used by every kind of connection; standard library only.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from agents.loop.interfaces import CallLimits


class CallClock:
    """Ends the block with ``TimeoutError`` at the idle limit or the hard maximum.

    A sign of life moves the first and never the second.
    """

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._hard_end = self._loop.time() + limits.hard_seconds
        self._timeout = asyncio.timeout_at(self._next_end())
        self.is_running = True

    @property
    def seconds(self) -> float:
        """The limit in seconds that acts next."""
        is_hard = self._timeout.when() == self._hard_end
        return self._limits.hard_seconds if is_hard else self._limits.idle_seconds

    def note_progress(self) -> None:
        """Give the call another idle limit from now on."""
        if self.is_running and not self._timeout.expired():
            self._timeout.reschedule(self._next_end())

    async def __aenter__(self) -> CallClock:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.is_running = False
        await self._timeout.__aexit__(kind, error, traceback)

    def _next_end(self) -> float:
        return min(self._loop.time() + self._limits.idle_seconds, self._hard_end)


def no_answer_text(seconds: float) -> str:
    """What the model is told about a call that ran out of time."""
    return f"No answer within {seconds:g} s: the call was stopped. What it did so far is unknown."
