"""A provider that takes one call in one answer gets each call with its result."""

from __future__ import annotations

from agents.loop.messages import JsonObject, Message, Role, ToolCall
from agents.loop.wire import Wire, WireRules


def call(number: int) -> ToolCall:
    return ToolCall(id=f"c{number}", name="echo__ping", arguments="{}", key=f"r:1:1:{number}")


def result(number: int) -> Message:
    return Message(role=Role.TOOL, content=f"pong {number}", call_key=f"r:1:1:{number}")


HISTORY = [
    Message(role=Role.USER, content="go"),
    Message(role=Role.ASSISTANT, content="I look.", tool_calls=(call(1), call(2))),
    result(1),
    result(2),
    Message(role=Role.ASSISTANT, content="done"),
]


def asked(number: int, content: str | None) -> JsonObject:
    function: JsonObject = {"name": "echo__ping", "arguments": "{}"}
    wanted: JsonObject = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": content, "tool_calls": [wanted]}


def told(number: int) -> JsonObject:
    return {"role": "tool", "content": f"pong {number}", "tool_call_id": f"c{number}"}


def test_each_call_stands_before_its_result_and_the_text_with_the_first() -> None:
    sent = Wire(WireRules(provider="p", one_call_each=True)).messages(HISTORY)
    assert list(sent) == [
        {"role": "user", "content": "go"},
        asked(1, "I look."),
        told(1),
        asked(2, None),
        told(2),
        {"role": "assistant", "content": "done"},
    ]


def test_the_same_messages_are_the_same_objects_in_the_next_request() -> None:
    wire = Wire(WireRules(provider="p", one_call_each=True))
    first, second = wire.messages(HISTORY), wire.messages([*HISTORY, HISTORY[0]])
    assert [id(message) for message in first] == [id(message) for message in second[:-1]]
    assert list(wire.messages(HISTORY[:1])) == [first[0]]
