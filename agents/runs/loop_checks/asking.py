"""Asks a model one question for a check, and keeps what went over the wire.

Place in the house: ``agents.runs.loop_checks``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.loop.errors import ModelError
from agents.loop.events import (
    Event,
    ModelAnswered,
    ModelCancelled,
    ModelDeltaReceived,
    ModelFailed,
    ModelRequestStarted,
    ToolCallFinished,
)
from agents.loop.interfaces import ModelAnswer, ModelDelta, ModelRequest
from agents.loop.messages import JsonObject, JsonValue, Message
from agents.loop.model_request import BACK_OFF_MAX_SECONDS, BACK_OFF_SECONDS
from agents.loop.wire import Wire
from agents.runs.loop_checks.opening import OpenedAssistant


@dataclass(slots=True)
class Recording:
    """What goes over the wire while a check runs; ``steps`` as ``LoopCheck.exchange`` has them.

    ``streamed`` is everything that models wrote, in one text: a secret may be in it that no single
    chunk holds.
    """

    steps: list[JsonObject] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    _sent: JsonObject = field(default_factory=dict)

    def write_delta(self, delta: ModelDelta) -> None:
        """A piece of an answer came."""
        self.streamed.append(f"{delta.text}{delta.reasoning}{delta.call_arguments}")

    def write_request(self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> None:
        """A request goes out."""
        self.streamed.append("\n")
        self._sent = {"messages": list(messages), "tools": list(tools)}

    def write_answer(
        self, exchange: JsonObject, answer: ModelAnswer | None = None, error: str = ""
    ) -> None:
        """An answer came, or an error in its place."""
        body = exchange.get("body")
        self.steps.append(
            {
                "request": {**(body if isinstance(body, dict) else {}), **self._sent},
                "status": exchange.get("status"),
                "chunks": exchange.get("chunks"),
                "left_out": exchange.get("left_out"),
                "answer": None if answer is None else _answer_json(answer),
                "error": error,
            }
        )

    async def take(self, event: Event) -> None:
        """Something happened in a run of the real loop."""
        match event:
            case ModelDeltaReceived():
                self.write_delta(event.delta)
                return
            case ModelRequestStarted():
                self.write_request(event.messages, event.tools)
            case ModelAnswered():
                self.write_answer(event.exchange, event.answer)
            case ModelFailed():
                self.write_answer(event.exchange, error=f"{event.error} {event.detail}".strip())
            case ModelCancelled():
                self.write_answer(event.exchange, error="broken off")
            case ToolCallFinished(result=result):
                step: JsonObject = {
                    "call": f"{result.server}.{result.tool}" if result.tool else result.call.name,
                    "arguments": result.arguments,
                    "outcome": result.outcome.value,
                    "result": result.text,
                }
                self.steps.append(step)
        self.events.append(event)


async def ask(
    opened: OpenedAssistant, messages: Sequence[Message], recording: Recording
) -> ModelAnswer:
    """The model's answer to the assistant's prompts and these messages, with its tools offered.

    What is worth a retry is tried again as in a run. Raises ``ModelError``; who calls it sets the
    limit of time.
    """
    tries = 0
    while True:
        tries += 1
        try:
            return await _ask_once(opened, messages, recording)
        except ModelError as error:
            if not error.is_retryable or tries > opened.target.max_retries:
                raise
            wait = BACK_OFF_SECONDS * 2 ** (tries - 1)
            if error.retry_after is not None:
                wait = max(error.retry_after, 0.0)
        await asyncio.sleep(min(wait, BACK_OFF_MAX_SECONDS))


async def _ask_once(
    opened: OpenedAssistant, messages: Sequence[Message], recording: Recording
) -> ModelAnswer:
    async def on_delta(delta: ModelDelta) -> None:
        recording.write_delta(delta)

    target, offer = opened.target, opened.offer
    wire = Wire(target.rules)
    request = ModelRequest(
        model=target.model,
        messages=wire.messages([*offer.prompts, *messages]),
        tools=wire.tools(offer.catalog.definitions),
        options=opened.plan.assistant.options,
    )
    recording.write_request(request.messages, request.tools)
    try:
        answer = await target.client.answer(request, on_delta)
    except ModelError as error:
        told = f"{error.message} {error.detail}".strip()
        recording.write_answer(request.exchange.report(), error=told)
        raise
    except asyncio.CancelledError:
        recording.write_answer(request.exchange.report(), error="broken off")
        raise
    recording.write_answer(request.exchange.report(), answer)
    return answer


def _answer_json(answer: ModelAnswer) -> JsonObject:
    calls: list[JsonValue] = [
        {"id": call.id, "name": call.name, "arguments": call.arguments}
        for call in answer.tool_calls
    ]
    return {
        "text": answer.text,
        "tool_calls": calls,
        "finish_reason": answer.finish_reason,
        **({"extra": answer.extra} if answer.extra else {}),
    }
