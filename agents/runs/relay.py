"""Carries messages between the processes of one installation through the channel layer.

Place in the house: ``agents.runs``; made only where ``REDIS_URL`` is set. Nothing here waits for
Redis and nothing fails with it: what cannot be sent is dropped, and whoever listens finds out by
the numbers that are missing, or from the database.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias

from channels.layers import get_channel_layer

Content: TypeAlias = dict[str, Any]
"""A message: ``kind`` says what it is, the rest is JSON."""

SEND_SECONDS = 2.0
"""How long Redis may take for one message or one group."""

RETRY_SECONDS = 0.5
"""How soon it is tried again when Redis was away."""

MAX_WAITING = 2000
"""Messages that wait for Redis; beyond that the oldest are dropped."""

CLOSE_SECONDS = 2.0

logger = logging.getLogger(__name__)


class Relay:
    """This process's ear and mouth among the others. Lives on one event loop."""

    def __init__(self) -> None:
        self._layer: Any = get_channel_layer()
        self.channel = ""
        self._on: dict[str, Callable[[Content], None]] = {}
        self._outbox: deque[tuple[str, bool, Content]] = deque()
        self._has_mail, self._is_empty = asyncio.Event(), asyncio.Event()
        self._is_empty.set()
        self._wanted: dict[str, Callable[[], None] | None] = {}
        self._joined: set[str] = set()
        self._groups_changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_away = False

    def on(self, kind: str, act: Callable[[Content], None]) -> None:
        """Call ``act`` with every message of this kind; it returns at once."""
        self._on[kind] = act

    def start(self) -> None:
        """Begin to listen and to send."""
        work = (self._listen(), self._keep_groups(), self._send())
        self._tasks = [asyncio.create_task(part) for part in work]

    def publish(self, group: str, content: Content) -> None:
        """Send to all members of a group, this process included where it is one."""
        self._put(group, True, content)

    def send(self, channel: str, content: Content) -> None:
        """Send to one process: the ``channel`` of its relay."""
        self._put(channel, False, content)

    def join(self, group: str, then: Callable[[], None] | None = None) -> None:
        """Hear what is published to a group; ``then`` is called when that has begun."""
        if group not in self._wanted:
            self._wanted[group] = then
            self._groups_changed.set()

    def leave(self, group: str) -> None:
        """Hear a group no more."""
        if self._wanted.pop(group, _MISSING) is not _MISSING:
            self._groups_changed.set()

    async def close(self) -> None:
        """Send what waits, for a moment, and end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if self._is_away else CLOSE_SECONDS):
                await self._is_empty.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._tried(self._layer.flush())

    def _put(self, target: str, is_group: bool, content: Content) -> None:
        if len(self._outbox) >= MAX_WAITING:
            self._outbox.popleft()
        self._outbox.append((target, is_group, content))
        self._has_mail.set()
        self._is_empty.clear()

    async def _send(self) -> None:
        while True:
            await self._has_mail.wait()
            self._has_mail.clear()
            while self._outbox:
                target, is_group, content = self._outbox.popleft()
                message = {"type": "relay", "json": json.dumps(content, separators=(",", ":"))}
                send = self._layer.group_send if is_group else self._layer.send
                if not await self._tried(send(target, message)):
                    # What is old by the time Redis is back helps nobody.
                    self._outbox.clear()
                    await asyncio.sleep(RETRY_SECONDS)
            self._is_empty.set()

    async def _listen(self) -> None:
        while not self.channel:
            if not await self._tried(self._open_channel()):
                await asyncio.sleep(RETRY_SECONDS)
        self._groups_changed.set()
        while True:
            message = await self._layer.receive(self.channel)
            try:
                content = json.loads(message["json"])
                self._on.get(str(content["kind"]), _ignore)(content)
            except Exception:  # a message of another version must not end the listening
                logger.exception("a message of another process could not be read")

    async def _open_channel(self) -> None:
        self.channel = await self._layer.new_channel()

    async def _keep_groups(self) -> None:
        """Join and leave until that is as it is wanted."""
        while True:
            await self._groups_changed.wait()
            self._groups_changed.clear()
            if not self.channel:
                continue
            for group in [*(set(self._wanted) - self._joined)]:
                if await self._tried(self._layer.group_add(group, self.channel)):
                    self._joined.add(group)
                    then = self._wanted.get(group)
                    if then is not None:
                        then()
            for group in [*(self._joined - set(self._wanted))]:
                if await self._tried(self._layer.group_discard(group, self.channel)):
                    self._joined.discard(group)
            if self._joined != set(self._wanted):
                self._groups_changed.set()
                await asyncio.sleep(RETRY_SECONDS if self._is_away else 0)

    async def _tried(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Whether it succeeded in time; the log says once that Redis is away, and once that it is
        back."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await work
        except Exception as error:  # Redis fails in many ways, and none of them may hurt a run
            if not self._is_away:
                logger.warning("Redis is away, pages follow the database: %s", _words(error))
            self._is_away = True
            return False
        if self._is_away:
            logger.warning("Redis is back")
        self._is_away = False
        return True


async def answers() -> bool:
    """Whether Redis takes a message right now, within ``SEND_SECONDS``."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await get_channel_layer().group_send("nobody", {"type": "relay"})
    except Exception:  # it fails in many ways, and each of them is the answer
        return False
    return True


_MISSING = object()


def _ignore(content: Content) -> None:
    """A kind that this version does not know."""


def _words(error: Exception) -> str:
    return type(error).__name__ if isinstance(error, TimeoutError) else f"{error}"[:200]


def make_relay(redis_url: str) -> Relay | None:
    """The relay of this process, ``None`` where there is no Redis: nothing is shared then."""
    return Relay() if redis_url else None
