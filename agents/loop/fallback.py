"""Levels 2 and 3: the run could not end by itself, and the user gets an answer all the same.

Place in the house: ``agents.loop``. The fallback assistant gets one user message and no tools;
where it fails too, a fixed text says what was found, what failed and what to do.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agents.loop.answering import request_answer
from agents.loop.catalog import ToolCatalog
from agents.loop.endings import Failed, GaveUp
from agents.loop.errors import ModelError
from agents.loop.events import AnswerReady, FallbackStarted, TurnFinished, TurnStarted
from agents.loop.fixed_texts import fixed_answer, joined
from agents.loop.messages import Message, Role, text_of
from agents.loop.prompts import fallback_brief, language_of
from agents.loop.request import FallbackAssistant, ModelTarget, RunOutcome
from agents.loop.state import RunState

FALLBACK_SECONDS = 120.0
"""The most the fallback may take: it works after the run's own limit."""

CHARS_PER_TOKEN = 3
"""A careful estimate for fitting text of any language into a window given in tokens."""

UNKNOWN_WINDOW_CHARS = 60_000
"""Size of the brief where the window is not known."""


async def end_otherwise(run: RunState, cause: GaveUp | Failed) -> RunOutcome:
    """The fallback's answer (level 2) where the loop gave up, else the fixed text (level 3)."""
    await _close_turn(run, cause)
    if isinstance(cause, GaveUp):
        answer = await _answer_by_fallback(run, cause)
        if isinstance(answer, str):
            return RunOutcome(
                status="completed",
                stop_reason=cause.reason,
                level=2,
                answer=answer,
                error=cause.error,
            )
        cause = answer
    run.failure_detail = cause.detail
    text = await _answer_fixed(run, cause)
    error = joined(cause.error, cause.hint) if cause.hint else cause.error
    return RunOutcome(status="failed", stop_reason=cause.reason, level=3, answer=text, error=error)


async def _answer_by_fallback(run: RunState, cause: GaveUp) -> str | Failed:
    """The fallback assistant's answer, or why it gave none."""
    try:
        fallback = await run.outside.fallback()
        await run.emit(
            FallbackStarted, level=2, reason=cause.reason, assistant=fallback.assistant_id
        )
        await run.emit(TurnStarted, turn="F")
        async with asyncio.timeout(FALLBACK_SECONDS):
            text = await _ask_fallback(run, fallback, cause)
    except TimeoutError:
        return _failure(cause, "The fallback did not answer in time.")
    except ModelError as error:
        return _failure(cause, error.message, error.hint)
    except Failed as error:
        return _failure(cause, error.error, error.hint)
    if not text.strip():
        return _failure(cause, "")
    await run.emit(TurnFinished, turn="F", decision="answered", reason=cause.reason)
    message = Message(role=Role.ASSISTANT, content=text)
    await run.emit(AnswerReady, message=message, level=2, source="fallback")
    return text


async def _answer_fixed(run: RunState, cause: Failed) -> str:
    """The fixed text of level 3, told to the sinks."""
    asked = [text_of(m.content) for m in run.messages if m.role is Role.USER]
    text = fixed_answer(
        cause.reason,
        run.results,
        language=language_of(asked[-1] if asked else ""),
        error=cause.error,
        hint=cause.hint,
    )
    await run.emit(FallbackStarted, level=3, reason=cause.reason, error=cause.error)
    message = Message(role=Role.ASSISTANT, content=text)
    await run.emit(AnswerReady, message=message, level=3, source="fixed")
    return text


async def _ask_fallback(run: RunState, fallback: FallbackAssistant, cause: GaveUp) -> str:
    """One request with a brief of everything; the run's own messages stay as they are."""
    room = (fallback.context_window or 0) * CHARS_PER_TOKEN * 3 // 4 or UNKNOWN_WINDOW_CHARS
    brief = fallback_brief(
        system_prompts=run.system_prompts,
        conversation=[m for m in run.messages if not m.is_notice],
        results=run.results,
        max_chars=room,
    )
    apart = replace(
        run,
        messages=[*fallback.prompts, Message(role=Role.USER, content=brief)],
        prompts=[],
        options=fallback.options,
        targets=fallback.targets,
        catalog=ToolCatalog(),
        target=None,
        wire=None,
    )
    last = next((target for target in fallback.targets if _is_same(target, run.target)), None)
    if last is not None and cause.reason != "provider_error":
        apart.use_target(last)  # a model that was given up in this run is not asked again
    try:
        answer = await request_answer(apart, turn="F", offer_tools=False)
    finally:
        run.input_tokens, run.output_tokens = apart.input_tokens, apart.output_tokens
        run.partial_text = apart.partial_text
    return answer.text


async def _close_turn(run: RunState, cause: GaveUp | Failed) -> None:
    """End the turn that was open when the run broke off."""
    turn, run.open_turn = run.open_turn, None
    if turn is not None:
        decision = "stopped" if isinstance(cause, GaveUp) else "failed"
        await run.emit(TurnFinished, turn=turn, decision=decision, reason=cause.reason)


def _is_same(target: ModelTarget, other: ModelTarget | None) -> bool:
    return other is not None and (target.provider, target.model) == (other.provider, other.model)


def _failure(cause: GaveUp, error: str, hint: str = "") -> Failed:
    return Failed(
        cause.reason,
        error=cause.error or error,
        hint=cause.hint or hint,
        detail="\n".join(part for part in (cause.detail, error) if part),
    )
