"""Tells the pages of other processes what happens in the runs of this one.

Place in the house: ``agents.runs``, an observer of every run of a process that takes runs. Pages
are served from any process: one that watches a conversation says so to all (``watch``) and gets
what its runs are like right now (``lives``) and then every event (``events``). The messages of a
stream are numbered; a ``beat`` each second tells the last number. What nobody watches is not sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agents.loop.events import (
    CatalogBuilt,
    Event,
    ModelAnswered,
    ModelCancelled,
    ModelDeltaReceived,
    ModelFailed,
    ModelRequestStarted,
    RunFinished,
    RunStarted,
    ToolCallFinished,
)
from agents.models import new_id
from agents.runs.event_codec import encode_event, encode_live
from agents.runs.live import LiveRun
from agents.runs.relay import Content, Relay

GATHER_SECONDS = 0.04
"""Events are gathered this long before they travel; the first one goes at once."""

BEAT_SECONDS = 1.0

WATCHED_SECONDS = 15.0
"""How long a conversation counts as watched after a process said so."""

TAKERS = "takers"
"""The group of all processes that take runs."""


def pages_group(conversation_id: str) -> str:
    """The group of the processes whose pages show a conversation."""
    return f"pages.{conversation_id}"


@dataclass(slots=True)
class _Stream:
    """What is told of one conversation, from its first message on. ``number`` is the last one's."""

    conversation: str
    id: str = field(default_factory=new_id)
    number: int = 0
    pending: list[Event] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Broadcaster:
    """The live runs of this process, told to others where a relay leads to them.

    ``told`` gets the conversation of each event.
    """

    def __init__(
        self,
        relay: Relay | None,
        *,
        told: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._relay = relay
        self._told = told
        self._clock = clock
        self._lives: dict[str, LiveRun] = {}
        self._streams: dict[str, _Stream] = {}
        self._watched: dict[str, float] = {}
        self._beats: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Hear who watches what."""
        if self._relay is not None:
            self._relay.on("watch", self._on_watch)
            self._relay.join(TAKERS)
            self._beats = asyncio.create_task(self._beat())

    def has_run(self, conversation_id: str) -> bool:
        """Whether a run of the conversation goes on here."""
        return any(live.conversation == conversation_id for live in self._lives.values())

    def tell_changed(self, conversation_id: str) -> None:
        """Something changed without an event: pages of other processes look for themselves."""
        if self._relay is not None:
            content = {"kind": "changed", "conversation": conversation_id}
            content["from"] = self._relay.channel
            self._relay.publish(pages_group(conversation_id), content)

    async def handle(self, event: Event) -> None:
        """Take note of an event and see to it that it is told; returns at once."""
        live = self._lives.get(event.run)
        if isinstance(event, RunStarted):
            live = self._lives[event.run] = LiveRun(run=event.run)
        if live is None:
            return
        live.apply(event)
        self._note(live.conversation)
        self._take(event, live.conversation)
        if isinstance(event, RunFinished):
            self._end(live)

    async def flush(self) -> None:
        """Nothing is stored here."""

    async def close(self) -> None:
        """Tell what has gathered, and nothing more."""
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.gather(self._beats, return_exceptions=True)
        for conversation_id in list(self._streams):
            self._flush(self._streams[conversation_id])

    def _note(self, conversation_id: str) -> None:
        if self._told is not None:
            self._told(conversation_id)

    def _take(self, event: Event, conversation_id: str) -> None:
        """Put an event into the stream of its conversation, if anybody watches it."""
        if self._relay is None or self._watched.get(conversation_id, 0) < self._clock():
            return
        told = for_pages(event)
        if told is None:
            return
        stream = self._streams.get(conversation_id)
        if stream is None:
            if not isinstance(event, RunStarted) or event.parent_run:
                return  # whoever watches from here on gets the lives first
            stream = self._streams[conversation_id] = _Stream(conversation_id)
        if not (stream.pending and _merge(stream.pending, told)):
            stream.pending.append(told)
        if stream.timer is None:
            self._on_timer(stream)

    def _on_timer(self, stream: _Stream) -> None:
        stream.timer = None
        if stream.pending:
            self._flush(stream)
            loop = asyncio.get_running_loop()
            stream.timer = loop.call_later(GATHER_SECONDS, self._on_timer, stream)

    def _flush(self, stream: _Stream) -> None:
        pending, stream.pending = stream.pending, []
        if pending and self._relay is not None:
            stream.number += 1
            events = [encode_event(event) for event in pending]
            self._relay.publish(
                pages_group(stream.conversation), {**self._head("events", stream), "events": events}
            )

    def _head(self, kind: str, stream: _Stream) -> Content:
        assert self._relay is not None
        return {
            "kind": kind,
            "from": self._relay.channel,
            "conversation": stream.conversation,
            "stream": stream.id,
            "number": stream.number,
        }

    def _end(self, live: LiveRun) -> None:
        """Forget a run, and with a root run those below it, which may have lost their ends."""
        for run_id in [*self._lives]:
            is_below = self._lives[run_id].conversation == live.conversation
            if run_id == live.run or (is_below and live.parent_run is None):
                del self._lives[run_id]
        self._end_stream(live.conversation)

    def _end_stream(self, conversation_id: str) -> None:
        if self.has_run(conversation_id):
            return
        stream = self._streams.pop(conversation_id, None)
        if stream is not None:
            self._flush(stream)
            if stream.timer is not None:
                stream.timer.cancel()

    def _on_watch(self, content: Content) -> None:
        """A process watches conversations; those that it knows nothing of it gets whole."""
        assert self._relay is not None
        until = self._clock() + WATCHED_SECONDS
        if content["reply"] == self._relay.channel:
            return
        for conversation_id, is_new in content["conversations"].items():
            self._watched[conversation_id] = until
            if self.has_run(conversation_id) and is_new:
                self._tell_lives(conversation_id, str(content["reply"]))

    def _tell_lives(self, conversation_id: str, reply: str) -> None:
        assert self._relay is not None
        stream = self._streams.get(conversation_id)
        if stream is None:
            # Number 1 is a run's beginning: nobody takes what follows for one.
            stream = self._streams[conversation_id] = _Stream(conversation_id, number=1)
        self._flush(stream)
        lives = [
            encode_live(live)
            for live in self._lives.values()
            if live.conversation == conversation_id
        ]
        self._relay.send(reply, {**self._head("lives", stream), "lives": lives})

    async def _beat(self) -> None:
        """Tell the last number of every stream, so that whoever missed the last message notices."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = self._clock()
            self._watched = {name: until for name, until in self._watched.items() if until > now}
            for stream in list(self._streams.values()):
                if stream.conversation not in self._watched:
                    del self._streams[stream.conversation]
                elif self._relay is not None:
                    group = pages_group(stream.conversation)
                    self._relay.publish(group, self._head("beat", stream))


def for_pages(event: Event) -> Event | None:
    """The event without what pages do not show: requests, exchanges, long results; ``None`` for
    one that they do not show at all."""
    match event:
        case ModelDeltaReceived(delta=delta):
            return event if delta.text or delta.reasoning else None
        case ModelRequestStarted():
            return replace(event, messages=(), tools=(), tool_names=(), options={})
        case ModelAnswered():
            return replace(event, exchange={}, answer=replace(event.answer, extra={}))
        case ModelFailed() | ModelCancelled():
            return replace(event, exchange={})
        case CatalogBuilt(report=report):
            kept = {key: report[key] for key in ("offered", "left_out") if key in report}
            return replace(event, report=kept)
        case ToolCallFinished(result=result, message=message):
            short = replace(
                result, text="", full_text="", parts=(), structured=None, images=(), arguments=None
            )
            return replace(
                event, result=short, message=replace(message, content="", images=(), extra={})
            )
    return event


def _merge(pending: list[Event], event: Event) -> bool:
    """Whether the event was put together with the last one: pieces of the same text."""
    last = pending[-1]
    if not isinstance(event, ModelDeltaReceived) or not isinstance(last, ModelDeltaReceived):
        return False
    if (last.run, last.turn, last.attempt) != (event.run, event.turn, event.attempt):
        return False
    if bool(last.delta.text) != bool(event.delta.text):
        return False
    delta = replace(
        last.delta,
        text=last.delta.text + event.delta.text,
        reasoning=last.delta.reasoning + event.delta.reasoning,
    )
    pending[-1] = replace(last, delta=delta)
    return True
