"""What browsers are sent while a run goes on."""

from __future__ import annotations

import asyncio
import gc
import json
from dataclasses import replace
from typing import Any

import pytest

from agents.loop.events import (
    Event,
    ModelDeltaReceived,
    ProviderRetry,
    RunFinished,
    RunStarted,
    TurnFinished,
)
from agents.loop.interfaces import ModelDelta
from agents.loop.messages import JsonObject
from agents.runs.hub import MOST_CHANNELS, Hub
from agents.runs.live import LiveRun

CONVERSATION = "c1"


class Tab:
    """A browser tab that keeps what it is sent."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.got: list[dict[str, Any]] = []
        self.arrived = asyncio.Event()

    def put(self, text: str) -> None:
        self.got.append(json.loads(text))
        self.arrived.set()

    def end(self) -> None:
        self.arrived.set()

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.got) < count:
                self.arrived.clear()
                await self.arrived.wait()


async def render(event: Event, live: LiveRun, language: str) -> list[JsonObject]:
    return [{"id": type(event).__name__, "html": live.text, "lang": language}]


async def render_all(conversation: str, lives: dict[str, LiveRun], language: str) -> JsonObject:
    return {"html": "".join(live.text for live in lives.values()), "lang": language}


def started() -> RunStarted:
    return RunStarted(run="r1", at_ns=1, conversation=CONVERSATION, trace="t", assistant="a")


def delta(text: str) -> ModelDeltaReceived:
    return ModelDeltaReceived(run="r1", at_ns=2, turn=0, attempt=1, delta=ModelDelta(text=text))


@pytest.fixture
def hub() -> Hub:
    return Hub(render, render_all)


async def test_text_arrives_whole_in_order_and_with_its_place(hub: Hub) -> None:
    tab = Tab()
    hub.watch(CONVERSATION, tab)
    await hub.handle(started())
    for letter in "Hello, world":
        await hub.handle(delta(letter))
    await hub.handle(_finished())
    await tab.wait_for(4)
    texts = [message for message in tab.got if message["type"] == "delta"]
    assert "".join(message["text"] for message in texts) == "Hello, world"
    assert texts[0] == {**texts[0], "at": 0, "text": "H"}
    assert [message["at"] for message in texts] == [0, 1]
    assert [message["seq"] for message in tab.got] == sorted(m["seq"] for m in tab.got)


async def test_an_answer_that_is_sent_again_begins_at_its_start(hub: Hub) -> None:
    tab = Tab()
    hub.watch(CONVERSATION, tab)
    await hub.handle(started())
    await hub.handle(delta("Half"))
    await hub.handle(
        ProviderRetry(
            run="r1", at_ns=3, turn=0, attempt=1, error="cut", delay_ms=0, provider="p", model="m"
        )
    )
    await hub.handle(delta("Whole"))
    await tab.wait_for(4)
    assert [(m["at"], m["text"]) for m in tab.got if m["type"] == "delta"] == [
        (0, "Half"),
        (0, "Whole"),
    ]


async def test_a_tab_that_comes_later_gets_what_was_written_so_far(hub: Hub) -> None:
    await hub.handle(started())
    await hub.handle(delta("So far"))
    tab = Tab()
    hub.watch(CONVERSATION, tab)
    hub.sync(CONVERSATION, tab)
    await tab.wait_for(1)
    assert (tab.got[0]["type"], tab.got[0]["html"]) == ("sync", "So far")


async def test_what_happened_while_nobody_watched_changes_the_number(hub: Hub) -> None:
    loaded = hub.seq(CONVERSATION)
    await hub.handle(started())
    assert hub.seq(CONVERSATION) != loaded


async def test_what_nobody_watches_takes_no_memory_for_ever(hub: Hub) -> None:
    hub.watch(CONVERSATION, Tab())
    await hub.handle(started())
    known = hub.seq(CONVERSATION)
    for number in range(5 * MOST_CHANNELS):
        run, conversation = f"r-{number}", f"c-{number}"
        begin = RunStarted(run=run, at_ns=1, conversation=conversation, trace="t", assistant="a")
        await hub.handle(begin)
        await hub.handle(replace(_finished(), run=run))
    kept = [thing for thing in gc.get_objects() if type(thing).__name__ == "_Channel"]
    assert len(kept) <= MOST_CHANNELS + 50
    assert hub.seq(CONVERSATION) >= known and hub.live_ids(CONVERSATION) == {"r1"}


async def test_each_tab_is_sent_its_own_language(hub: Hub) -> None:
    english, chinese = Tab(), Tab("zh-hans")
    hub.watch(CONVERSATION, english)
    hub.watch(CONVERSATION, chinese)
    await hub.handle(started())
    await english.wait_for(1)
    await chinese.wait_for(1)
    assert [english.got[0]["items"][0]["lang"], chinese.got[0]["items"][0]["lang"]] == [
        "en",
        "zh-hans",
    ]
    assert english.got[0]["seq"] == chinese.got[0]["seq"]
    hub.sync(CONVERSATION, chinese)
    await chinese.wait_for(2)
    assert chinese.got[1]["lang"] == "zh-hans"


async def test_a_page_that_cannot_be_rendered_does_not_stop_the_others() -> None:
    async def broken(event: Event, live: LiveRun, language: str) -> list[JsonObject]:
        if isinstance(event, RunStarted):
            raise ValueError("no template")
        return [{"id": "x", "html": ""}]

    hub, tab = Hub(broken, render_all), Tab()
    hub.watch(CONVERSATION, tab)
    await hub.handle(started())
    await hub.handle(_finished())
    await tab.wait_for(1)
    assert tab.got[0]["type"] == "fragments"


async def test_what_stands_beside_the_text_is_never_sent_after_the_end() -> None:
    may_render = asyncio.Event()

    async def slow(event: Event, live: LiveRun, language: str) -> list[JsonObject]:
        await may_render.wait()
        return [{"id": type(event).__name__, "html": ""}]

    hub, tab = Hub(slow, render_all), Tab()
    hub.watch(CONVERSATION, tab)
    await hub.handle(started())
    await hub.handle(TurnFinished(run="r1", at_ns=2, turn=0, decision="answered"))
    await hub.handle(_finished())
    may_render.set()
    await tab.wait_for(2)
    hub.sync(CONVERSATION, tab)
    await tab.wait_for(3)
    sent = [item["id"] for message in tab.got for item in message.get("items", [])]
    assert sent == ["RunStarted", "RunFinished"]


def _finished() -> RunFinished:
    return RunFinished(
        run="r1",
        at_ns=9,
        status="completed",
        stop_reason="answered",
        level=1,
        answer="",
        turns=0,
        tool_calls=0,
        input_tokens=0,
        output_tokens=0,
    )
