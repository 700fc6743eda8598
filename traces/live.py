"""Who waits for news of a trace in this process, and how they are told.

Place in the house: ``traces``. The recorder tells what it has stored; sockets wait. Other processes
are not reached from here: who waits looks into the database once in a while too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress


class News:
    """An ear for one trace on one event loop."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Wait until the trace has changed since the last time, at most so long; whether it has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        has_changed = self._heard.is_set()
        self._heard.clear()
        return has_changed

    def tell(self) -> None:
        """Something was stored; may be called from any thread."""
        # The loop may be closed already: then nobody waits on it any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._heard.set)


_ears: dict[str, set[News]] = {}
_lock = threading.Lock()


def listen(trace_id: str) -> News:
    """An ear for a trace; ``forget`` it when nobody listens any more."""
    news = News(trace_id)
    with _lock:
        _ears.setdefault(trace_id, set()).add(news)
    return news


def forget(news: News) -> None:
    """Tell this one nothing more."""
    with _lock:
        ears = _ears.get(news.trace_id, set())
        ears.discard(news)
        if not ears:
            _ears.pop(news.trace_id, None)


def tell_changed(trace_ids: Iterable[str]) -> None:
    """What was stored of these traces is news for those who listen."""
    if not _ears:
        return
    with _lock:
        ears = [news for trace_id in trace_ids for news in _ears.get(trace_id, ())]
    for news in ears:
        news.tell()
