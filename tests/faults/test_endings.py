"""How a run ends: guards, limits, statuses and levels (faults 26 to 34)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Step, call, calls, chunk, chunks, error, text
from tests.faults.hooks import DO, PATHS
from tests.running import Json, Ran, Runner
from tests.servers import stdio_entry

PING = calls(call("c1", "echo__ping"))


def ending(ran: Ran) -> tuple[str, str, int | None]:
    """Status, stop reason and level."""
    finished = ran.finished
    return finished["status"], finished["stop_reason"], finished["level"]


def is_fallback_request(body: Json) -> bool:
    return body["messages"][-1]["content"].startswith("## Assistant Context")


def for_ever(
    make: Callable[[int], Step], fallback: Step | None = None
) -> Callable[[Json, int], Step]:
    """A model that goes on for ever, and answers as the fallback assistant."""

    def step(body: Json, n: int) -> Step:
        return (fallback or text("from the fallback")) if is_fallback_request(body) else make(n)

    return step


def echo_n(n: int) -> Step:
    return calls(call(f"c{n}", "echo__echo", {"message": str(n)}))


def test_the_same_failing_call_for_ever_ends_with_an_answer(runner: Runner) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", "echo__fail")))) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.finished["answer"] == "from the fallback"
    assert ran.finished["stop_reason"] in ("errors", "repeats")
    assert len(provider.requests) <= 1 + 2 + 5 + 1


@pytest.mark.parametrize("name", ["nothing", "echo_ping", "__", "other__tool", "echo__pin g"])
def test_a_tool_that_does_not_exist_is_answered_with_the_tools_there_are(
    runner: Runner, name: str
) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", name)))) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    told = provider.requests[1].messages[2]
    assert set(ran.outcomes) == {"unknown_tool"}
    assert "echo__ping" in told["content"] and "echo__echo" in told["content"]
    assert ending(ran) == ("completed", "errors", 2)
    assert len(provider.requests) <= 1 + 2 + 5 + 1


def test_a_call_without_any_tools_offered_is_an_unknown_tool(runner: Runner) -> None:
    with FakeProvider([calls(call("c1", "echo__ping")), text("done")]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
    assert ran.outcomes == ["unknown_tool"]
    assert ran.finished["answer"] == "done"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_same_call_with_the_same_result_is_refused_and_then_ends_the_run(
    runner: Runner, limit: int
) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", "echo__ping")))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": {"repeat_limit": limit}},
        )
        ran = runner.run("go")
    assert ran.outcomes == ["ok"] * limit + ["skipped"] * 2
    told = provider.requests[limit + 1].messages[-1]["content"]
    assert told.startswith("Error: ") and "same result" in told
    assert ending(ran) == ("completed", "repeats", 2)


def test_equal_arguments_written_differently_are_a_repeat(runner: Runner) -> None:
    spelled = [
        '{"seconds": 0, "steps": 1}',
        '{"steps": 1.0,"seconds": 0.0}',
        '{ "steps":1,"seconds":0}',
    ]
    script = for_ever(lambda n: calls(call(f"c{n}", "echo__slow", spelled[n % 3])))
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["ok", "ok", "ok", "skipped", "skipped"]


def test_the_same_call_with_another_result_each_time_is_no_repeat(
    runner: Runner, tmp_path: Any
) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", "count__count")))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("count", entry={"env": {"COUNT_FILE": str(tmp_path / "n")}})],
        )
        ran = runner.run("go")
    assert ran.outcomes == ["ok"] * 6
    assert ending(ran) == ("completed", "max_turns", 2)


def test_two_refusals_in_one_turn_are_one_warning(runner: Runner) -> None:
    both = [call("a", "echo__ping"), call("b", "echo__ping")]
    with FakeProvider([calls(*both), calls(*both), calls(*both), text("I see")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ran.outcomes == ["ok"] * 4 + ["skipped"] * 2
    assert ran.finished["answer"] == "I see"
    assert ending(ran) == ("completed", "answered", 1)


def test_a_fallback_that_asks_for_a_tool_too_ends_with_the_fixed_answer(runner: Runner) -> None:
    with FakeProvider(lambda body, n: echo_n(n)) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ending(ran) == ("failed", "max_turns", 3)
    assert "all its turns" in ran.finished["answer"]
    assert [event["level"] for event in ran.of("fallback")] == [2, 3]
    assert len(provider.requests) == 1 + 5 + 1
    assert ran.finished["turns"] == 5
    stored = ran.stored()
    asked = [c["key"] for row in stored for c in row.tool_calls]
    assert asked == [row.call_key for row in stored if row.role == "tool"]


@pytest.mark.parametrize("empty", ["", "  \n\t"])
def test_an_empty_answer_after_tools_is_asked_for_once_more_without_tools(
    runner: Runner, empty: str
) -> None:
    with FakeProvider([PING, text(empty), text("here it is")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert "tools" in provider.requests[1].body
    assert "tools" not in provider.requests[2].body
    assert (ran.finished["answer"], ran.finished["level"]) == ("here it is", 1)


@pytest.mark.parametrize(
    "script", [[text("")], [PING, text(""), PING], [PING, text(""), text(" ")]]
)
def test_an_answer_that_stays_empty_ends_with_a_visible_notice(
    runner: Runner, script: list[Step]
) -> None:
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ending(ran) == ("failed", "empty", 3)
    assert "empty answer" in ran.finished["answer"]
    assert len(provider.requests) == (3 if len(script) > 1 else 2)
    assert [row.role for row in ran.stored() if row.tool_calls] == ["assistant"] * (len(script) > 1)


def test_a_filtered_answer_with_text_is_shown_as_it_is(runner: Runner) -> None:
    for reason in ("length", "content_filter"):
        with FakeProvider([text("Half an ans", finish=reason)]) as provider:
            runner.configure(provider)
            ran = runner.run("go")
        assert (ran.finished["answer"], ran.finished["stop_reason"]) == ("Half an ans", "answered")
        assert ran.stored()[-1].details["finish_reason"] == reason


@pytest.mark.parametrize("value", [0, -1, 0.5, "3", True, None, [], 7.5, "many", -3.0])
def test_a_max_turn_that_is_no_whole_number_counts_as_five_on_import(
    runner: Runner, value: Any
) -> None:
    with FakeProvider(lambda body, n: echo_n(n)) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"mcp": {"options": {"max_turn": value}}},
        )
        ran = runner.run("go")
    assert ran.finished["turns"] == 5


@pytest.mark.parametrize(("value", "turns"), [(1, 1), (7.0, 7)])
def test_a_whole_number_of_turns_counts(runner: Runner, value: float, turns: int) -> None:
    with FakeProvider(for_ever(echo_n)) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"mcp": {"options": {"max_turn": value}}},
        )
        ran = runner.run("go")
    assert ran.finished["turns"] == turns
    assert ending(ran) == ("completed", "max_turns", 2)


def test_no_run_makes_more_requests_than_the_contract_allows(runner: Runner) -> None:
    def worst(body: Json, n: int) -> Step:
        return calls(call(f"c{n}", "echo__echo", {} if n < 2 else {"message": str(n)}))

    with FakeProvider(worst) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"mcp": {"options": {"max_turn": 3}}}
        )
        ran = runner.run("go")
    assert len(provider.requests) == 1 + 2 + 3 + 1
    asked = [(event["turn"], event["attempt"]) for event in ran.of("model_request")]
    assert asked == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1), (3, 1), ("F", 1)]


@pytest.mark.parametrize("only", ["create", "next", "before_tool_call", "after_tool_call"])
def test_one_hook_that_returns_nothing_does_not_stop_the_tool_loop(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, only: str
) -> None:
    monkeypatch.setitem(DO, only, lambda *_: None)
    with FakeProvider([PING, PING, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"hooks": {only: PATHS[only]}}
        )
        ran = runner.run("go")
    assert (ran.finished["turns"], ran.finished["answer"]) == (2, "done")


def test_a_model_that_fails_in_turn_three_leaves_all_results_to_the_fallback(
    runner: Runner,
) -> None:
    script = [*(echo_n(n + 100) for n in range(3)), error(400), text("from what there is")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    brief = provider.requests[-1].messages[-1]["content"]
    assert all(f"\n{n}\n" in brief for n in (100, 101, 102))
    assert ending(ran) == ("completed", "provider_error", 2)
    assert ran.finished["turns"] == 3


def test_a_model_that_fails_after_tools_and_again_gives_the_fixed_text(runner: Runner) -> None:
    with FakeProvider([echo_n(100), error(400)]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    assert ending(ran) == ("failed", "provider_error", 3)
    assert "100" in ran.finished["answer"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Wie spät ist es?", ("What was found so far", "pong", "What failed", "What to do")),
        ("现在几点?", ("目前已得到的结果", "pong", "失败原因", "建议")),
    ],
)
def test_the_fixed_text_says_what_was_found_what_failed_and_what_to_do(
    runner: Runner, question: str, words: tuple[str, ...]
) -> None:
    with FakeProvider([PING, text("")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run(question)
    assert all(word in ran.finished["answer"] for word in words)


def test_tokens_end_the_loop_and_count_over_all_requests(runner: Runner) -> None:
    with FakeProvider(for_ever(echo_n)) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"limits": {"max_run_tokens": 40}}
        )
        ran = runner.run("go")
    assert ending(ran) == ("completed", "tokens", 2)
    assert len(provider.requests) == 4
    assert ran.finished["usage"] == {"input_tokens": 40, "output_tokens": 20}


def test_tokens_count_too_where_a_provider_gives_none(runner: Runner) -> None:
    def silent(body: Json, n: int) -> Step:
        if is_fallback_request(body):
            return text("from the fallback")
        return chunks([c for c in echo_n(n).chunks if not (isinstance(c, dict) and "usage" in c)])

    with FakeProvider(silent) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"limits": {"max_run_tokens": 100}}
        )
        ran = runner.run("x" * 800)
    assert ran.finished["stop_reason"] == "tokens"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_run_tokens": 1, "max_consecutive_errors": 1}, "tokens"),
        ({"max_consecutive_errors": 1}, "errors"),
        ({"max_run_tokens": 1, "repeat_limit": 1}, "tokens"),
    ],
)
def test_the_first_reason_in_the_order_counts(runner: Runner, limits: Json, reason: str) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", "nothing")))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": limits, "mcp": {"options": {"max_turn": 1}}},
        )
        ran = runner.run("go")
    assert ran.finished["stop_reason"] == reason


def test_repeats_come_before_max_turns(runner: Runner) -> None:
    with FakeProvider(for_ever(lambda n: calls(call(f"c{n}", "echo__ping")))) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": {"repeat_limit": 1}, "mcp": {"options": {"max_turn": 2}}},
        )
        ran = runner.run("go")
    assert ran.finished["stop_reason"] == "repeats"


def test_a_turn_with_one_good_call_begins_the_count_of_errors_anew(runner: Runner) -> None:
    def step(body: Json, n: int) -> Step:
        if is_fallback_request(body):
            return text("from the fallback")
        wanted = [call(f"a{n}", "nothing")]
        return calls(*wanted, *([call(f"b{n}", "echo__ping")] if n == 1 else []))

    with FakeProvider(step) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"limits": {"max_consecutive_errors": 2, "parameter_attempts": 1}},
        )
        ran = runner.run("go")
    assert ran.finished["stop_reason"] == "errors"
    assert ran.finished["turns"] == 3


def test_text_of_a_choice_without_an_end_is_not_lost(runner: Runner) -> None:
    with FakeProvider([chunks([chunk({"content": "hi"}), chunk({}, "stop")])]) as provider:
        runner.configure(provider)
        ran = runner.run("go")
    assert ran.finished["answer"] == "hi"
