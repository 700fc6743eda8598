"""The recorder's writes, in turn and waited for."""

from __future__ import annotations

import asyncio
import threading

from agents.loop.messages import ToolCall
from agents.runs.lifecycle import Holder
from agents.runs.message_recorder import MessageRecorder, Rows
from tests.traces.events import Teller


class SlowRecorder(MessageRecorder):
    """Writes nowhere, each time only when it is let go on."""

    def __init__(self) -> None:
        super().__init__(Holder(conversation="c1", run="r1", owner="worker"), None)
        self.written: list[str] = []
        self.begun = threading.Semaphore(0)
        self.gates = [threading.Event(), threading.Event()]

    def _write(self, rows: Rows, end: object) -> None:
        gate = self.gates[len(self.written)]
        self.begun.release()
        assert gate.wait(10)
        self.written += [row.call_key for row, _ in rows]


def a_call(position: int) -> ToolCall:
    return ToolCall(id=f"c{position}", name="echo__echo", arguments="{}", key=f"r1:0:1:{position}")


async def test_a_result_that_comes_while_another_is_written_breaks_nothing() -> None:
    recorder = SlowRecorder()
    teller = Teller(recorder.handle)
    await teller.finish_call(a_call(0))
    await asyncio.to_thread(recorder.begun.acquire, timeout=10)
    waiting = asyncio.create_task(teller.start())
    await teller.finish_call(a_call(1))
    # Both writes have begun: the first is in the database, the second is waiting for it.
    async with asyncio.timeout(10):
        while len(recorder._writes) < 2:
            await asyncio.sleep(0)
    recorder.gates[0].set()
    await waiting
    recorder.gates[1].set()
    await teller.start()
    assert recorder.written == ["r1:0:1:0", "r1:0:1:1"]


async def test_what_is_still_gathered_is_stored_before_a_run_is_given_back() -> None:
    recorder = SlowRecorder()
    recorder.gates[0].set()
    await Teller(recorder.handle).finish_call(a_call(0))
    assert recorder.written == []
    await recorder.flush()
    assert recorder.written == ["r1:0:1:0"]
