"""Raw results as replies: every kind of content, and what does not fit the protocol."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.results import ContentPart, Outcome, PartKind
from agents.mcp_client.results import clean_json, reply_from_result

TEXT = ContentPart(kind=PartKind.TEXT, text="x")


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"type": "text", "text": "x"}, TEXT),
        ({"type": "text", "text": "x", "annotations": 5}, TEXT),
        (
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            ContentPart(kind=PartKind.IMAGE, data="aGk=", mime_type="image/png"),
        ),
        (
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            ContentPart(kind=PartKind.AUDIO, data="aGk=", mime_type="audio/wav"),
        ),
        (
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            ContentPart(kind=PartKind.LINK, uri="file:///a", name="a", mime_type="text/plain"),
        ),
        (
            {"type": "resource", "resource": {"uri": "r://1", "text": "x"}},
            ContentPart(kind=PartKind.RESOURCE, uri="r://1", text="x"),
        ),
        (
            {"type": "resource", "resource": {"uri": "r://1", "blob": "aGk=", "mimeType": "a/b"}},
            ContentPart(kind=PartKind.RESOURCE, uri="r://1", data="aGk=", mime_type="a/b"),
        ),
        ("x", TEXT),
        ({"type": "text", "text": 5}, ContentPart(kind=PartKind.TEXT, text="5")),
        ({"type": "video", "n": 1}, ContentPart(kind=PartKind.TEXT, text='{"type":"video","n":1}')),
        (None, ContentPart(kind=PartKind.TEXT, text="null")),
        (
            {"type": "resource", "resource": "odd"},
            ContentPart(kind=PartKind.TEXT, text='{"type":"resource","resource":"odd"}'),
        ),
    ],
)
def test_each_kind_of_content_becomes_a_part(item: Any, part: ContentPart) -> None:
    assert reply_from_result({"content": [item]}).parts == (part,)


@pytest.mark.parametrize("content", [None, []])
def test_no_content_is_fine(content: Any) -> None:
    reply = reply_from_result({"content": content})
    assert (reply.outcome, reply.parts, reply.structured) == (Outcome.OK, (), None)


@pytest.mark.parametrize("content", ["x", {"type": "text", "text": "x"}])
def test_content_that_is_no_list_is_read_all_the_same(content: Any) -> None:
    assert reply_from_result({"content": content}).parts == (TEXT,)


@pytest.mark.parametrize("value", [{"id": 2**63}, [1], "x", 0, False])
def test_structured_content_may_be_any_json(value: Any) -> None:
    assert reply_from_result({"content": [], "structuredContent": value}).structured == value


def test_an_error_without_words_says_that_it_has_none() -> None:
    silent = reply_from_result({"isError": True, "content": []})
    assert (silent.outcome, bool(silent.error)) == (Outcome.TOOL_ERROR, True)
    spoken = reply_from_result({"isError": True, "content": [{"type": "text", "text": "x"}]})
    assert (spoken.error, spoken.parts) == ("", (TEXT,))


@pytest.mark.parametrize("result", [{}, {"foo": 1}])
def test_a_result_with_nothing_in_it_is_a_protocol_error(result: Any) -> None:
    assert reply_from_result(result).outcome is Outcome.PROTOCOL_ERROR


def test_a_result_that_is_nested_too_deeply_is_a_protocol_error() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    reply = reply_from_result({"content": [], "structuredContent": deep})
    assert reply.outcome is Outcome.PROTOCOL_ERROR
    while isinstance(deep, list):
        deep = deep.pop()


def test_what_json_text_cannot_hold_is_replaced() -> None:
    odd: Any = {"\ud800": [float("nan"), float("inf"), float("-inf"), "a\udc00", 1.5, True, None]}
    cleaned = clean_json(odd)
    assert cleaned == {
        "\ufffd\ufffd\ufffd": [
            "NaN",
            "Infinity",
            "-Infinity",
            "a\ufffd\ufffd\ufffd",
            1.5,
            True,
            None,
        ]
    }
