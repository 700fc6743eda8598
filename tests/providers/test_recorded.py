"""Vendors and gateways behind compatible endpoints: recorded exchanges, played to whole runs.

A provider that refuses what the vendor refuses answers over HTTP with what the vendor sent.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.loop.interfaces import ModelDelta
from tests.fake_provider import FakeProvider, Json, Step, chunks, error, json_answer
from tests.providers.test_openai_chat import chat, request
from tests.providers.vendor_faults import refusal_of
from tests.running import Ran, Runner
from tests.servers import stdio_entry

RECORDED = {
    f"{path.parent.name}/{path.stem}": json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "recorded").glob("*/*.json"))
}
UNBROKEN = [name for name, recorded in RECORDED.items() if "retries" not in recorded["expect"]]


def step_of(exchange: Json) -> Step:
    """What the vendor answered: the lines of a stream as they are, or a body."""
    if "sse" in exchange:
        return chunks(["\n".join(exchange["sse"]).removesuffix("\n")], done=False)
    if exchange["status"] == 200:
        return json_answer(exchange["body"])
    return error(exchange["status"], exchange["body"])


class Vendor:
    """Answers with the recorded steps in order; what the vendor would refuse takes none of them."""

    def __init__(self, name: str, steps: list[Step]) -> None:
        self.name = name
        self.left = list(steps)
        self.refused: list[int] = []

    def __call__(self, body: Json, number: int) -> Step:
        refusal = refusal_of(self.name, body)
        if refusal is not None:
            self.refused.append(number)
            return refusal
        return self.left.pop(0)


def with_made_up_ids(messages: list[Json], recorded: str) -> list[Json]:
    """The messages with a placeholder for each id that the vendor has not sent."""
    names: dict[str, str] = {}

    def named(call_id: str) -> str:
        if call_id in recorded:
            return call_id
        return names.setdefault(call_id, f"(made up {len(names) + 1})")

    told = []
    for message in messages:
        shown = dict(message)
        if "tool_calls" in shown:
            shown["tool_calls"] = [{**c, "id": named(c["id"])} for c in shown["tool_calls"]]
        if "tool_call_id" in shown:
            shown["tool_call_id"] = named(shown["tool_call_id"])
        told.append(shown)
    return told


def assert_run(ran: Ran, expect: Json) -> None:
    """Whether the run did what the record says."""
    assert ran.finished["answer"] == expect["answer"]
    called = ran.of("tool_call_started")
    assert [event["name"] for event in called] == [name for name, _ in expect["calls"]]
    asked = [arguments for _, arguments in expect["calls"]]
    got = [event["arguments"] for event in called]
    assert [g for g, a in zip(got, asked, strict=True) if a is not None] == [
        a for a in asked if a is not None
    ]
    assert ran.outcomes == expect.get("outcomes", ["ok"] * len(called))
    retries = ran.of("provider_retry")
    for event, words in zip(retries, expect.get("retries", []), strict=True):
        assert words in event["error"]
    if "delays" in expect:
        assert [event["delay_ms"] for event in retries] == expect["delays"]
    if "usage" in expect:
        assert ran.finished["usage"] == expect["usage"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_exchange_is_played_to_its_end(runner: Runner, name: str) -> None:
    recorded = RECORDED[name]
    expect = recorded["expect"]
    vendor = Vendor(
        recorded.get("vendor", name.partition("/")[0]),
        [step_of(item) for item in recorded["exchanges"]],
    )
    with FakeProvider(vendor) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo", **recorded.get("script", {}))],
            provider_fields=recorded["provider"],
            assistant=recorded.get("assistant"),
        )
        ran = runner.run(*recorded.get("say", ["go"]))
        bodies = [request.body for request in provider.requests]
    assert_run(ran, expect)
    assert vendor.left == [] and vendor.refused == expect.get("refused", [])
    text = json.dumps(recorded["exchanges"], ensure_ascii=False)
    for body, wanted in zip(bodies, expect.get("sent", [None] * len(bodies)), strict=True):
        sent = {**body, "messages": with_made_up_ids(body["messages"], text)}
        assert {key: sent.get(key) for key in wanted or {}} == (wanted or {})
    if "roles" in expect:
        assert [[m["role"] for m in body["messages"]] for body in bodies] == expect["roles"]
    if expect.get("same_tools"):
        assert all(body["tools"] == bodies[0]["tools"] for body in bodies)


@pytest.mark.parametrize("name", UNBROKEN)
async def test_the_thoughts_of_an_answer_are_shown_and_are_no_part_of_its_text(name: str) -> None:
    recorded = RECORDED[name]
    seen: list[ModelDelta] = []

    async def watch(delta: ModelDelta) -> None:
        seen.append(delta)

    with FakeProvider([step_of(recorded["exchanges"][0])]) as provider:
        async with chat(provider) as model:
            answer = await model.answer(request(), watch)
    shown = "".join(delta.reasoning for delta in seen)
    assert shown == recorded["expect"].get("reasoning", "")
    assert answer.text == "".join(delta.text for delta in seen)
    assert "thought>" not in answer.text


def test_every_vendor_has_its_records() -> None:
    assert {name.partition("/")[0] for name in RECORDED} == {
        "anthropic", "gemini", "litellm", "openrouter",
    }  # fmt: skip
