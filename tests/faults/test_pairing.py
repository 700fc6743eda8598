"""Calls and results stay paired, whatever happens (faults 1 to 10)."""

from __future__ import annotations

from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Runner
from tests.servers import stdio_entry


def test_a_call_cut_off_beside_a_good_one_gets_an_error_in_its_place(runner: Runner) -> None:
    script = [
        calls(call("c1", "echo__echo", {"message": "a"}), call("c2", "echo__echo", '{"message":')),
        text("done"),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    results = [m for m in provider.requests[1].messages if m["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == ["c1", "c2"]
    assert results[0]["content"] == "a"
    assert "cut off" in results[1]["content"]
    assert ran.finished["status"] == "completed"
