"""Text that says nothing is not sent, and fields that a provider wants of calls are."""

from __future__ import annotations

from typing import Any

from agents.loop.messages import JsonObject, Message, Role, ToolCall
from agents.loop.wire import Wire, WireRules

SIGNED: JsonObject = {"extra_content": {"google": {"thought_signature": "skip"}}}
OWN: JsonObject = {"extra_content": {"google": {"thought_signature": "own"}}}


def sent(*messages: Message, **rules: Any) -> list[dict[str, Any]]:
    return [dict(item) for item in Wire(WireRules(provider="here", **rules)).messages(messages)]


def call(key: str, **fields: Any) -> ToolCall:
    return ToolCall(id=key, name="t", arguments="{}", key=key, **fields)


def result(key: str, content: str) -> Message:
    return Message(role=Role.TOOL, content=content, tool_call_id=key, call_key=key)


def test_messages_that_say_nothing_are_left_out() -> None:
    told = sent(
        Message(role=Role.SYSTEM, content=" "),
        Message(role=Role.USER, content="hi"),
        Message(role=Role.ASSISTANT, content="\n"),
        Message(role=Role.ASSISTANT, content="yes"),
    )
    assert [item["content"] for item in told] == ["hi", "yes"]


def test_blank_text_beside_a_call_and_blank_results_are_not_sent() -> None:
    told = sent(
        Message(role=Role.USER, content="hi"),
        Message(role=Role.ASSISTANT, content="\n\n", tool_calls=(call("a"), call("b"))),
        result("a", " \n"),
        result("b", " kept "),
    )
    assert [item["content"] for item in told] == ["hi", None, "(no output)", " kept "]


def test_blank_parts_are_left_out_where_others_stand() -> None:
    picture: JsonObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}}
    parts: tuple[JsonObject, ...] = ({"type": "text", "text": ""}, picture)
    [told] = sent(Message(role=Role.USER, content=parts), vision=True)
    assert told["content"] == [picture]


def test_the_first_call_of_an_answer_gets_the_fields_that_it_lacks() -> None:
    foreign = Message(
        role=Role.ASSISTANT, provider="there", tool_calls=(call("a", extra=OWN), call("b"))
    )
    own = Message(role=Role.ASSISTANT, provider="here", tool_calls=(call("c", extra=OWN),))
    unsigned = Message(role=Role.ASSISTANT, provider="here", tool_calls=(call("d"),))
    told = sent(
        Message(role=Role.USER, content="hi"),
        foreign, result("a", "1"), result("b", "2"),
        own, result("c", "3"),
        unsigned, result("d", "4"),
        call_fields=SIGNED,
    )  # fmt: skip
    calls = [item for message in told for item in message.get("tool_calls", ())]
    assert [item.get("extra_content") for item in calls] == [
        SIGNED["extra_content"], None, OWN["extra_content"], SIGNED["extra_content"],
    ]  # fmt: skip
    assert [item["id"] for item in calls] == ["a", "b", "c", "d"]
