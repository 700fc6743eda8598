"""The fixed answers of level 3."""

from __future__ import annotations

import re

import pytest

from agents.loop.fixed_texts import fixed_answer


@pytest.mark.parametrize("reason", ["max_turns", "errors", "context", "hook_error", "time", ""])
def test_chinese_answers_have_chinese_punctuation(reason: str) -> None:
    text = fixed_answer(reason, [], language="zh")
    assert not re.search(r"[\u4e00-\u9fff][;,:.!?]", text), text


def test_an_error_without_a_full_stop_gets_one() -> None:
    text = fixed_answer(
        "provider_error", [], language="en", error="refused (401): Bad key", hint="Check the key."
    )
    assert text.splitlines()[2:] == [
        "What failed: The model gave no answer. refused (401): Bad key.",
        "",
        "What to do: Check the key.",
    ]


def test_an_english_error_stands_in_quotes_in_a_chinese_answer() -> None:
    text = fixed_answer(
        "provider_error", [], language="zh", error="Refused (401): Bad key", hint="Check the key."
    )
    assert text.splitlines()[2:] == [
        "失败原因：模型没有给出回答。“Refused (401): Bad key”",
        "",
        "建议：请稍后再试；详细内容见追踪。",
    ]
