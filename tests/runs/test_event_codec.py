"""Events and live runs come out of the codec as they went in."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from agents.loop.events import Event, RunFinished
from agents.loop.interfaces import ModelAnswer, ModelDelta, Usage
from agents.loop.messages import Image, Message, Role, ToolCall
from agents.loop.results import ContentPart, Outcome, PartKind, ToolResult
from agents.runs.event_codec import EVENTS, decode_event, decode_live, encode_event, encode_live
from agents.runs.live import LiveBar, LiveCall, LiveRun

ODD = {"$": "ToolCall", "event": "RunStarted", "n": [1, 1.5, None, True, {"deep": "\ud800 北京"}]}
CALL = ToolCall(id="", name="a__b", arguments={"x": [1, None]}, key="r:0:1:0", extra=ODD)
MESSAGE = Message(
    role=Role.ASSISTANT,
    content=({"type": "text", "text": "hi"},),
    tool_calls=(CALL, replace(CALL, arguments="{broken")),
    images=(Image(data="AA==", mime_type="image/png"),),
    extra=ODD,
)
RESULT = ToolResult(
    call=CALL, server="a", tool="b", outcome=Outcome.TOOL_ERROR, text="no", arguments=ODD,
    parts=(ContentPart(kind=PartKind.IMAGE, data="AA=="),), structured=[ODD],
    images=MESSAGE.images,
)  # fmt: skip
ANSWER = ModelAnswer(text="t", tool_calls=(CALL,), usage=Usage(input_tokens=3), extra=ODD)

SAMPLES: dict[str, Any] = {
    "str": "text \x00 \udcff", "int": 7, "bool": True, "float": 0.25, "int | None": None,
    "float | None": 1.5, "str | None": None, "Turn": "F", "JsonObject": ODD, "JsonValue": [ODD, 1],
    "tuple[str, ...]": ("a", "b"), "tuple[JsonObject, ...]": (ODD, {}), "ToolCall": CALL,
    "tuple[ToolCall, ...]": (CALL,), "Message": MESSAGE, "ToolResult": RESULT,
    "ModelAnswer": ANSWER, "ModelDelta": ModelDelta(text="a", reasoning="b", call_index=0),
}  # fmt: skip


def sample(kind: type[Event]) -> Event:
    return kind(**{item.name: SAMPLES[str(item.type)] for item in fields(kind)})


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_comes_back_as_it_was(name: str) -> None:
    event = sample(EVENTS[name])
    text = encode_event(event)
    assert text.isascii() and "\n" not in text
    assert decode_event(text) == event
    assert type(decode_event(text)) is type(event)


def test_text_content_stays_text_and_turns_stay_numbers() -> None:
    event = replace(sample(EVENTS["ModelAnswered"]), turn=0, message=replace(MESSAGE, content="x"))
    assert decode_event(encode_event(event)) == event


def test_a_live_run_comes_back_as_it_was() -> None:
    finished = sample(RunFinished)
    assert isinstance(finished, RunFinished)
    live = LiveRun(
        run="r", conversation="c", limits=ODD, parts=["a", "b"], turns=[("0", "continued", "")],
        calls={"k": LiveCall(key="k", turn="0", attempt=1, server="s", tool="t", name="n",
                             arguments=ODD, progress=0.5)},
        bars=[LiveBar(kind="M", label="m", turn="0", started_ns=1, ended_ns=2)], finished=finished,
    )  # fmt: skip
    assert decode_live(encode_live(live)) == live
    assert decode_live(encode_live(replace(live, finished=None))).finished is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"event":"Event"}', '{"event":"RunStarted","run":"r"}',
     '{"event":"ToolCallWaiting","run":"r","at_ns":1,"turn":0,"attempt":1,"call":3,"server":"",'
     '"tool":"","arguments":{}}'],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decode_event(text)


def test_a_field_of_another_version_is_left_out() -> None:
    text = encode_event(sample(EVENTS["TurnStarted"])).replace('{"event"', '{"later":1,"event"')
    assert decode_event(text) == sample(EVENTS["TurnStarted"])
