"""Time limits and people who stop a run (faults 29 and 45, sections 7 and 8)."""

from __future__ import annotations

import asyncio
import importlib
import threading
from pathlib import Path
from typing import Any

import pytest

from agents.loop.interfaces import Approval, ApprovalRequest
from tests.fake_provider import FakeProvider, Step, call, calls, chunk, error, hang, text
from tests.running import Json, Runner, wait_until
from tests.servers import received, stdio_entry
from tests.watching import TEXT_SEEN

SLOW = calls(call("c1", "echo__slow", {"seconds": 60}), call("c2", "echo__ping"))
QUICK_END = {"limits": {"run_timeout_seconds": 1.0}}


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """The libraries that a process imports at its first run: a second or two, not these tests'."""
    for module in ("agents.providers.openai_chat", "agents.mcp_client.connection"):
        importlib.import_module(module)


def test_out_of_time_in_a_tool_cancels_it_and_asks_the_fallback(
    runner: Runner, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    with FakeProvider([SLOW, text("what there is")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo", record=str(record))], assistant=QUICK_END
        )
        ran = runner.run("go")
    finished = ran.finished
    assert (finished["status"], finished["stop_reason"], finished["level"]) == (
        "completed", "time", 2,
    )  # fmt: skip
    assert ran.outcomes == ["cancelled", "ok"]
    brief = provider.requests[1].messages[-1]["content"]
    assert "### echo.slow\nError: " in brief and "pong" in brief
    wait_until(lambda: received(record, "notifications/cancelled"))
    tools = [row for row in ran.stored() if row.role == "tool"]
    assert [row.outcome for row in tools] == ["ok", "cancelled"]
    assert tools[1].duration_ms is not None
    assert 100 < tools[1].duration_ms < 30_000


def test_out_of_time_in_a_model_asks_the_fallback(runner: Runner) -> None:
    def step(body: Json, n: int) -> Step:
        return hang([chunk({"content": "Half"})]) if n == 0 else text("what there is")

    with FakeProvider(step) as provider:
        runner.configure(provider, assistant=QUICK_END)
        ran = runner.run("go")
        provider.wait_for(lambda: provider.disconnects == 1)
    assert (ran.finished["stop_reason"], ran.finished["level"]) == ("time", 2)
    assert ran.finished["answer"] == "what there is"


def test_out_of_time_while_a_provider_is_waited_for_asks_the_fallback(runner: Runner) -> None:
    script = [error(429, headers={"Retry-After": "60"}), text("what there is")]
    with FakeProvider(script) as provider:
        runner.configure(provider, assistant=QUICK_END, provider_fields={"max_retries": 2})
        ran = runner.run("go")
    assert (ran.finished["stop_reason"], ran.finished["level"]) == ("time", 2)


class NobodyDecides:
    """A person who never answers; ``asked`` counts."""

    def __init__(self) -> None:
        self.asked = 0
        self.taken_back = threading.Event()

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.asked += 1
        try:
            await asyncio.Event().wait()
        finally:
            # A real one takes its question back, which takes longer than a call needs to end.
            await asyncio.to_thread(self.taken_back.wait, 0.1)
        raise AssertionError("the wait above never ends")


class DecidesLater(NobodyDecides):
    """A person who takes longer than the run may."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        await asyncio.sleep(1.2)
        return Approval(is_allowed=True, by="test")


def asked_for(approver: NobodyDecides, monkeypatch: pytest.MonkeyPatch) -> NobodyDecides:
    monkeypatch.setattr("agents.runs.terminal.terminal_approver", lambda: approver)
    return approver


def test_out_of_time_beside_a_call_that_waits_for_a_person(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for(NobodyDecides(), monkeypatch)
    with FakeProvider([SLOW, text("what there is")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={**QUICK_END, "approval": {"echo.ping": "ask"}},
        )
        ran = runner.run("go")
    assert (ran.finished["stop_reason"], ran.finished["level"]) == ("time", 2)
    assert ran.outcomes == ["cancelled", "cancelled"]


@pytest.mark.parametrize("wanted", [["echo__ping"], ["echo__ping", "echo__count"]])
def test_waiting_for_a_person_costs_the_run_no_time(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wanted: list[str]
) -> None:
    asked_for(DecidesLater(), monkeypatch)
    step = calls(*(call(f"c{n}", name) for n, name in enumerate(wanted)))
    with FakeProvider([step, text("done")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", entry={"env": {"COUNT_FILE": str(tmp_path / "n")}})],
            assistant={**QUICK_END, "approval": {"echo.ping": "ask"}},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["ok"] * len(wanted)
    assert ran.finished["answer"] == "done"


def test_a_stop_while_a_person_is_asked_asks_no_model(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver = asked_for(NobodyDecides(), monkeypatch)
    with FakeProvider([SLOW]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        ran = runner.run_and_stop("go", when=lambda: wait_until(lambda: approver.asked == 2))
    assert (ran.code, len(provider.requests)) == (130, 1)
    assert ran.outcomes == ["cancelled", "cancelled"]


def test_a_stop_in_the_model_keeps_the_text_and_asks_no_fallback(
    runner: Runner, settings: Any
) -> None:
    settings.TOOLLOOP_EVENT_SINKS = ["tests.watching.DeltaWatcher"]
    TEXT_SEEN.clear()
    with FakeProvider([hang([chunk({"content": "Half"})])]) as provider:
        runner.configure(provider)
        ran = runner.run_and_stop("go", when=lambda: wait_until(TEXT_SEEN.is_set))
    finished = ran.finished
    assert (finished["status"], finished["stop_reason"], finished["level"]) == (
        "cancelled", "cancelled", None,
    )  # fmt: skip
    assert finished["answer"] == "Half"
    assert len(provider.requests) == 1


def test_a_stop_in_the_fallback_ends_the_run_as_cancelled(runner: Runner, settings: Any) -> None:
    settings.TOOLLOOP_EVENT_SINKS = ["tests.watching.DeltaWatcher"]
    TEXT_SEEN.clear()
    ping = calls(call("c1", "echo__ping"))
    script = [ping, ping, hang([chunk({"content": "Half"})])]
    with FakeProvider(script) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"mcp": {"options": {"max_turn": 1}}}
        )
        ran = runner.run_and_stop("go", when=lambda: wait_until(TEXT_SEEN.is_set))
    assert ran.code == 130
    assert (ran.finished["status"], ran.finished["level"]) == ("cancelled", None)
    assert ran.finished["answer"] == "Half"
    assert len(provider.requests) == 3


def test_a_stop_in_a_provider_retry_ends_the_run_as_cancelled(runner: Runner) -> None:
    with FakeProvider([error(503, headers={"Retry-After": "60"})]) as provider:
        runner.configure(provider, provider_fields={"max_retries": 2})
        ran = runner.run_and_stop(
            "go", when=lambda: provider.wait_for(lambda: len(provider.requests) == 1)
        )
    assert (ran.code, ran.finished["status"]) == (130, "cancelled")
    assert len(provider.requests) == 1
