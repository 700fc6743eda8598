"""One call can be stopped, and the run goes on."""

from __future__ import annotations

import asyncio

import pytest

from agents.loop.open_calls import OpenCalls
from agents.loop.results import Outcome, ToolReply


async def for_ever(started: asyncio.Event, ended: list[str]) -> ToolReply:
    started.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")
    raise AssertionError("nothing sets that event")


async def test_a_call_that_a_person_stops_has_the_result_cancelled() -> None:
    calls, started, ended = OpenCalls(), asyncio.Event(), list[str]()
    task = asyncio.create_task(calls.execute("k", for_ever(started, ended)))
    await started.wait()
    assert calls.stop("k")
    reply = await task
    assert (reply.outcome, ended) == (Outcome.CANCELLED, ["ended"])
    assert not calls.stop("k")


async def test_a_run_that_is_stopped_stops_its_call_and_is_not_held_up() -> None:
    calls, started, ended = OpenCalls(), asyncio.Event(), list[str]()
    task = asyncio.create_task(calls.execute("k", for_ever(started, ended)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["ended"]
