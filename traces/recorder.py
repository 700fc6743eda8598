"""The sink that stores traces."""

from __future__ import annotations

from agents.loop.events import Event


class TraceSink:
    """Stores what happened in runs as spans, behind the run and never in its way."""

    async def handle(self, event: Event) -> None:
        """Take note of an event; returns at once."""

    async def flush(self) -> None:
        """Wait until everything that was handed over is stored."""

    async def close(self) -> None:
        """Store what is left and stop."""
