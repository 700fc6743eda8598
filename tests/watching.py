"""An event sink for tests that wait until something has happened inside a run."""

from __future__ import annotations

import threading

from agents.loop.events import Event, ModelDeltaReceived

TEXT_SEEN = threading.Event()


class DeltaWatcher:
    """Sets ``TEXT_SEEN`` when a run has received text."""

    async def handle(self, event: Event) -> None:
        """Look for text."""
        if isinstance(event, ModelDeltaReceived) and event.delta.text:
            TEXT_SEEN.set()

    async def flush(self) -> None:
        """Nothing waits."""
