"""One request to a model: history repaired, request sent, provider retries, model failover.

Place in the house: ``agents.loop``; ``answering.py`` puts the answer to use. A provider's own
failures end here or are raised as ``ModelError``; a tool's failure never changes the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.loop.errors import ModelBilling, ModelError, ModelKeyRefused
from agents.loop.events import (
    HistoryRepaired,
    ModelAnswered,
    ModelCancelled,
    ModelDeltaReceived,
    ModelFailed,
    ModelRequestStarted,
    ProviderRetry,
    Turn,
)
from agents.loop.history import repair_history
from agents.loop.interfaces import ModelAnswer, ModelDelta, ModelRequest, OnDelta
from agents.loop.messages import JsonObject, Message, Role, text_of
from agents.loop.request import ModelTarget
from agents.loop.state import RunState

BACK_OFF_SECONDS = 0.5
"""First wait before a provider retry; doubled each time, up to ``BACK_OFF_MAX_SECONDS``."""

BACK_OFF_MAX_SECONDS = 8.0

RETRY_AFTER_MAX_SECONDS = 120.0
"""A provider's ``Retry-After`` is honoured up to here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer and the message of it that belongs into the conversation."""

    message: Message
    answer: ModelAnswer

    @property
    def text(self) -> str:
        """What the model said."""
        return text_of(self.message.content)

    @property
    def is_truncated(self) -> bool:
        """Whether tool calls were cut off by the length limit."""
        return bool(self.message.tool_calls) and self.answer.finish_reason == "length"


async def ask_with_retries(
    run: RunState, *, turn: Turn, attempt: int = 1, offer_tools: bool = True
) -> Answer:
    """One answer, empty or not, of the first model that gives one.

    Raises ``ModelError`` when none does, or at once where the request itself is at fault.
    """
    tries, all_tries = 0, 0
    while True:
        target = _current_target(run)
        tries, all_tries = tries + 1, all_tries + 1
        try:
            answer = await _ask_once(run, target, turn, attempt, all_tries, offer_tools)
            await run.outside.note_provider(target.provider, None)
            return answer
        except ModelError as error:
            if error.is_of_the_request:
                raise
            if error.is_retryable and tries <= target.max_retries:
                await _back_off(run, error, tries, turn, attempt, target)
                continue
            await run.outside.note_provider(target.provider, error)
            if not await _fail_over(run, error, turn, attempt):
                raise
            tries = 0


def _current_target(run: RunState) -> ModelTarget:
    if run.target is None:
        run.use_target(run.targets[0])
    assert run.target is not None
    return run.target


async def _back_off(
    run: RunState,
    error: ModelError,
    tries: int,
    turn: Turn,
    attempt: int,
    target: ModelTarget,
) -> None:
    wait = min(BACK_OFF_SECONDS * 2 ** (tries - 1), BACK_OFF_MAX_SECONDS)
    wait *= 0.75 + 0.5 * run.clock.random()
    if error.retry_after is not None:
        wait = min(max(error.retry_after, 0.0), RETRY_AFTER_MAX_SECONDS)
    await run.emit(
        ProviderRetry,
        turn=turn,
        attempt=attempt,
        error=error.message,
        delay_ms=round(wait * 1000),
        provider=target.provider,
        model=target.model,
    )
    await run.clock.sleep(wait)


async def _fail_over(run: RunState, error: ModelError, turn: Turn, attempt: int) -> bool:
    """Go over to the next model for the rest of the run; ``False`` when there is none."""
    former = _current_target(run)
    place = run.targets.index(former) + 1
    left = run.targets[place:]
    if isinstance(error, ModelKeyRefused | ModelBilling):
        left = tuple(target for target in left if target.provider != former.provider)
    if not left:
        return False
    first, *others = await run.outside.best_first(left)
    failed: JsonObject = {
        "provider": former.provider,
        "model": former.model,
        "reason": "failed",
        "error": error.message,
    }
    target = replace(first, passed_over=(*former.passed_over, failed, *first.passed_over))
    run.targets = (*run.targets[:place], target, *others)
    run.use_target(target)
    await run.emit(
        ProviderRetry,
        turn=turn,
        attempt=attempt,
        error=error.message,
        delay_ms=0,
        provider=target.provider,
        model=target.model,
        is_failover=True,
    )
    return True


async def _ask_once(
    run: RunState,
    target: ModelTarget,
    turn: Turn,
    attempt: int,
    try_number: int,
    offer_tools: bool,
) -> Answer:
    request = await _build_request(run, target, turn, offer_tools)
    await run.emit(
        ModelRequestStarted,
        turn=turn,
        attempt=attempt,
        try_number=try_number,
        provider=target.provider,
        model=target.model,
        messages=request.messages,
        tools=request.tools,
        tool_names=tuple(run.catalog.offered) if request.tools else (),
        options=request.options,
        passed_over=target.passed_over,
    )
    shown: list[str] = []
    try:
        answer = await target.client.answer(request, _show(run, turn, attempt, shown))
    except asyncio.CancelledError:
        # Where the process ends the answer is asked for again: half of it must not stay.
        run.partial_text = "" if run.outside.is_ending or run.is_silent else "".join(shown)
        await run.emit(
            ModelCancelled,
            turn=turn,
            attempt=attempt,
            partial=run.partial_text,
            exchange=request.exchange.report(),
        )
        raise
    except ModelError as error:
        await _note_failure(run, error, target, turn, attempt, "".join(shown), request)
        raise
    if not offer_tools:
        # Nobody will execute these calls: they must not stand in the conversation without results.
        answer = replace(answer, tool_calls=())
    return await _keep_answer(run, target, turn, attempt, answer, request)


async def _build_request(
    run: RunState, target: ModelTarget, turn: Turn, offer_tools: bool
) -> ModelRequest:
    await mend_history(run, turn)
    assert run.wire is not None
    return ModelRequest(
        model=target.model,
        messages=run.wire.messages([*run.prompts, *run.messages]),
        tools=run.wire.tools(run.catalog.definitions) if offer_tools else (),
        options=run.options,
    )


async def mend_history(run: RunState, turn: Turn) -> None:
    """Pair the run's messages well and tell what was changed."""
    run.messages, notes = repair_history(run.messages)
    if notes:
        await run.emit(HistoryRepaired, turn=turn, notes=tuple(notes))


def _show(run: RunState, turn: Turn, attempt: int, shown: list[str]) -> OnDelta:
    async def on_delta(delta: ModelDelta) -> None:
        shown.append(delta.text)
        if run.is_silent:
            return
        await run.emit(ModelDeltaReceived, turn=turn, attempt=attempt, delta=delta)

    return on_delta


async def _note_failure(
    run: RunState,
    error: ModelError,
    target: ModelTarget,
    turn: Turn,
    attempt: int,
    partial: str,
    request: ModelRequest,
) -> None:
    await run.emit(
        ModelFailed,
        turn=turn,
        attempt=attempt,
        provider=target.provider,
        model=target.model,
        error=error.message,
        kind=type(error).__name__,
        status=error.status,
        detail=error.detail,
        hint=error.hint,
        partial=partial,
        exchange=request.exchange.report(),
    )


async def _keep_answer(
    run: RunState,
    target: ModelTarget,
    turn: Turn,
    attempt: int,
    answer: ModelAnswer,
    request: ModelRequest,
) -> Answer:
    """Count the answer, give its calls their keys, and tell the sinks."""
    calls = tuple(
        replace(call, key=f"{run.request.run}:{turn}:{attempt}:{position}")
        for position, call in enumerate(answer.tool_calls)
    )
    message = Message(
        role=Role.ASSISTANT,
        content=answer.text,
        tool_calls=calls,
        provider=target.provider,
        extra=answer.extra,
        context_tokens=_context_tokens(answer),
    )
    # Calls that nobody executes, or that are no part of the conversation, are not stored in it.
    hides_calls = run.assistant.sandbox or run.is_silent
    if answer.usage is None:
        run.add_usage(None, sent_chars=_chars(request.messages), got_chars=len(answer.text))
    else:
        run.add_usage(answer.usage, sent_chars=0, got_chars=0)
    await run.emit(
        ModelAnswered,
        turn=turn,
        attempt=attempt,
        provider=target.provider,
        model=answer.model or target.model,
        message=replace(message, tool_calls=()) if hides_calls else message,
        answer=answer,
        is_final=not run.is_silent and (not calls or run.assistant.sandbox),
        exchange=request.exchange.report(),
        price=dict(target.price),
        passed_over=target.passed_over,
    )
    return Answer(message=message, answer=answer)


def _context_tokens(answer: ModelAnswer) -> int | None:
    usage = answer.usage
    if usage is None or usage.is_estimated or not usage.input_tokens:
        return None
    return usage.input_tokens + usage.output_tokens


def _chars(messages: Sequence[JsonObject]) -> int:
    return sum(len(str(message.get("content") or "")) for message in messages)
