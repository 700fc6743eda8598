"""An event sink that keeps what runs were offered."""

from __future__ import annotations

from agents.loop.events import CatalogBuilt, Event
from agents.loop.messages import JsonObject

REPORTS: list[JsonObject] = []


class CatalogWatcher:
    """Keeps the report of every catalog in ``REPORTS``."""

    async def handle(self, event: Event) -> None:
        """Look for a catalog."""
        if isinstance(event, CatalogBuilt):
            REPORTS.append(event.report)

    async def flush(self) -> None:
        """Nothing waits."""

    async def close(self) -> None:
        """Nothing is held."""
