"""The one line that says how a run ended, when it was not simply answered.

Place in the house: ``agents.chat``, pure. For people: what happened, and what to do.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.chat.formats import count, seconds
from agents.chat.own_words import own_sentences
from agents.chat.rows import RunRows
from agents.chat.states import run_state
from agents.chat.view_models import EndingView
from agents.loop.messages import JsonObject
from agents.loop.prompts import language_of
from agents.models import MessageRole, Run, RunStatus

_LIMITS = {
    "max_turns": "max_turn",
    "errors": "max_consecutive_errors",
    "time": "run_timeout_seconds",
    "tokens": "max_run_tokens",
}

_REASONS = {
    "max_turns": gettext_lazy("Turn limit %(n)s reached"),
    "errors": gettext_lazy("Too many tool calls failed"),
    "repeats": gettext_lazy("The same call was asked for again and again"),
    "time": gettext_lazy("Time limit of %(n)s reached"),
    "tokens": gettext_lazy("Limit of %(n)s tokens reached"),
    "truncated": gettext_lazy("Tool calls were cut off twice"),
    "empty": gettext_lazy("The model gave an empty answer twice"),
    "provider_error": gettext_lazy("The model gave no answer"),
    "context": gettext_lazy("The conversation is too long for the model"),
    "hook_error": gettext_lazy("A hook of this assistant failed"),
    "worker_lost": gettext_lazy("Interrupted"),
}

_ADVICE = {
    "max_turns": gettext_lazy("Ask for one step at a time."),
    "errors": gettext_lazy("The failed calls above say what went wrong."),
    "repeats": gettext_lazy("Say it in other words, or ask for one step at a time."),
    "context": gettext_lazy("Start a new conversation, or ask something shorter."),
    "hook_error": gettext_lazy("An operator can look into it."),
    "": gettext_lazy("Try again in a moment."),
}


def ending_view(rows: RunRows) -> EndingView | None:
    """The line, or ``None`` where the run was simply answered."""
    run = rows.run
    if run.status == RunStatus.CANCELLED:
        return _stopped(run)
    if run.status == RunStatus.INTERRUPTED:
        return _interrupted(rows)
    if run.status == RunStatus.FAILED:
        return _failed(run)
    if run.status == RunStatus.COMPLETED and (run.level or 1) > 1:
        return _by_fallback(run)
    return None


def ending_words(run: Run) -> str:
    """How a run ended, in a few words for lists."""
    if run.status in (RunStatus.COMPLETED, RunStatus.FAILED) and run.stop_reason in _REASONS:
        return _reason(run)
    return run_state(run.status).word


def _stopped(run: Run) -> EndingView:
    text = _("What was written stays.") if run.started_at else _("It had not begun.")
    return EndingView(
        strong=_("Stopped by you."), text=text, detail="", state=run_state(run.status)
    )


def _interrupted(rows: RunRows) -> EndingView:
    messages = rows.all_messages
    calls = sum(len(m.tool_calls) for m in messages if m.role == MessageRole.ASSISTANT)
    answered = sum(m.role == MessageRole.TOOL for m in messages)
    text = _("The process that worked on it ended.")
    if calls:
        text += " " + ngettext(
            "%(answered)d of %(n)d call had answered.",
            "%(answered)d of %(n)d calls had answered.",
            calls,
        ) % {"answered": answered, "n": calls}
    return EndingView(
        strong=_("Interrupted."),
        text=text,
        detail="",
        state=run_state(RunStatus.INTERRUPTED),
        button=_("Ask again"),
        say=_question(rows.run),
    )


def _question(run: Run) -> str:
    content = run.message.content if run.message is not None else ""
    return content if isinstance(content, str) else ""


def _failed(run: Run) -> EndingView:
    text = _error_line(run) or str(_ADVICE.get(run.stop_reason, _ADVICE[""]))
    return EndingView(
        strong=f"{_reason(run)}.",
        text=text,
        detail="",
        state=run_state(RunStatus.FAILED),
        is_bad=True,
        button=_("Ask again"),
        say=_question(run),
    )


def _by_fallback(run: Run) -> EndingView:
    turns = limits_of(run).get("max_turn")
    can_continue = run.stop_reason == "max_turns" and isinstance(turns, int)
    return EndingView(
        strong=_reason(run),
        text=_("answered by the fallback."),
        detail=_error_line(run),
        letter="F",
        button=_("Continue with %(n)d more") % {"n": turns} if can_continue else "",
        say=_continue_words(run) if can_continue else "",
    )


def _continue_words(run: Run) -> str:
    """What asks the model to go on, in the language of the question."""
    is_chinese = language_of(_question(run)) == "zh"
    return "请从上次停下的地方继续。" if is_chinese else "Please continue where you stopped."


def _reason(run: Run) -> str:
    text = str(_REASONS.get(run.stop_reason, run.stop_reason))
    if "%(n)s" not in text:
        return text
    limits = run.configuration.get("limits")
    value = (limits if isinstance(limits, dict) else {}).get(_LIMITS.get(run.stop_reason, ""))
    if not isinstance(value, int | float):
        value = run.turns
    return text % {"n": seconds(value) if run.stop_reason == "time" else count(value)}


def _error_line(run: Run) -> str:
    """The run's own line for people; the technical side is not shown."""
    return own_sentences(run.error)


def limits_of(run: Run) -> JsonObject:
    """The limits a run was started with."""
    limits = run.configuration.get("limits") if isinstance(run.configuration, dict) else None
    return limits if isinstance(limits, dict) else {}
