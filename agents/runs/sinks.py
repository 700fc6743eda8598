"""Who hears what happens in a run: one required sink, and observers.

Place in the house: ``agents.runs``. Observers are classes named in ``TOOLLOOP_EVENT_SINKS`` by
their dotted paths, as Django names middleware; one that fails is logged and the run goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from agents.loop.events import Event, ModelDeltaReceived

logger = logging.getLogger(__name__)


class Observer(Protocol):
    """A sink that only looks on."""

    async def handle(self, event: Event) -> None:
        """Take note of an event; must return soon."""
        ...

    async def flush(self) -> None:
        """Wait until everything taken note of is stored."""
        ...

    async def close(self) -> None:
        """The process ends: store what is left, keep no task and no timer."""
        ...


def load_observers() -> list[Observer]:
    """A new instance of every sink named in the settings."""
    return [import_string(path)() for path in settings.TOOLLOOP_EVENT_SINKS]


async def close_observers(observers: Sequence[Observer]) -> None:
    """Close them all; bounded by what each of them has left to store."""
    for observer in observers:
        try:
            await observer.close()
        except Exception:  # an observer must never keep a process from ending
            logger.exception("%s failed to close", type(observer).__name__)


class RunEvents:
    """The ``emit`` of a run: the required sink first, then the observers."""

    def __init__(
        self, required: Callable[[Event], Awaitable[None]], observers: Sequence[Observer]
    ) -> None:
        self._required = required
        self._observers = observers

    async def __call__(self, event: Event) -> None:
        """Tell everybody. Raises what the required sink raises."""
        if not isinstance(event, ModelDeltaReceived):
            await self._required(event)
        await self.tell_observers(event)

    async def tell_observers(self, event: Event) -> None:
        """Tell the observers alone."""
        for observer in self._observers:
            try:
                await observer.handle(event)
            except Exception:  # an observer must never hurt a run
                logger.exception("%s failed on %s", type(observer).__name__, type(event).__name__)

    async def flush(self) -> None:
        """Wait for the observers."""
        for observer in self._observers:
            try:
                await observer.flush()
            except Exception:  # an observer must never hurt a run
                logger.exception("%s failed to flush", type(observer).__name__)
