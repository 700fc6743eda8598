"""Events of invented runs, as the loop would tell them, with a clock that counts milliseconds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agents.loop import events
from agents.loop.interfaces import ModelAnswer, Usage
from agents.loop.messages import JsonObject, Message, Role, ToolCall
from agents.loop.results import Outcome, ToolResult

START_NS = 1_000_000_000
MS = 1_000_000


class Teller:
    """Makes events of one run and hands them to ``take``."""

    def __init__(self, take: Callable[[events.Event], Any], *, run: str = "r1") -> None:
        self.take = take
        self.run = run
        self.told = 0

    def tell(self, kind: type[events.Event], /, **fields: Any) -> Any:
        """One event, a millisecond after the former; what ``take`` returns."""
        self.told += 1
        return self.take(kind(run=self.run, at_ns=START_NS + self.told * MS, **fields))

    def start(self, **fields: Any) -> Any:
        """The run begins."""
        given = {"conversation": "c1", "trace": "t1", "assistant": "helper", "message": "Hello"}
        return self.tell(events.RunStarted, **{**given, **fields})

    def finish(self, status: str = "completed", **fields: Any) -> Any:
        """The run ends."""
        given = {
            "stop_reason": "answered", "level": 1, "answer": "Done", "turns": 0, "tool_calls": 0,
            "input_tokens": 3, "output_tokens": 4,
        }  # fmt: skip
        return self.tell(events.RunFinished, status=status, **{**given, **fields})

    def ask(self, *messages: JsonObject, turn: events.Turn = 0, **fields: Any) -> Any:
        """A model request goes out."""
        given = {
            "attempt": 1, "try_number": 1, "provider": "main", "model": "m1", "messages": messages,
            "tools": (), "tool_names": (), "options": {},
        }  # fmt: skip
        return self.tell(events.ModelRequestStarted, turn=turn, **{**given, **fields})

    def answer(
        self, text: str = "", *calls: ToolCall, turn: events.Turn = 0, attempt: int = 1
    ) -> Any:
        """The model answers."""
        message = Message(role=Role.ASSISTANT, content=text, tool_calls=calls)
        answer = ModelAnswer(
            text=text, tool_calls=calls, finish_reason="stop", model="m1-2026", response_id="x1",
            usage=Usage(input_tokens=3, output_tokens=4),
            first_chunk_ns=START_NS + self.told * MS + MS // 2,
        )  # fmt: skip
        return self.tell(
            events.ModelAnswered, turn=turn, attempt=attempt, provider="main", model="m1",
            message=message, answer=answer, is_final=not calls,
        )  # fmt: skip

    def start_call(
        self, call: ToolCall, *, turn: events.Turn = 0, attempt: int = 1, **fields: Any
    ) -> Any:
        """Work on a call begins."""
        given = {
            "server": "echo", "tool": "echo", "arguments": {"message": "hi"}, "call_id": call.id,
        }  # fmt: skip
        return self.tell(
            events.ToolCallStarted, turn=turn, attempt=attempt, call=call, **{**given, **fields}
        )

    def finish_call(
        self,
        call: ToolCall,
        outcome: Outcome = Outcome.OK,
        *,
        turn: events.Turn = 0,
        attempt: int = 1,
        **fields: Any,
    ) -> Any:
        """A call has its result."""
        given = {"server": "echo", "tool": "echo", "text": "hi", "duration_ms": 1.5}
        result = ToolResult(call=call, outcome=outcome, **{**given, **fields})
        message = Message(role=Role.TOOL, content=result.text, call_key=call.key)
        return self.tell(
            events.ToolCallFinished, turn=turn, attempt=attempt, result=result, message=message,
            call_id=call.id or "made_up",
        )  # fmt: skip


def tool_call(key: str = "k1", name: str = "echo__echo") -> ToolCall:
    """A call as a model would send it."""
    return ToolCall(id=f"call_{key}", name=name, arguments='{"message":"hi"}', key=key)


async def tell_small_run(handle: Callable[[events.Event], Awaitable[None]], run: str) -> None:
    """A run with one tool call, told to a sink."""
    said: list[events.Event] = []
    teller = Teller(said.append, run=run)
    question: JsonObject = {"role": "user", "content": "Hello"}
    call = tool_call(f"{run}:0:1:0")
    teller.start(trace=f"trace-of-{run}")
    teller.tell(events.TurnStarted, turn=0)
    teller.ask(question)
    teller.answer("", call)
    teller.start_call(call)
    teller.finish_call(call, full_text="hi")
    teller.tell(events.TurnFinished, turn=0, decision="continued", calls=1)
    teller.tell(events.TurnStarted, turn=1)
    tool_message: JsonObject = {"role": "tool", "content": "hi", "tool_call_id": call.id}
    teller.ask(question, tool_message, turn=1)
    teller.answer("Done", turn=1)
    teller.tell(events.TurnFinished, turn=1, decision="answered")
    teller.finish()
    for event in said:
        await handle(event)
