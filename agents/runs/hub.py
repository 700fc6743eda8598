"""What happens in the runs of this process, sent to the browsers that watch.

Place in the house: ``agents.runs``, an observer of every run of a web process. Text does not travel
through the channel layer: the hub holds the sockets of each conversation and sends directly, each
message encoded once. One ordered queue per conversation keeps text and structure in order;
rendering and slow browsers never hold up a run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.loop.events import (
    CatalogBuilt,
    Event,
    ModelDeltaReceived,
    ModelRequestStarted,
    RunFinished,
    RunStarted,
    ToolCallFinished,
    TurnFinished,
)
from agents.loop.messages import JsonObject
from agents.runs.live import LiveRun
from agents.runs.message_recorder import GATHER_SECONDS as RESULTS_GATHER_SECONDS

GATHER_SECONDS = 0.04
"""Deltas are gathered this long; the first one of an answer is sent at once."""

MOST_CHANNELS = 1000
"""Conversations whose number is remembered though nobody watches them."""

logger = logging.getLogger(__name__)


class Watcher(Protocol):
    """A browser that watches a conversation. ``language`` is that of its page."""

    language: str

    def put(self, text: str) -> None:
        """Send this when the socket can take it; never waits."""
        ...

    def end(self) -> None:
        """Send nothing any more: the process ends."""
        ...


Render = Callable[[Event, LiveRun, str], Awaitable[list[JsonObject]]]
"""The fragments of an event in a language, ready for the socket."""

RenderAll = Callable[[str, dict[str, LiveRun], str], Awaitable[JsonObject]]
"""A whole conversation in a language, for a browser that missed something."""

RenderIn = Callable[[str], Awaitable[list[JsonObject]]]
"""Fragments in a language."""

Job = Callable[[], Awaitable[None]]

_BESIDE_TEXT = (CatalogBuilt, ModelRequestStarted, TurnFinished)
"""Events that change nothing in the log: text need not wait until they are rendered."""


@dataclass(slots=True, eq=False)
class _Channel:
    """One conversation with its watchers.

    ``jobs`` are done in order, and text waits for them; ``beside`` is done when there are none.
    ``seq`` counts what happened, watched or not, from a start that no earlier channel had: a page
    that missed something, or knew another process, cannot hold the present number.
    """

    watchers: set[Watcher] = field(default_factory=set)
    seq: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    jobs: deque[Job] = field(default_factory=deque)
    beside: deque[Job] = field(default_factory=deque)
    is_holding: bool = False
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _Text:
    """Text of the present answer: how much was sent, and what waits."""

    sent: int = 0
    pending: list[str] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Hub:
    """The live runs of this process and who watches them."""

    def __init__(self, render: Render, render_all: RenderAll) -> None:
        self._render = render
        self._render_all = render_all
        self._lives: dict[str, LiveRun] = {}
        self._channels: dict[str, _Channel] = {}
        self._texts: dict[str, _Text] = {}

    def live_runs(self, conversation_id: str) -> dict[str, LiveRun]:
        """Copies of the runs that are going on in a conversation, by run id."""
        return {
            run_id: live.snapshot()
            for run_id, live in list(self._lives.items())
            if live.conversation == conversation_id
        }

    def live_ids(self, conversation_id: str) -> set[str]:
        """The ids of the runs that are going on in a conversation."""
        lives = list(self._lives.values())
        return {live.run for live in lives if live.conversation == conversation_id}

    def seq(self, conversation_id: str) -> int:
        """The number of the last thing that happened in a conversation."""
        return self._channel(conversation_id).seq

    def watch(self, conversation_id: str, watcher: Watcher) -> None:
        """Send what happens in a conversation to this watcher from now on."""
        self._channel(conversation_id).watchers.add(watcher)

    def unwatch(self, conversation_id: str, watcher: Watcher) -> None:
        """Stop sending."""
        channel = self._channels.get(conversation_id)
        if channel is None:
            return
        channel.watchers.discard(watcher)
        is_live = any(live.conversation == conversation_id for live in self._lives.values())
        if not channel.watchers and not is_live and not channel.jobs:
            del self._channels[conversation_id]

    def watched(self) -> list[str]:
        """The conversations that somebody watches."""
        return [name for name, channel in self._channels.items() if channel.watchers]

    def adopt(self, conversation_id: str, lives: Mapping[str, LiveRun]) -> None:
        """These are the live runs of a conversation now, by run id: they are in another process."""
        for run_id in [*self._lives]:
            if self._lives[run_id].conversation == conversation_id:
                self._forget_text(run_id)
                del self._lives[run_id]
        self._lives.update(lives)
        self._channel(conversation_id).seq += 1
        self.sync_all(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """What happens in a conversation that nobody watches is not known here any more."""
        channel = self._channels.get(conversation_id)
        if channel is not None and not channel.watchers:
            self.adopt(conversation_id, {})
            if not channel.jobs:
                del self._channels[conversation_id]

    def sync(self, conversation_id: str, watcher: Watcher) -> None:
        """Send the whole conversation to one watcher, in its place in the order."""
        channel = self._channel(conversation_id)

        async def job() -> None:
            lives = self.live_runs(conversation_id)
            message = await self._render_all(conversation_id, lives, watcher.language)
            watcher.put(_encode({"type": "sync", "seq": channel.seq, **message}))

        self._put(channel, job)

    def sync_all(self, conversation_id: str) -> None:
        """Send the whole conversation to whoever watches it: it changed without events."""
        channel = self._channels.get(conversation_id)
        for watcher in channel.watchers if channel is not None else ():
            self.sync(conversation_id, watcher)

    def refresh(self, conversation_id: str, render: RenderIn) -> None:
        """Send fragments that no event brings, such as the queue of waiting messages."""
        channel = self._channel(conversation_id)
        self._put(channel, lambda: self._send_fragments(channel, render))

    async def handle(self, event: Event) -> None:
        """Take note of an event and send it on; returns at once."""
        self.take(event)

    def take(self, event: Event) -> None:
        """Take note of an event, of this process or another one, and send it on."""
        live = self._lives.get(event.run)
        if isinstance(event, RunStarted):
            live = self._lives[event.run] = LiveRun(run=event.run)
        if live is None:
            return
        if isinstance(event, ModelDeltaReceived):
            before = len(live.text)
            live.apply(event)
            if event.delta.text:
                self._take_text(live, before, event.delta.text)
            return
        self._flush_text(live)
        self._forget_text(event.run)
        live.apply(event)
        self._send_event(event, live)
        if isinstance(event, RunFinished):
            self._lives.pop(event.run, None)

    async def flush(self) -> None:
        """Nothing is stored here."""

    async def close(self) -> None:
        """End the senders and what the watchers hold."""
        for channel in self._channels.values():
            for watcher in channel.watchers:
                watcher.end()
        tasks = [channel.task for channel in self._channels.values() if channel.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _take_text(self, live: LiveRun, before: int, text: str) -> None:
        waiting = self._texts.setdefault(live.run, _Text(sent=before))
        waiting.pending.append(text)
        if waiting.timer is not None:
            return
        if waiting.sent == 0:
            self._flush_text(live)
        loop = asyncio.get_running_loop()
        waiting.timer = loop.call_later(GATHER_SECONDS, self._on_timer, live)

    def _on_timer(self, live: LiveRun) -> None:
        waiting = self._texts.get(live.run)
        if waiting is not None:
            waiting.timer = None
            self._flush_text(live)

    def _forget_text(self, run_id: str) -> None:
        waiting = self._texts.pop(run_id, None)
        if waiting is not None and waiting.timer is not None:
            waiting.timer.cancel()

    def _flush_text(self, live: LiveRun) -> None:
        """Send the text that has gathered."""
        waiting = self._texts.get(live.run)
        if waiting is None or not waiting.pending:
            return
        text = "".join(waiting.pending)
        waiting.pending.clear()
        message: JsonObject = {
            "type": "delta",
            "run": live.run,
            "turn": live.turn,
            "at": waiting.sent,
            "text": text,
        }
        waiting.sent += len(text)
        channel = self._channel(live.conversation)

        async def job() -> None:
            self._send(channel, message)

        if not channel.watchers:
            channel.seq += 1
        elif channel.jobs or channel.is_holding:
            self._put(channel, job)
        else:
            self._send(channel, message)

    def _send_event(self, event: Event, live: LiveRun) -> None:
        channel = self._channel(live.conversation)
        if not channel.watchers:
            channel.seq += 1
            return
        if isinstance(event, _BESIDE_TEXT):
            # Rendered when there is time, and then as things stand: never an older state.
            self._put(channel, lambda: self._send_beside(channel, event, live), is_beside=True)
            return
        snapshot = live.snapshot()
        self._put(channel, lambda: self._send_rendered(channel, event, snapshot))

    async def _send_beside(self, channel: _Channel, event: Event, live: LiveRun) -> None:
        if live.finished is None:
            await self._send_rendered(channel, event, live.snapshot())

    async def _send_rendered(self, channel: _Channel, event: Event, live: LiveRun) -> None:
        if isinstance(event, ToolCallFinished):
            # Its card is rendered from its row, which is committed within this time.
            await asyncio.sleep(2 * RESULTS_GATHER_SECONDS)
        await self._send_fragments(channel, lambda language: self._render(event, live, language))

    async def _send_fragments(self, channel: _Channel, render: RenderIn) -> None:
        """Send fragments to every watcher, in its own language."""
        languages = sorted({watcher.language for watcher in channel.watchers})
        rendered = {language: await render(language) for language in languages}
        if not any(rendered.values()):
            return
        channel.seq += 1
        texts = {
            language: _encode({"type": "fragments", "items": list(items), "seq": channel.seq})
            for language, items in rendered.items()
        }
        for watcher in list(channel.watchers):
            # Whoever came meanwhile with another language sees the gap and asks for everything.
            if watcher.language in texts:
                watcher.put(texts[watcher.language])

    def _send(self, channel: _Channel, message: JsonObject) -> None:
        channel.seq += 1
        text = _encode({**message, "seq": channel.seq})
        for watcher in list(channel.watchers):
            watcher.put(text)

    def _channel(self, conversation_id: str) -> _Channel:
        channel = self._channels.get(conversation_id)
        if channel is None:
            channel = self._channels[conversation_id] = _Channel()
            if len(self._channels) > MOST_CHANNELS:
                self._drop_idle()
        return channel

    def _drop_idle(self) -> None:
        """Forget the oldest channels that nobody uses; their pages ask for everything anew."""
        live = {live.conversation for live in self._lives.values()}
        idle = [
            name
            for name, channel in self._channels.items()
            if not (channel.watchers or channel.jobs or channel.beside or channel.is_holding)
            and name not in live
        ]
        for name in idle[: MOST_CHANNELS // 2]:
            del self._channels[name]

    def _put(self, channel: _Channel, job: Job, *, is_beside: bool = False) -> None:
        (channel.beside if is_beside else channel.jobs).append(job)
        if channel.task is None or channel.task.done():
            channel.task = asyncio.create_task(self._work(channel))

    async def _work(self, channel: _Channel) -> None:
        """Do the jobs of a conversation one after the other, until none is left."""
        while channel.jobs or channel.beside:
            channel.is_holding = bool(channel.jobs)
            job = (channel.jobs or channel.beside).popleft()
            try:
                await job()
            except Exception:  # an observer must never hurt a run, and the next job may be well
                logger.exception("a page could not be updated")
            finally:
                channel.is_holding = False


def _encode(message: JsonObject) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
