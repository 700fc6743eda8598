"""Streams as no provider should send them: an answer comes out of each, never an exception.

``TOOLLOOP_EXAMPLES`` says how many are tried.
"""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.loop.history import repair_history
from agents.loop.messages import JsonValue, Message, Role
from agents.loop.wire import Wire, WireRules
from agents.providers.openai_stream import StreamAccumulator, error_in
from tests.history_faults import history_fault

EXAMPLES = int(os.environ.get("TOOLLOOP_EXAMPLES", "300"))
NAMES = ("echo__echo", "echo__ping")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def either(*good: JsonValue) -> st.SearchStrategy[JsonValue]:
    """One of these, or sometimes anything."""
    return st.sampled_from(good) | st.sampled_from(good) | JSON


FUNCTIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": either("echo__echo", "echo__", "echo", "echo__ping", ""),
        "arguments": either("", "{}", '{"message"', ': "1"}', "{", "}"),
    },
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "index": either(0, 1, None, "0", 7),
        "id": either("a", "b", "", None),
        "type": either("function"),
        "function": FUNCTIONS | JSON,
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": either("assistant"),
        "content": either("Hel", "lo", "", None),
        "reasoning_content": either("hm"),
        "refusal": either("no"),
        "tool_calls": st.lists(ENTRIES, max_size=3) | JSON,
        "function_call": FUNCTIONS | JSON,
    },
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "index": either(0),
        "delta": DELTAS | JSON,
        "message": DELTAS,
        "finish_reason": either("stop", "tool_calls", None, "length"),
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "id": either("c"),
        "model": either("m"),
        "choices": st.lists(CHOICES | JSON, max_size=2) | JSON,
        "usage": either({"prompt_tokens": 3, "completion_tokens": -1}),
    },
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(chunks=st.lists(CHUNKS | JSON, max_size=10))
def test_every_stream_gives_an_answer_that_can_be_sent_back(chunks: list[JsonValue]) -> None:
    accumulator = StreamAccumulator(NAMES)
    shown = [delta for chunk in chunks for delta in accumulator.feed(chunk)]
    for chunk in chunks:
        error_in(chunk)
    answer = accumulator.finish()
    assert answer.text == "".join(delta.text for delta in shown)
    calls = tuple(
        type(call)(id=call.id, name=call.name, arguments=call.arguments, key=f"r:0:1:{place}")
        for place, call in enumerate(answer.tool_calls)
    )
    question = Message(role=Role.USER, content="go")
    message = Message(role=Role.ASSISTANT, content=answer.text, tool_calls=calls)
    repaired, _ = repair_history([question, message])
    assert history_fault(list(Wire(WireRules(provider="p")).messages(repaired))) == ""
