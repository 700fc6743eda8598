"""Making room in a model's window: a summary for older messages, shorter results.

Place in the house: ``agents.loop``. Before the window is full: first the summary, then shorter
results. Where the provider has refused a request: first shorter results, then one summary, then an
end. What is folded or cut here stays whole in the database and in the trace; guards count on.
"""

from __future__ import annotations

from dataclasses import replace

from agents.loop.aside import aside, take_counts
from agents.loop.compaction import (
    find_cut,
    pieces_of,
    split_summary,
    summary_message,
    summary_request,
    without_counts,
)
from agents.loop.endings import Failed
from agents.loop.errors import ContextTooLong, ModelError
from agents.loop.events import Compacted, CompactionStarted, LimitReached, Turn
from agents.loop.lasting import note_what_lasts
from agents.loop.messages import Message, Role, text_of
from agents.loop.model_request import ask_with_retries, mend_history
from agents.loop.request import RunOutcome
from agents.loop.shorten import shorten
from agents.loop.state import RunState
from agents.loop.tokens import CHARS_PER_TOKEN, used_tokens

CUT_CHARS = (2000, 500)
"""What tool results are cut to, step by step, where room is needed."""

SMALLEST_PIECE_TOKENS = 200
"""A request for a summary brings at least so much that is new."""


async def make_room(run: RunState, turn: Turn) -> None:
    """Fold older messages, then cut results, where the next request would pass the trigger."""
    rules, window = run.assistant.compaction, run.assistant.context_window
    trigger = rules.trigger(window)
    if trigger is None or _used(run) <= trigger:
        return
    if rules.enabled and not run.compaction_failed:
        fixed = used_tokens([], prompts=run.prompts, tools=run.catalog.definitions)
        keep = (trigger - fixed - rules.reserve(window)) // 2
        await compact(run, turn, reason="window", keep_tokens=keep)
    for chars in CUT_CHARS:
        if _used(run) > trigger:
            await _cut_results(run, turn, chars)


class Relief:
    """What is done, one thing after the other, about a request that the provider found too long."""

    def __init__(self, run: RunState, turn: Turn) -> None:
        self._run, self._turn = run, turn
        self._cuts = iter(CUT_CHARS)

    async def next_step(self) -> bool:
        """Make the next request smaller; ``False`` where nothing more can be done."""
        run = self._run
        for chars in self._cuts:
            if await _cut_results(run, self._turn, chars):
                return True
        if not run.assistant.compaction.enabled or run.has_compacted_on_overflow:
            return False
        run.has_compacted_on_overflow = True
        return await compact(run, self._turn, reason="overflow", keep_tokens=0)


async def compact(run: RunState, turn: Turn, *, reason: str, keep_tokens: int) -> bool:
    """Put a summary in the place of older messages; ``False`` where nothing could be folded.

    About ``keep_tokens`` of the newest messages stay as they are. A summary that cannot be written
    leaves everything as it is.
    """
    await mend_history(run, turn)
    cut = find_cut(run.messages, keep_tokens)
    return cut is not None and not await _fold(run, turn, cut, reason)


async def compact_all(run: RunState) -> RunOutcome:
    """Fold the whole conversation, as a person asked for it. Raises ``Failed``."""
    run.targets = await run.outside.models(None, None)
    run.options = dict(run.assistant.options)
    await mend_history(run, 0)
    if split_summary(run.messages)[1]:
        error = await _fold(run, 0, len(run.messages), "asked")
        if error is not None:
            raise Failed("provider_error", error=error.message, hint=error.hint)
    return RunOutcome(status="completed", stop_reason="compacted", level=None, answer="")


async def _fold(run: RunState, turn: Turn, cut: int, reason: str) -> ModelError | None:
    """Fold the first ``cut`` messages; what stood in the way, if anything did."""
    before, tokens = len(run.messages), _used(run)
    told = {"turn": turn, "reason": reason}
    await run.emit(
        CompactionStarted,
        **told,
        messages=cut,
        tokens=tokens,
        window=run.assistant.context_window,
    )
    folded = run.messages[:cut]
    await note_what_lasts(run, turn, folded)
    try:
        summary = await _summary_of(run, turn, folded)
    except ModelError as error:
        run.compaction_failed = True
        counts = {"messages_before": before, "messages_after": before, "tokens_before": tokens}
        await run.emit(Compacted, **told, **counts, tokens_after=tokens, error=error.message)
        return error
    run.messages = [summary_message(summary), *without_counts(run.messages[cut:])]
    await run.emit(
        Compacted,
        **told,
        summary=summary,
        through=next((m.stored_id for m in reversed(folded) if m.stored_id), ""),
        messages_before=before,
        messages_after=len(run.messages),
        tokens_before=tokens,
        tokens_after=_used(run),
    )
    return None


async def _summary_of(run: RunState, turn: Turn, folded: list[Message]) -> str:
    """The summary of these messages; once more in smaller pieces where a piece was too long.

    Raises ``ModelError``.
    """
    window = run.assistant.context_window
    reserve = run.assistant.compaction.reserve(window)
    room = _used(run) // 2 if window is None else window - 2 * reserve
    try:
        return await _write(run, turn, folded, room, reserve)
    except ContextTooLong:
        return await _write(run, turn, folded, room // 2, reserve)


async def _write(
    run: RunState, turn: Turn, folded: list[Message], piece_tokens: int, reserve: int
) -> str:
    summary, messages = split_summary(folded)
    apart = aside(run)
    try:
        for piece in pieces_of(messages, max(piece_tokens, SMALLEST_PIECE_TOKENS)):
            apart.messages = summary_request(summary, piece, reserve)
            answer = await ask_with_retries(apart, turn=turn, offer_tools=False)
            if not answer.text.strip():
                raise ModelError("The model wrote an empty summary.")
            summary = shorten(answer.text.strip(), reserve * CHARS_PER_TOKEN)
    finally:
        take_counts(run, apart)
    return summary


def _used(run: RunState) -> int:
    return used_tokens(run.messages, prompts=run.prompts, tools=run.catalog.definitions)


async def _cut_results(run: RunState, turn: Turn, limit: int) -> bool:
    """Cut every tool result to ``limit`` characters; ``False`` when nothing was that long."""
    cut = [
        replace(message, content=shorten(text_of(message.content), limit), images=())
        if message.role is Role.TOOL and len(text_of(message.content)) > limit
        else message
        for message in run.messages
    ]
    count = sum(old is not new for old, new in zip(run.messages, cut, strict=True))
    if not count:
        return False
    run.messages = without_counts(cut)
    detail = f"{count} tool results cut to {limit} characters: the request was too long"
    await run.emit(LimitReached, turn=turn, option="context", detail=detail)
    return True
