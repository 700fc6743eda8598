"""Lists of hashes are stored without what an earlier span of the run has told, and read whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traces.message_lists import GONE, ListWriter, SharedList, read_list

HASHES = st.lists(st.sampled_from("abcdef"), max_size=12)
WRITES = st.lists(st.tuples(st.sampled_from(["r1", "r2"]), HASHES, st.booleans()), max_size=20)


def written_and_read(writes: list[tuple[str, list[str], bool]]) -> list[list[str]]:
    """The lists as they are read; where a write ``is_again``, the span is stored twice."""
    writer, rows = ListWriter(), []
    for position, (run, hashes, is_again) in enumerate(writes):
        span = f"span{position:x}"
        stored = writer.shortened(run, span, position, hashes)
        if is_again:
            assert writer.shortened(run, span, position, hashes) == stored
        rows.append((span, stored))
    known: dict[str, object] = {}
    for span, stored in rows:
        known[span] = read_list(stored, known)
    return [list(value) for value in known.values()]  # type: ignore[call-overload]


@given(WRITES)
def test_every_list_is_read_as_it_was(writes: list[tuple[str, list[str], bool]]) -> None:
    assert written_and_read(writes) == [hashes for _run, hashes, _again in writes]


def test_a_list_that_grows_stores_what_is_new_alone() -> None:
    writer = ListWriter()
    stored = [
        writer.shortened("r", f"s{n}", n, [f"h{place}" for place in range(2 * n + 1)])
        for n in range(200)
    ]
    assert [len(row) for row in stored] == [1] + [3] * 199


def test_an_older_span_that_is_stored_once_more_refers_to_nothing_newer() -> None:
    writer = ListWriter()
    writer.shortened("r", "s1", 1, ["a"])
    writer.shortened("r", "s2", 2, ["a", "b"])
    assert writer.shortened("r", "s1", 1, ["a"]) == ["a"]
    assert writer.shortened("r", "s3", 3, ["a", "b", "c"]) == ["+s2:2", "c"]


def test_what_a_lost_span_told_is_gone_and_counted() -> None:
    found = read_list(["+never:2", "c"], {})
    assert isinstance(found, SharedList)
    assert (list(found), len(found)) == ([GONE, GONE, "c"], 3)


def test_after_forgetting_a_list_is_stored_whole() -> None:
    writer = ListWriter()
    writer.shortened("r", "s1", 1, ["a"])
    writer.forget()
    assert writer.shortened("r", "s2", 2, ["a", "b"]) == ["a", "b"]
