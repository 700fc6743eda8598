"""Streamed chunks of every shape that providers send."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.interfaces import ModelAnswer, ModelDelta, Usage
from agents.loop.messages import ToolCall
from agents.providers.openai_stream import StreamAccumulator, error_in
from tests.fake_provider import chunk, usage_chunk

NAMES = ("echo__echo", "echo__ping", "count__count")


def read(*chunks: Any, names: tuple[str, ...] = NAMES) -> ModelAnswer:
    accumulator = StreamAccumulator(names)
    for item in chunks:
        accumulator.feed(item)
    return accumulator.finish()


def entry(arguments: Any = None, *, name: Any = None, **fields: Any) -> dict[str, Any]:
    """A call in a delta; only what is given is sent."""
    function = {"name": name, "arguments": arguments}
    sent = {key: value for key, value in function.items() if value is not None}
    return {**fields, "function": sent} if sent else fields


def calls_of(*pieces: Any, names: tuple[str, ...] = NAMES) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of the calls; each piece is a chunk (a list: several in one chunk)."""
    sent = [
        chunk({"tool_calls": piece if isinstance(piece, list) else [piece]}) for piece in pieces
    ]
    return [(call.id, call.name, call.arguments) for call in read(*sent, names=names).tool_calls]


A = ("a", "echo__echo", '{"message": "1"}')
B = ("b", "echo__ping", "{}")


def test_the_standard_shape_gives_its_calls() -> None:
    assert calls_of(
        entry("", index=0, id="a", name="echo__echo"),
        entry('{"message"', index=0),
        entry(': "1"}', index=0),
        entry("", index=1, id="b", name="echo__ping"),
        entry("{}", index=1),
    ) == [A, B]


@pytest.mark.parametrize("index", [{"index": 0}, {}, {"index": None}, {"index": "0"}])
def test_ids_tell_calls_apart_where_the_index_does_not(index: dict[str, Any]) -> None:
    pieces = [
        entry('{"message"', id="a", name="echo__echo", **index),
        entry(': "1"}', **index),
        entry("{", id="b", name="echo__ping", **index),
        entry("}", **index),
    ]
    assert calls_of(*pieces) == [A, B]
    assert calls_of(*({**piece, "id": "ab"[n // 2]} for n, piece in enumerate(pieces))) == [A, B]


def test_pieces_with_ids_may_come_in_turns() -> None:
    assert calls_of(
        entry('{"message"', index=0, id="a", name="echo__echo"),
        entry("{", index=0, id="b", name="echo__ping"),
        entry(': "1"}', index=0, id="a"),
        entry("}", index=0, id="b"),
    ) == [A, B]


def test_calls_without_index_and_id_are_told_apart_by_their_names() -> None:
    assert calls_of(
        entry('{"message": "1"}', name="echo__echo"),
        entry("{}", name="echo__ping"),
        entry('{"message": "2"}', name="echo__echo"),
        entry('{"message": "3"}', name="echo__echo"),
    ) == [
        ("", *A[1:]),
        ("", *B[1:]),
        ("", "echo__echo", '{"message": "2"}'),
        ("", "echo__echo", '{"message": "3"}'),
    ]


def test_calls_without_arguments_are_told_apart_by_their_names() -> None:
    assert calls_of(entry("", name="echo__ping"), entry("", name="count__count")) == [
        ("", "echo__ping", ""),
        ("", "count__count", ""),
    ]


def test_two_calls_in_one_chunk_are_two_whatever_they_lack() -> None:
    twice = [entry("{}", name="echo__ping"), entry("{}", name="echo__ping")]
    assert calls_of(twice) == [("", *B[1:])] * 2
    assert calls_of([{**item, "index": 0, "id": "x"} for item in twice]) == [("x", *B[1:])] * 2


def test_sparse_indexes_are_kept() -> None:
    assert calls_of(
        entry('{"message": ', index=1, id="a", name="echo__echo"),
        entry("{", index=2, id="b", name="echo__ping"),
        entry('"1"}', index=1),
        entry("}", index=2),
    ) == [A, B]


def test_name_and_id_in_every_chunk_are_not_doubled() -> None:
    pieces = [
        entry(text, index=0, id="a", name="echo__echo") for text in ("", '{"mess', 'age": "1"}', "")
    ]
    assert calls_of(*pieces) == [A]
    assert calls_of(*({**piece, "id": ""} for piece in pieces)) == [("", *A[1:])]


def test_a_name_in_pieces_is_joined() -> None:
    assert calls_of(
        entry(index=0, id="a", name="echo_"),
        entry(index=0, name="_echo"),
        entry('{"message": "1"}', index=0),
    ) == [A]


def test_the_same_id_twice_with_different_arguments_is_two_calls() -> None:
    first, second = '{"message": "1"}', '{"message": "2"}'
    expected = [("x", "echo__echo", first), ("x", "echo__echo", second)]
    for indexes in ((0, 1), (0, 0), (None, None)):
        assert (
            calls_of(
                *(
                    entry(text, index=index, id="x", name="echo__echo")
                    for text, index in zip((first, second), indexes, strict=True)
                )
            )
            == expected
        )


def test_a_call_that_is_sent_again_is_one_call() -> None:
    again = entry('{"message": "1"}', index=0, id="a", name="echo__echo")
    assert calls_of(again, again) == [A]


def test_an_id_may_come_late() -> None:
    assert calls_of(
        entry('{"message"', index=0, name="echo__echo"), entry(': "1"}', index=0, id="a")
    ) == [A]


def test_an_index_may_come_only_once() -> None:
    assert calls_of(entry("", index=0, id="a", name="echo__echo"), entry('{"message": "1"}')) == [A]
    assert calls_of(entry("", id="a", name="echo__echo"), entry('{"message": "1"}', index=0)) == [A]


def test_an_empty_object_before_the_arguments_is_not_part_of_them() -> None:
    assert calls_of(
        entry("{}", index=0, id="a", name="echo__echo"), entry('{"message": "1"}', index=0)
    ) == [A]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"message": "1"}, {"message": "1"}),
        (None, ""),
        ("", ""),
        (42, "42"),
        ([1], "[1]"),
        ('{"cut', '{"cut'),
    ],
)
def test_arguments_are_kept_as_they_were_sent(sent: Any, kept: Any) -> None:
    function = {"name": "echo__echo", "arguments": sent}
    assert calls_of({"index": 0, "id": "a", "function": function}) == [("a", "echo__echo", kept)]


def test_other_fields_of_a_call_are_kept_for_replay() -> None:
    signed = {"google": {"thought_signature": "s"}}
    answer = read(
        chunk({"tool_calls": [entry("{}", index=0, id="b", name="echo__ping", type="function")]}),
        chunk({"tool_calls": [{"index": 0, "extra_content": signed}]}),
    )
    assert answer.tool_calls == (
        ToolCall(id="b", name="echo__ping", arguments="{}", extra={"extra_content": signed}),
    )


def test_the_old_function_call_is_a_call() -> None:
    answer = read(
        chunk({"function_call": {"name": "echo__echo", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"message": "1"}'}}, "function_call"),
    )
    assert [(c.id, c.name, c.arguments) for c in answer.tool_calls] == [("", *A[1:])]


def test_a_call_in_both_forms_is_one_call() -> None:
    both = {
        "tool_calls": [entry("{}", index=0, id="b", name="echo__ping")],
        "function_call": {"name": "echo__ping", "arguments": "{}"},
    }
    assert len(read(chunk(both)).tool_calls) == 1


def test_a_whole_message_instead_of_deltas_is_read() -> None:
    message = {
        "content": "hi",
        "tool_calls": [entry("{}", id="b", name="echo__ping"), entry("{}", name="echo__ping")],
    }
    answer = read({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (answer.text, len(answer.tool_calls), answer.finish_reason) == ("hi", 2, "stop")


def test_a_whole_message_after_its_deltas_adds_only_what_is_new() -> None:
    message = {"content": "hi", "tool_calls": [entry("{}", id="b", name="echo__ping")]}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
    answer = read(chunk({"content": "hi"}), whole, whole)
    assert (answer.text, len(answer.tool_calls)) == ("hi", 1)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "text",
        3,
        [],
        {},
        {"choices": None},
        {"choices": []},
        {"choices": ["x", None]},
        {"choices": [{}]},
        {"choices": [{"delta": None}]},
        {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        chunk({"content": None, "tool_calls": None}),
        chunk({"tool_calls": [None, {}, {"index": 0}, {"function": None}]}),
        chunk({"content": 3, "reasoning": {}, "tool_calls": "x"}),
        {"choices": [], "usage": "none"},
    ],
)
def test_odd_chunks_add_nothing_and_break_nothing(odd: Any) -> None:
    answer = read(chunk({"content": "a"}), odd, chunk({"content": "b"}, "stop"))
    assert (answer.text, answer.tool_calls, answer.finish_reason) == ("ab", (), "stop")


def test_content_in_parts_is_text_and_thinking() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"},
        {"type": "text", "text": {"value": "b"}},
        "c",
    ]
    assert StreamAccumulator().feed(chunk({"content": parts})) == [
        ModelDelta(reasoning="hm"),
        ModelDelta(text="abc"),
    ]


def test_a_refusal_is_text() -> None:
    assert read(chunk({"refusal": "I can"}), chunk({"refusal": "not."})).text == "I cannot."


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_kept_under_its_own_key(key: str) -> None:
    accumulator = StreamAccumulator()
    assert accumulator.feed(chunk({key: "think "})) == [ModelDelta(reasoning="think ")]
    accumulator.feed(chunk({key: "more", "content": ""}))
    assert accumulator.finish().extra == {key: "think more"}


def test_reasoning_under_two_keys_is_shown_once_and_replayed_under_both() -> None:
    accumulator = StreamAccumulator()
    sent = chunk({"reasoning": "x", "reasoning_content": "x"})
    assert accumulator.feed(sent) == [ModelDelta(reasoning="x")]
    assert accumulator.finish().extra == {"reasoning": "x", "reasoning_content": "x"}


def test_reasoning_details_go_on_where_they_stopped() -> None:
    def detail(text: str, signature: str | None = None) -> dict[str, Any]:
        return {"type": "reasoning.text", "index": 0, "text": text, "signature": signature}

    locked = {"type": "reasoning.encrypted", "index": 1, "data": "x"}
    answer = read(
        chunk({"reasoning_details": [detail("a")]}),
        chunk({"reasoning_details": [detail("b", "sig")]}),
        chunk({"reasoning_details": [locked]}),
    )
    assert answer.extra == {"reasoning_details": [detail("ab", "sig"), locked]}


def test_usage_is_counted_once_wherever_it_comes() -> None:
    counts = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": None},
    }
    expected = Usage(input_tokens=9, output_tokens=4, cached_tokens=3, reasoning_tokens=2)
    early = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    for sent in (
        [chunk({"content": "a"}, usage=counts)],
        [chunk(choices=[], usage=counts), chunk(choices=[], usage=None)],
        [chunk({}, **early), chunk({}, **early), chunk({}, "stop", usage=counts)],
        [{"choices": [{"delta": {}, "usage": counts}]}],
        [chunk(x_groq={"usage": counts})],
        [chunk(usage=counts), chunk(usage={}), chunk(usage={"prompt_tokens": None})],
    ):
        assert read(*sent).usage == expected


def test_other_names_of_usage_are_known() -> None:
    usage = {"prompt_tokens": 9.0, "completion_tokens": None, "prompt_cache_hit_tokens": 4}
    assert read(chunk(usage=usage)).usage == Usage(input_tokens=9, cached_tokens=4)
    other = {"input_tokens": 2, "output_tokens": 3}
    assert read(chunk(usage=other)).usage == Usage(input_tokens=2, output_tokens=3)
    assert read(chunk({"content": "a"}, "stop")).usage is None


def test_calls_count_whatever_the_finish_reason_says() -> None:
    sent = [chunk({"tool_calls": [entry("{}", index=0, id="b", name="echo__ping")]}, "stop")]
    answer = read(*sent, usage_chunk())
    assert (answer.finish_reason, len(answer.tool_calls)) == ("stop", 1)


def test_deltas_tell_which_call_grows() -> None:
    accumulator = StreamAccumulator(NAMES)
    accumulator.feed(chunk({"content": "x"}))
    first = entry('{"a"', index=3, id="a", name="echo__echo")
    assert accumulator.feed(chunk({"tool_calls": [first, entry("{}", index=7, id="b")]})) == [
        ModelDelta(call_index=0, call_name="echo__echo", call_arguments='{"a"'),
        ModelDelta(call_index=1, call_arguments="{}"),
    ]
    assert accumulator.feed(chunk({"tool_calls": [entry(":1}", index=3)]})) == [
        ModelDelta(call_index=0, call_arguments=":1}")
    ]


def test_errors_inside_a_stream_are_found() -> None:
    assert error_in({"error": {"message": "m"}}) == {"message": "m"}
    assert error_in({"error": "m"}) == {"message": "m"}
    assert error_in({"object": "error", "message": "m"}) == {"object": "error", "message": "m"}
    assert error_in({**chunk({"content": "a"}), "error": None}) is None
