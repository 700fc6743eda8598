"""Calls that go in a circle: the model is warned, then refused, then the run ends. What only looks
like one is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.loop.circles import Circles, with_warning
from agents.loop.messages import ToolCall
from agents.loop.results import Outcome, ToolResult
from tests.fake_provider import FakeProvider, Json, Step, call, calls, text
from tests.running import Ran, Runner
from tests.servers import stdio_entry
from traces.models import Span

STEPS = {"server_id": "steps", "transport": "python", "module": "tests.faults.local_tools"}
FAILED = {"content": [{"type": "text", "text": "no permission"}], "isError": True}


def configure(runner: Runner, provider: FakeProvider, **fields: Any) -> None:
    fields.setdefault("servers", [stdio_entry("echo")])
    assistant = {"mcp": {"options": {"max_turn": 20}}, **fields.pop("assistant", {})}
    runner.configure(provider, assistant=assistant, **fields)


def in_loop(make: Callable[[int], Step], ends_at: int = 99) -> Callable[[Json, int], Step]:
    """Calls for ever, or until request ``ends_at``; the fallback gets text."""

    def script(body: Json, number: int) -> Step:
        return make(number) if "tools" in body and number < ends_at else text("done")

    return script


def told(provider: FakeProvider, name: str) -> list[str]:
    """The results of one tool as the last request with tools had them."""
    messages = [r.messages for r in provider.requests if "tools" in r.body][-1]
    ids = {
        item["id"]
        for message in messages
        for item in message.get("tool_calls") or []
        if item["function"]["name"] == name
    }
    return [m["content"] for m in messages if m["role"] == "tool" and m["tool_call_id"] in ids]


def limits_in_trace(ran: Ran) -> list[str]:
    rows = Span.objects.filter(trace__conversation=ran.conversation, kind="turn")
    found = [entry for row in rows for entry in row.attributes.get("toolloop.limits_reached", [])]
    return [f"{entry['option']}: {entry['detail']}" for entry in found]


def test_two_calls_in_turn_are_warned_of_refused_and_ended(runner: Runner) -> None:
    names = ["echo__ping", "echo__img"]
    script = in_loop(lambda n: calls(call(f"c{n}", names[n % 2])))
    with FakeProvider(script) as provider:
        configure(runner, provider)
        ran = runner.run("go")
        pings = told(provider, "echo__ping")
    assert ran.outcomes == ["ok"] * 6 + ["skipped"] * 3
    assert pings[:2] == ["pong", "pong"]
    assert pings[2].startswith("pong\n\n[Loop guard: echo__ping has now given the same result")
    assert "in turn with echo__img" in pings[2] and "not executed" in pings[3]
    assert (ran.finished["stop_reason"], ran.finished["level"]) == ("repeats", 2)
    assert limits_in_trace(ran)[:3] == [
        "repeat_limit: echo__ping: the model was warned",
        "repeat_limit: echo__img: the model was warned",
        "repeat_limit: echo__ping: not executed",
    ]


def test_one_tool_that_fails_alike_whatever_its_arguments(runner: Runner) -> None:
    def make(n: int) -> Step:
        beside = call(f"d{n}", "echo__big", {"chars": n + 1})
        return calls(call(f"c{n}", "echo__echo", {"message": str(n)}), beside)

    with FakeProvider(in_loop(make)) as provider:
        configure(runner, provider, servers=[stdio_entry("echo", results={"echo": FAILED})])
        ran = runner.run("go")
        said = told(provider, "echo__echo")
    ends = ran.of("tool_call_finished")
    outcomes = [e["outcome"] for e in ends if e["tool"] == "echo"]
    assert outcomes == ["tool_error"] * 6 + ["skipped"] * 2
    assert [("Loop guard" in line) for line in said[:6]] == [False, False, True] + [False] * 3
    assert "failed 6 times in the same way" in said[6]
    assert ran.finished["stop_reason"] == "repeats"


def test_names_that_were_never_offered(runner: Runner) -> None:
    def make(n: int) -> Step:
        beside = call(f"d{n}", "echo__big", {"chars": n + 1})
        return calls(call(f"c{n}", f"made_up_{n}"), beside)

    with FakeProvider(in_loop(make)) as provider:
        configure(runner, provider)
        ran = runner.run("go")
        said = [line for n in range(7) for line in told(provider, f"made_up_{n}")]
    assert ["Loop guard" in line for line in said[:4]] == [False, False, True, False]
    assert ran.finished["stop_reason"] == "repeats" and len(ran.outcomes) == 14


def test_a_polling_tool_may_say_the_same_as_often_as_it_likes(runner: Runner) -> None:
    script = in_loop(lambda n: calls(call(f"c{n}", "echo__ping")), ends_at=8)
    with FakeProvider(script) as provider:
        configure(runner, provider, assistant={"tool_limits": {"echo.ping": {"polling": True}}})
        ran = runner.run("go")
        pings = told(provider, "echo__ping")
    assert ran.outcomes == ["ok"] * 8 and ran.finished["answer"] == "done"
    assert set(pings) == {"pong"} and limits_in_trace(ran) == []


@pytest.mark.parametrize("errors", [["a", "b"], ["a", ""]])
def test_other_errors_and_what_works_in_between_are_no_circle(
    runner: Runner, errors: list[str]
) -> None:
    def script(body: Json, n: int) -> Step:
        if "tools" not in body or n >= 10:
            return text("done")
        wanted = {"fail": errors[n % 2], "n": n} if errors[n % 2] else {"n": n}
        return calls(call(f"c{n}", "steps__step", wanted), call(f"d{n}", "steps__step", {"n": -n}))

    with FakeProvider(script) as provider:
        configure(runner, provider, servers=[STEPS])
        ran = runner.run("go")
        said = told(provider, "steps__step")
    assert "skipped" not in ran.outcomes and ran.finished["answer"] == "done"
    assert not any("Loop guard" in line for line in said)


def test_a_run_that_another_process_goes_on_with_counts_on() -> None:
    """The warning in a stored result is no part of what the tool said."""

    def result(said: str) -> ToolResult:
        wanted = ToolCall(id="c", name="t", arguments="{}")
        return ToolResult(
            call=wanted, server="s", tool="t", outcome=Outcome.OK, text=said, full_text=said
        )

    circles = Circles(3)
    warnings = [circles.note("t", "{}", result("pong")) for _ in range(2)]
    warned = circles.note("t", "{}", result("pong"))
    stored = Circles(3)
    for said in ("pong", "pong", with_warning("pong", warned)):
        stored.note("t", "{}", result(said))
    assert warnings == ["", ""] and warned
    assert stored.why_refused("t", "{}") == circles.why_refused("t", "{}") != ""
