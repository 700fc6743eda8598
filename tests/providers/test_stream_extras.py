"""What an answer carries beside text and calls is put together for its replay."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.interfaces import ModelDelta, Usage
from agents.providers.openai_stream import StreamAccumulator
from agents.providers.usage import read_usage
from tests.fake_provider import chunk


def extra_of(*deltas: dict[str, Any]) -> dict[str, Any]:
    accumulator = StreamAccumulator()
    for delta in deltas:
        accumulator.feed(chunk(delta))
    return accumulator.finish().extra


def thinking(text: str, signature: str | None = "") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def test_blocks_of_thought_go_on_until_they_are_signed() -> None:
    locked = {"type": "redacted_thinking", "data": "x"}
    pieces = [thinking("a"), thinking("b", None), thinking("", "one"), locked,
              thinking("c"), thinking("", "two")]  # fmt: skip
    assert extra_of(*({"thinking_blocks": [piece]} for piece in pieces)) == {
        "thinking_blocks": [thinking("ab", "one"), locked, thinking("c", "two")]
    }


def test_blocks_of_thought_in_the_vendors_own_fields_go_on_as_well() -> None:
    first = {"provider_specific_fields": {"thinking_blocks": [thinking("a")], "citation": None}}
    last = {"provider_specific_fields": {"thinking_blocks": [thinking("", "s")], "region": "eu"}}
    assert extra_of(first, last) == {
        "provider_specific_fields": {"thinking_blocks": [thinking("a", "s")], "region": "eu"}
    }


def test_a_vendors_own_fields_are_merged_however_they_come() -> None:
    pieces = [{"google": {"thought_signature": "s"}}, {"google": {"other": 1}}, {"vertex": {}}]
    assert extra_of(*({"extra_content": piece} for piece in pieces)) == {
        "extra_content": {"google": {"thought_signature": "s", "other": 1}, "vertex": {}}
    }


MARK = {"google": {"thought": True}}


@pytest.mark.parametrize(
    "deltas",
    [
        [
            {"content": "<thought>Let me", "extra_content": MARK},
            {"content": " think", "extra_content": MARK},
            {"content": "</thought>It is"},
            {"content": " 4."},
        ],
        [{"content": "<thought>Let me think</thought>It is 4.", "extra_content": MARK}],
        [
            {"content": "Let me think", "extra_content": MARK},
            {"content": "", "extra_content": None},
            {"content": "It is 4."},
        ],
    ],
)
def test_marked_text_is_thought_and_no_answer(deltas: list[dict[str, Any]]) -> None:
    accumulator = StreamAccumulator()
    seen = [item for delta in deltas for item in accumulator.feed(chunk(delta))]
    assert "".join(item.reasoning for item in seen) == "Let me think"
    assert accumulator.finish().text == "It is 4."
    assert accumulator.finish().extra == {}


def test_tags_in_an_answer_that_is_not_marked_stay() -> None:
    accumulator = StreamAccumulator()
    assert accumulator.feed(chunk({"content": "</thought> closes <thought>"})) == [
        ModelDelta(text="</thought> closes <thought>")
    ]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (
            {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 120},
            Usage(input_tokens=7, output_tokens=113, reasoning_tokens=108),
        ),
        (
            {"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81,
             "completion_tokens_details": {"reasoning_tokens": 60}},
            Usage(input_tokens=21, output_tokens=60, reasoning_tokens=60),
        ),
        (
            {"prompt_tokens": 21, "completion_tokens": 60, "total_tokens": 81,
             "completion_tokens_details": {"reasoning_tokens": 50}},
            Usage(input_tokens=21, output_tokens=60, reasoning_tokens=50),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 1015,
             "cache_read_input_tokens": 1000},
            Usage(input_tokens=10, output_tokens=5, cached_tokens=1000),
        ),
    ],
)  # fmt: skip
def test_thoughts_that_only_the_total_counts_are_paid_as_output(
    counts: dict[str, Any], expected: Usage
) -> None:
    assert read_usage(counts) == expected
