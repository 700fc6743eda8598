"""A Python tool for the tests of traces: pages of a long text."""

from __future__ import annotations

import random

from agents.python_tools import tool

PAGE_WORDS = 600
_LETTERS = "etaoinshrdlu"


def prose(seed: int, count: int = PAGE_WORDS) -> str:
    """So many words, some of them much more often than others, as in a language; always the same
    ones for a seed."""
    words, chosen = random.Random(0), random.Random(seed)
    known = ["".join(words.choices(_LETTERS, k=words.randint(2, 10))) for _ in range(2000)]
    weights = [1 / (rank + 1) for rank in range(len(known))]
    return " ".join(chosen.choices(known, weights, k=count))


@tool
def read_page(number: int) -> str:
    """Return a page of the text."""
    return prose(number)
