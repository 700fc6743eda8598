"""Pages follow runs of other processes by messages, and by the database where those are missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from agents.loop.events import Event, ModelDeltaReceived, RunFinished, RunStarted
from agents.loop.interfaces import ModelDelta
from agents.runs.broadcaster import Broadcaster, for_pages
from agents.runs.event_codec import EVENTS
from agents.runs.follower import Follower
from agents.runs.hub import Hub
from agents.runs.live import LiveRun
from tests.runs.test_event_codec import sample
from tests.runs.test_hub import CONVERSATION, Tab, delta, render, render_all, started


class Wires:
    """Carries messages between relays of this process, at once; ``is_cut`` loses them."""

    def __init__(self) -> None:
        self.relays: list[FakeRelay] = []
        self.is_cut, self.lost = False, 0
        self.carried: list[dict[str, Any]] = []

    def carry(self, content: dict[str, Any], takes: Any) -> None:
        if self.is_cut:
            self.lost += 1
            return
        self.carried.append(content)
        for relay in self.relays:
            if takes(relay) and content["kind"] in relay.acts:
                relay.acts[content["kind"]](content)


class FakeRelay:
    """A relay whose messages arrive before ``publish`` returns."""

    def __init__(self, wires: Wires) -> None:
        self.wires, self.channel = wires, f"channel{len(wires.relays)}"
        self.acts: dict[str, Any] = {}
        self.groups: set[str] = set()
        wires.relays.append(self)

    def on(self, kind: str, act: Any) -> None:
        self.acts[kind] = act

    def publish(self, group: str, content: dict[str, Any]) -> None:
        self.wires.carry(content, lambda relay: group in relay.groups)

    def send(self, channel: str, content: dict[str, Any]) -> None:
        self.wires.carry(content, lambda relay: relay.channel == channel)

    def join(self, group: str, then: Any = None) -> None:
        self.groups.add(group)
        if then is not None:
            then()

    def leave(self, group: str) -> None:
        self.groups.discard(group)


class Pair:
    """A worker and a web process with one tab."""

    def __init__(self) -> None:
        self.wires, self.tab = Wires(), Tab()
        self.hub = Hub(render, render_all)
        # The fake has what the broadcaster calls, without the base class.
        self.worker = Broadcaster(FakeRelay(self.wires))  # type: ignore[arg-type]
        web: Any = FakeRelay(self.wires)
        self.follower = Follower(self.hub, web, is_alone=lambda: True)

    def watch(self) -> None:
        self.hub.watch(CONVERSATION, self.tab)
        self.follower.watch(CONVERSATION)

    async def tell(self, *events: Event) -> None:
        for event in events:
            await self.worker.handle(event)

    def live_text(self) -> str:
        return "".join(live.text for live in self.hub.live_runs(CONVERSATION).values())


@pytest_asyncio.fixture
async def pair() -> AsyncIterator[Pair]:
    made = Pair()
    made.follower.start()
    made.worker.start()
    yield made
    await made.follower.close()
    await made.worker.close()
    await made.hub.close()


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


def finished() -> RunFinished:
    event = sample(RunFinished)
    assert isinstance(event, RunFinished)
    return replace(event, run="r1")


async def test_text_arrives_whole_though_it_travels_gathered(pair: Pair) -> None:
    pair.watch()
    await pair.tell(started(), *(delta(f"{number} ") for number in range(500)))
    text = "".join(f"{number} " for number in range(500))
    await until(lambda: pair.live_text() == text)
    messages = [content for content in pair.wires.carried if content["kind"] == "events"]
    assert len(messages) <= 3


async def test_who_comes_later_gets_what_was_written_so_far(pair: Pair) -> None:
    await pair.tell(started(), delta("So far"))
    assert pair.wires.carried == []
    pair.watch()
    assert pair.live_text() == "So far"
    await pair.tell(delta(", and on"))
    await until(lambda: pair.live_text() == "So far, and on")
    await pair.tab.wait_for(1)
    assert pair.tab.got[0]["type"] == "sync"


async def test_a_lost_message_is_noticed_and_everything_asked_for(pair: Pair) -> None:
    pair.watch()
    await pair.tell(started(), delta("a"))
    pair.wires.is_cut = True
    await pair.tell(delta("b"))
    await until(lambda: pair.wires.lost)
    pair.wires.is_cut = False
    await pair.tell(delta("c"))
    await until(lambda: pair.live_text() == "abc")


async def test_a_lost_last_message_is_noticed_by_the_beat(pair: Pair) -> None:
    pair.watch()
    await pair.tell(started(), delta("a"))
    await until(lambda: pair.live_text() == "a")
    pair.wires.is_cut = True
    await pair.tell(delta("b"))
    await until(lambda: pair.wires.lost)
    pair.wires.is_cut = False
    await until(lambda: pair.live_text() == "ab")


async def test_an_end_removes_the_run(pair: Pair) -> None:
    pair.watch()
    await pair.tell(started(), delta("a"), finished())
    await until(lambda: pair.hub.live_runs(CONVERSATION) == {})
    assert not pair.worker.has_run(CONVERSATION)


async def test_a_root_that_ends_takes_the_runs_below_it_along(pair: Pair) -> None:
    child = replace(started(), run="r2", parent_run="r1")
    await pair.tell(started(), child, finished())
    assert not pair.worker.has_run(CONVERSATION)


async def test_what_nobody_watches_is_not_sent(pair: Pair) -> None:
    await pair.tell(started(), delta("a"), finished())
    assert pair.wires.carried == []


async def test_without_a_relay_nothing_is_sent_and_local_runs_are_known() -> None:
    alone = Broadcaster(None)
    await alone.handle(started())
    assert alone.has_run(CONVERSATION)
    await alone.handle(finished())
    assert not alone.has_run(CONVERSATION)


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_pages_show_the_same_after_what_they_do_not_need_was_taken_out(name: str) -> None:
    event, told = sample(EVENTS[name]), for_pages(sample(EVENTS[name]))
    assert told is not None
    lives = []
    for shown in (event, told):
        live = LiveRun(run=event.run)
        call = sample(EVENTS["ToolCallStarted"])
        for step in (sample(RunStarted), call, shown):
            live.apply(step)
        lives.append(live)
    assert lives[0] == lives[1]


def test_pieces_of_a_call_are_not_for_pages() -> None:
    piece = ModelDeltaReceived(
        run="r1", at_ns=1, turn=0, attempt=1, delta=ModelDelta(call_index=0, call_arguments="{")
    )
    assert for_pages(piece) is None


async def test_adopted_runs_replace_what_was_known(pair: Pair) -> None:
    await pair.hub.handle(started())
    other = LiveRun(run="r2", conversation=CONVERSATION, parts=["x"])
    pair.hub.adopt(CONVERSATION, {"r2": other})
    assert set(pair.hub.live_runs(CONVERSATION)) == {"r2"}
    before = pair.hub.seq(CONVERSATION)
    pair.hub.forget(CONVERSATION)
    assert pair.hub.live_runs(CONVERSATION) == {}
    assert pair.hub.seq(CONVERSATION) != before
