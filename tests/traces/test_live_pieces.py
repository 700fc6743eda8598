"""What is sent to a browser that looks at a large trace while it goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.large import span_id, store_large
from traces.live_pieces import Watched, fresh_pieces

pytestmark = pytest.mark.django_db


def news(watched: Watched) -> dict[str, str | None]:
    """The lines of the next message: HTML by id, ``None`` for what has not changed."""
    message: Any = fresh_pieces(watched)
    assert message is not None
    return dict(message["lines"])


def test_rows_that_a_reader_opened_come_and_stay() -> None:
    store_large(120, is_running=True)
    watched = Watched(trace_id="large", language="en", selected=span_id(5, 2))
    lines = news(watched)
    assert f"row-{span_id(5, 2)}" in lines
    assert f"row-{span_id(119, 1)}" in lines
    assert f"row-{span_id(60, 1)}" not in lines
    watched.open([span_id(60)])
    watched.selected = span_id(80, 1)
    lines = news(watched)
    assert lines[f"row-{span_id(60, 1)}"]
    assert f"row-{span_id(80, 1)}" in lines
    assert f"row-{span_id(5, 2)}" in lines


def test_a_line_that_was_folded_is_sent_again_when_it_comes_back() -> None:
    store_large(120)
    watched = Watched(trace_id="large", language="en", selected=span_id(5, 2))
    first = news(watched)
    assert news(watched)[f"row-{span_id(5, 2)}"] is None
    watched.opened.clear()
    watched.selected = span_id(80, 1)
    assert f"row-{span_id(5, 2)}" not in news(watched)
    watched.selected = span_id(5, 2)
    assert news(watched)[f"row-{span_id(5, 2)}"] == first[f"row-{span_id(5, 2)}"]


def test_no_more_rows_are_kept_open_than_fit() -> None:
    watched = Watched(trace_id="large", language="en")
    watched.open(range(100_000))
    watched.open(["x" * 1000])
    assert len(watched.opened) == 2000
    assert max(map(len, watched.opened)) <= 17
