"""Brings what happens in runs of other processes to the pages of this one.

Place in the house: ``agents.runs``; one per web process. Events of other processes are fed to the
hub as if they were local. Where they do not come (no Redis, Redis away, a message lost) the
database is looked at once a second, and a page is sent whole when it has changed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from asgiref.sync import sync_to_async

from agents.runs.broadcaster import TAKERS, Broadcaster, pages_group
from agents.runs.connections import drop_broken_connections
from agents.runs.event_codec import decode_event, decode_live
from agents.runs.hub import Hub
from agents.runs.relay import Content, Relay
from agents.runs.stored_lives import Standing, standings, stored_lives

LOOK_SECONDS = 1.0
"""How often the database is looked at."""

FRESH_SECONDS = 3.0
"""A stream that was silent for longer is not relied on."""

ANNOUNCE_SECONDS = 4.0
"""How often the processes that take runs are told what is watched here."""

ASK_AGAIN_SECONDS = 0.5
"""How long the answer to a question for everything may take until it is asked again."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Heard:
    """A stream of another process: the number of its last message, and when that came."""

    stream: str
    number: int
    at: float


class Follower:
    """What this web process knows of runs elsewhere. Lives on one event loop.

    ``is_alone`` tells that no other process takes runs: then there is nothing to follow.
    """

    def __init__(
        self,
        hub: Hub,
        relay: Relay | None,
        *,
        is_alone: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub = hub
        self._relay = relay
        self._is_alone = is_alone
        self._clock = clock
        self.broadcaster = Broadcaster(relay, told=self._note, clock=clock)
        self._heard: dict[str, _Heard] = {}
        self._seen: dict[str, Standing] = {}
        self._told: set[str] = set()
        self._doubtful: set[str] = set()
        self._joined: set[str] = set()
        self._asked: dict[str, float] = {}
        self._announced_at = 0.0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow."""
        self.broadcaster.start()
        if self._relay is not None:
            self._relay.on("events", self._on_events)
            self._relay.on("beat", self._on_beat)
            self._relay.on("lives", self._on_lives)
            self._relay.on("changed", self._on_changed)
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Follow no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.broadcaster.close()

    def follows(self, conversation_id: str) -> bool:
        """Whether this process knows of everything that happens in a conversation: then the hub's
        number tells whether a page is up to date."""
        return self._is_alone() or conversation_id in self._seen

    def watch(self, conversation_id: str) -> None:
        """A browser of this process begins to watch a conversation."""
        if self._relay is None or conversation_id in self._joined:
            return
        self._joined.add(conversation_id)
        self._relay.join(pages_group(conversation_id), lambda: self._ask([conversation_id]))

    def _note(self, conversation_id: str) -> None:
        self._told.add(conversation_id)

    def _ask(self, conversation_ids: list[str]) -> None:
        """Tell who takes runs what is watched here; streams that are not known come whole."""
        if self._relay is not None and self._relay.channel:
            wanted = {name: not self._is_fresh(name) for name in conversation_ids}
            content = {"kind": "watch", "conversations": wanted, "reply": self._relay.channel}
            self._relay.publish(TAKERS, content)

    def _is_fresh(self, conversation_id: str) -> bool:
        heard = self._heard.get(conversation_id)
        return heard is not None and self._clock() - heard.at < FRESH_SECONDS

    def _is_foreign(self, content: Content) -> bool:
        """Whether a message of another process is about a conversation whose runs are there."""
        is_own = self._relay is not None and content["from"] == self._relay.channel
        name = content["conversation"]
        return not is_own and name in self._joined and not self.broadcaster.has_run(name)

    def _on_events(self, content: Content) -> None:
        if not self._is_foreign(content):
            return
        name, number = content["conversation"], content["number"]
        heard = self._heard.get(name)
        is_new = heard is None or heard.stream != content["stream"]
        if not is_new and heard is not None and number <= heard.number:
            return
        expected = 1 if is_new or heard is None else heard.number + 1
        if number != expected:
            self._lose(name)
            return
        events = [decode_event(text) for text in content["events"]]
        self._heard[name] = _Heard(content["stream"], number, self._clock())
        for event in events:
            self._hub.take(event)

    def _on_beat(self, content: Content) -> None:
        if not self._is_foreign(content):
            return
        name, heard = content["conversation"], self._heard.get(content["conversation"])
        place = (content["stream"], content["number"])
        if heard is None or (heard.stream, heard.number) != place:
            self._lose(name)
            return
        heard.at = self._clock()

    def _on_lives(self, content: Content) -> None:
        """A process tells what the runs of a conversation are like right now."""
        if not self._is_foreign(content):
            return
        name, heard = content["conversation"], self._heard.get(content["conversation"])
        if heard and heard.stream == content["stream"] and heard.number >= content["number"]:
            return
        lives = {live.run: live for live in map(decode_live, content["lives"])}
        self._heard[name] = _Heard(content["stream"], content["number"], self._clock())
        self._hub.adopt(name, lives)

    def _on_changed(self, content: Content) -> None:
        """Something changed without an event."""
        name = content["conversation"]
        is_own = self._relay is not None and content["from"] == self._relay.channel
        if is_own or name not in self._joined:
            return
        if self.broadcaster.has_run(name) or self._is_fresh(name):
            self._hub.sync_all(name)
        else:
            self._wake.set()

    def _lose(self, conversation_id: str) -> None:
        """A message is missing: ask for everything, unless that was done a moment ago."""
        self._heard.pop(conversation_id, None)
        now = self._clock()
        if now - self._asked.get(conversation_id, 0.0) > ASK_AGAIN_SECONDS:
            self._asked[conversation_id] = now
            self._ask([conversation_id])

    async def _follow(self) -> None:
        while True:
            try:
                await sync_to_async(drop_broken_connections)()
                await self._look()
            except Exception:  # the database may be away for a moment; the next look may succeed
                logger.exception("runs of other processes could not be looked for")
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
            finally:
                self._wake.clear()

    async def _look(self) -> None:
        watched = self._hub.watched()
        self._leave_others(watched)
        if self._relay is not None and self._clock() - self._announced_at > ANNOUNCE_SECONDS:
            self._announced_at = self._clock()
            if watched:
                self._ask(watched)
        told, self._told = self._told, set()
        if self._is_alone():
            self._seen.clear()
            return
        now = await sync_to_async(standings)(watched) if watched else {}
        for name, standing in now.items():
            before, self._seen[name] = self._seen.get(name), standing
            has_ghosts = self._has_ghosts(name, standing)
            is_told = name in told or self.broadcaster.has_run(name) or self._is_fresh(name)
            if has_ghosts or (before != standing and not is_told):
                await self._adopt_stored(name)

    def _has_ghosts(self, conversation_id: str, standing: Standing) -> bool:
        """Whether pages show, at a second look, a run that goes on nowhere."""
        has_ghosts = not self._hub.live_ids(conversation_id) <= standing.running
        was_doubtful = conversation_id in self._doubtful
        (self._doubtful.add if has_ghosts else self._doubtful.discard)(conversation_id)
        return has_ghosts and was_doubtful

    async def _adopt_stored(self, conversation_id: str) -> None:
        """Show what is stored, and ask for the rest."""
        lives = await sync_to_async(stored_lives)(conversation_id)
        if self.broadcaster.has_run(conversation_id):
            return
        self._heard.pop(conversation_id, None)
        self._hub.adopt(conversation_id, lives)
        if lives:
            self._ask([conversation_id])

    def _leave_others(self, watched: list[str]) -> None:
        """Forget the conversations that nobody watches here any more."""
        for name in {*self._joined, *self._seen, *self._heard} - set(watched):
            if self._relay is not None:
                self._relay.leave(pages_group(name))
            self._joined.discard(name)
            self._seen.pop(name, None)
            self._heard.pop(name, None)
            self._asked.pop(name, None)
            if not self.broadcaster.has_run(name):
                self._hub.forget(name)
