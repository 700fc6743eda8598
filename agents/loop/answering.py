"""One answer of the run's model that can be used: room made before, empty answers asked for again.

Place in the house: ``agents.loop``, between the loop and ``model_request.py``.
"""

from __future__ import annotations

from agents.loop.endings import Failed
from agents.loop.errors import ContextTooLong
from agents.loop.events import Turn
from agents.loop.model_request import Answer, ask_with_retries
from agents.loop.room import Relief, make_room
from agents.loop.state import RunState


async def ask_model(run: RunState, *, turn: Turn, attempt: int = 1) -> Answer:
    """The model's answer: calls or text. An empty one is asked for once more: without tools, or,
    where the provider says that the model failed to write down a call, as it was.

    Raises ``ModelError`` when no model answers, ``Failed`` when it stays empty or the context too
    long.
    """
    answer = await request_answer(run, turn=turn, attempt=attempt)
    if _has_content(run, answer):
        return answer
    is_lost = not answer.message.tool_calls and "call" in answer.answer.finish_reason.lower()
    how = "as it was: a call was meant" if is_lost else "without tools"
    await run.note(f"The answer was empty; asked once more {how}", turn=turn)
    answer = await request_answer(run, turn=turn, attempt=attempt, offer_tools=is_lost)
    if _has_content(run, answer):
        return answer
    raise Failed("empty")


async def request_answer(
    run: RunState, *, turn: Turn, attempt: int = 1, offer_tools: bool = True
) -> Answer:
    """One answer, empty or not. Room is made before the window is full, and once more, step by
    step, where the provider says that the request was too long.
    """
    await make_room(run, turn)
    relief = Relief(run, turn)
    while True:
        try:
            return await ask_with_retries(run, turn=turn, attempt=attempt, offer_tools=offer_tools)
        except ContextTooLong as error:
            if not await relief.next_step():
                raise Failed(
                    "context", error=error.message, hint=error.hint, detail=error.detail
                ) from error


def _has_content(run: RunState, answer: Answer) -> bool:
    if answer.text.strip():
        return True
    return bool(answer.message.tool_calls) and not run.assistant.sandbox
