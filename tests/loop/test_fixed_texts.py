"""The fixed answers of level 3."""

from __future__ import annotations

import re

import pytest

from agents.loop.fixed_texts import fixed_answer


@pytest.mark.parametrize("reason", ["max_turns", "errors", "context", "hook_error", "time", ""])
def test_chinese_answers_have_chinese_punctuation(reason: str) -> None:
    text = fixed_answer(reason, [], language="zh")
    assert not re.search(r"[\u4e00-\u9fff][;,:.!?]", text), text
