"""A single tool may have limits of its own, before its server's and the assistant's."""

from __future__ import annotations

from agents.bundle.assistant_entries import read_assistant
from agents.bundle.reading import ObjectReader
from agents.bundle.report import Report
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Json, Runner
from tests.servers import stdio_entry


def configure(runner: Runner, provider: FakeProvider, **limits: Json) -> None:
    runner.configure(
        provider,
        servers=[stdio_entry("echo", entry={"tool_timeout_seconds": 20, "tool_max_seconds": 20})],
        assistant={"tool_limits": {f"echo.{tool}": given for tool, given in limits.items()}},
    )


def test_its_result_is_cut_where_it_says(runner: Runner) -> None:
    asks = calls(call("c1", "echo__big", {"chars": 3000}), call("c2", "echo__ping"))
    with FakeProvider([asks, text("done")]) as provider:
        configure(runner, provider, big={"tool_result_max_chars": 500})
        runner.run("go")
        sent = [m["content"] for m in provider.requests[1].messages if m["role"] == "tool"]
    assert len(sent[0]) <= 500 and sent[1] == "pong"


def test_it_is_given_up_after_its_own_time(runner: Runner) -> None:
    asks = calls(call("c1", "echo__slow", {"seconds": 15}))
    with FakeProvider([asks, text("done")]) as provider:
        configure(runner, provider, slow={"tool_timeout_seconds": 0.3})
        ran = runner.run("go")
    assert ran.outcomes == ["timeout"]


def test_it_is_called_only_so_often_in_one_run(runner: Runner) -> None:
    first = calls(*(call(f"c{n}", "echo__echo", {"message": str(n)}) for n in range(4)))
    second = calls(call("d1", "echo__echo", {"message": "more"}), call("d2", "echo__ping"))
    with FakeProvider([first, second, text("done"), first, text("again")]) as provider:
        configure(runner, provider, echo={"max_calls": 3})
        ran = runner.run("go")
        told = provider.requests[1].messages[-1]["content"]
        again = runner.run("go", conversation=ran.conversation)
    assert ran.outcomes == ["ok", "ok", "ok", "skipped", "skipped", "ok"]
    assert "may be called 3 times in one run" in told
    assert again.outcomes == ["ok", "ok", "ok", "skipped"]


def test_a_bundle_with_odd_limits_is_refused(runner: Runner) -> None:
    outcome = _faults(
        {
            "ping": {},
            "echo.ping": {"max_calls": 0},
            "echo.big": {"tool_timeout_seconds": "long"},
            "echo.slow": {"calls": 3},
            "echo.echo": 3,
        }
    )
    assert [pointer.rpartition("tool_limits/")[2] for pointer in outcome] == [
        "ping", "echo.ping/max_calls", "echo.big/tool_timeout_seconds", "echo.slow/calls",
        "echo.echo",
    ]  # fmt: skip


def _faults(limits: Json) -> list[str]:
    report = Report()
    entry = {"id": "a", "provider": "p", "tool_limits": limits}
    read_assistant(ObjectReader(entry, "", report))
    return [fault.pointer for fault in report.faults]
