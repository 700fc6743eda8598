"""Texts from outside: what is stored, and what is shown of it."""

from __future__ import annotations

import pytest

from agents.texts import is_blank, show_hidden, storable, without_hidden


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "\u200b", "\u2060\ufeff", "\u3164", "\u202e \u200d"]
)
def test_a_text_of_which_nothing_is_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", "\u200bx", "👩\u200d🚀", "北", ".", "\ufffd"])
def test_a_text_of_which_something_is_seen_is_not(text: str) -> None:
    assert not is_blank(text)


def test_characters_that_turn_or_hide_others_are_named() -> None:
    assert show_hidden("safe\u202egpj.exe") == "safe[U+202E]gpj.exe"
    assert show_hidden("pay\u200bpal\0") == "pay[U+200B]pal[U+0000]"
    assert show_hidden("a\U000e0041b") == "a[U+E0041]b"


@pytest.mark.parametrize("text", ["a\n\tb", "👩\u200d🚀", "می\u200cخواهم", "שלום", "北京"])
def test_ordinary_texts_are_shown_as_they_are(text: str) -> None:
    assert show_hidden(text) == without_hidden(text) == text


def test_titles_lose_hidden_characters() -> None:
    assert without_hidden("a\u202eb\u200bc") == "abc"


def test_what_a_database_refuses_is_replaced_at_every_depth() -> None:
    assert storable({"k\0": ["\ud83d", {"a": "b\ud800"}], "n": 1}) == {
        "k\ufffd": ["?", {"a": "b?"}],
        "n": 1,
    }
