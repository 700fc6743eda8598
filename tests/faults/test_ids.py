"""Ids on the wire: each result beside its own call, on both sides alike (faults 11 to 13)."""

from __future__ import annotations

import re

import pytest

from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Json, Runner
from tests.servers import stdio_entry


def pairs(messages: list[Json]) -> list[tuple[str, str, str]]:
    """Call id, result id and result text of every call, in the order sent."""
    asked = [c for m in messages for c in m.get("tool_calls") or []]
    results = [m for m in messages if m["role"] == "tool"]
    return [
        (wanted["id"], result["tool_call_id"], result["content"])
        for wanted, result in zip(asked, results, strict=True)
    ]


@pytest.mark.parametrize("ids", [("c1", "c1"), ("", ""), ("", "c1"), ("c1", " "), ("c1", "c1 ")])
def test_every_call_of_a_message_has_its_own_result(runner: Runner, ids: tuple[str, str]) -> None:
    wanted = [
        call(ids[0], "echo__echo", {"message": "a"}),
        call(ids[1], "echo__echo", {"message": "b"}),
    ]
    with FakeProvider([calls(*wanted), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        ran = runner.run("go")
    sent = pairs(provider.requests[1].messages)
    assert [content for _, _, content in sent] == ["a", "b"]
    assert all(asked == answered and asked.strip() for asked, answered, _ in sent)
    assert sent[0][0] != sent[1][0]
    stored = [row.tool_call_id for row in ran.stored() if row.role == "tool"]
    assert stored == list(ids)


def test_an_id_that_comes_again_in_a_later_turn_stays_unique_in_the_request(runner: Runner) -> None:
    again = calls(call("c1", "echo__echo", {"message": "x"}))
    with FakeProvider([again, again, text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("go")
    first, second = pairs(provider.requests[2].messages)
    assert first[:2] == ("c1", "c1")
    assert second[0] == second[1] != "c1"


def test_ids_that_another_provider_refuses_are_mapped_on_both_sides(runner: Runner) -> None:
    pattern = r"^[a-zA-Z0-9]{9}$"
    script = [calls(call("call_abc|fc_1", "echo__ping")), text("done")]
    with (
        FakeProvider(script) as loose,
        FakeProvider([text("here")], tool_call_id_pattern=pattern) as strict,
    ):
        runner.configure(loose, servers=[stdio_entry("echo")])
        first = runner.run("go")
        runner.configure(
            strict,
            servers=[stdio_entry("echo")],
            provider_fields={"tool_call_id_pattern": pattern},
        )
        second = runner.run("on", conversation=first.conversation)
    [(asked, answered, _)] = pairs(strict.requests[0].messages)
    assert asked == answered
    assert re.fullmatch(pattern, asked)
    assert [row.tool_call_id for row in second.stored() if row.role == "tool"] == ["call_abc|fc_1"]
    assert pairs(loose.requests[1].messages)[0][:2] == ("call_abc|fc_1", "call_abc|fc_1")


def test_an_odd_but_unique_id_travels_byte_for_byte(runner: Runner) -> None:
    odd = "call:1/α β\u200b+=="
    with FakeProvider([calls(call(odd, "echo__ping")), text("done")]) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("go")
    assert pairs(provider.requests[1].messages) == [(odd, odd, "pong")]
