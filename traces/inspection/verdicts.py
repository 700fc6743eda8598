"""How a run ended, in one sentence, with what failed and what to do.

Place in the house: ``traces.inspection``, pure. One entry per status and stop reason that the
engine can write (section 8 of the contract); ``docs/traces.md`` lists them. Text in backticks is
code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.loop.own_words import split_hint
from traces.inspection.causes import (
    GIVE_UP_REASONS,
    doing_at_end,
    failure_clause,
    fallback_error,
    give_up_clause,
    last_failure,
    turns_used_clause,
    with_doing,
)
from traces.inspection.ended_calls import after_calls
from traces.inspection.formats import clauses, count, sentences
from traces.inspection.own_words import own_clause, own_line
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    is_waiting,
    listed,
    text,
    tool_title,
)
from traces.records import SpanRecord

_ADVICE = {
    "max_turns": gettext_lazy("Ask for one step at a time, continue, or raise `max_turn`."),
    "errors": gettext_lazy("The failed calls say what went wrong."),
    "repeats": gettext_lazy("See what the repeated call returned: the model could not use it."),
    "time": gettext_lazy("See which part took the time, or raise `run_timeout_seconds`."),
    "tokens": gettext_lazy("See what was sent again and again, or raise `max_run_tokens`."),
    "truncated": gettext_lazy("Raise `max_tokens`, or ask for shorter arguments."),
    "empty": gettext_lazy("Look at the last request: what was the model asked?"),
    "provider_error": gettext_lazy("The failed request holds the provider's own words."),
    "context": gettext_lazy("Start a new conversation, or choose a model with a larger window."),
    "hook_error": gettext_lazy("The hook's traceback stands in its span."),
    "worker_lost": gettext_lazy("What was stored until then is kept. Ask again."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended, as stored. ``status`` is ``running`` while it lasts."""

    status: str
    stop_reason: str
    level: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """The sentence of a run's end, the recorded error, and what to do (each may be empty)."""

    headline: str
    why: str
    advice: str


def run_end(reading: Reading, agent: SpanRecord | None) -> RunEnd:
    """Status, stop reason and level of a run: from its span, else from the trace's row."""
    if agent is None or (agent.run == reading.trace.run and not text(agent, "toolloop.status")):
        trace = reading.trace
        return RunEnd(status=trace.status, stop_reason=trace.stop_reason, level=trace.level)
    level = agent.attributes.get("toolloop.level")
    status = text(agent, "toolloop.status")
    if not status:
        status = {"running": "running", "lost": "interrupted"}.get(agent.status, agent.status)
    reason = text(agent, "toolloop.stop_reason")
    return RunEnd(
        status=status,
        stop_reason=reason or ("worker_lost" if agent.status == "lost" else ""),
        level=level if isinstance(level, int) else None,
    )


def run_verdict(reading: Reading, agent: SpanRecord | None) -> RunVerdict:
    """The verdict of a run; ``agent`` is its span, ``None`` where only the trace's row is there."""
    end = run_end(reading, agent)
    build = STATUSES.get(end.status)
    headline = build(reading, agent, end) if build is not None else ""
    return RunVerdict(
        headline=headline or _("Ended as %(status)s: %(reason)s.") % {
            "status": end.status, "reason": end.stop_reason,
        },
        why=_why(reading, agent, headline),
        advice=_advice(reading, agent, end),
    )  # fmt: skip


def _why(reading: Reading, agent: SpanRecord | None, headline: str) -> str:
    """The recorded error without its hint, unless the headline has it."""
    if agent is None or text(agent, "toolloop.stop_reason") == "errors":
        # The headline names the call and its error.
        return ""
    error, failed = text(agent, "toolloop.error"), last_failure(reading, agent.run)
    if failed is not None:
        error = error.removesuffix(text(failed, "toolloop.error.hint")).rstrip()
    error, _hint = split_hint(error)
    line = own_clause(error, 300)
    # The headline may hold it shorter.
    is_told = not line or own_clause(error)[1:] in headline
    return "" if is_told else sentences([line])


def _advice(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    """What to do: the hint of the failed request, else what fits the reason."""
    if end.status in ("running", "cancelled") or (end.level or 1) == 1:
        return ""
    run = agent.run if agent else reading.trace.run
    failed = (
        last_failure(reading, run) if end.stop_reason in ("provider_error", "context") else None
    )
    hint = text(failed, "toolloop.error.hint") if failed else ""
    if not hint and agent is not None:
        hint = split_hint(text(agent, "toolloop.error"))[1]
    return sentences([own_line(hint)]) if hint else str(_ADVICE.get(end.stop_reason, ""))


def _completed(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    if end.stop_reason == "delegated":
        return _delegated(reading, agent, end)
    if end.stop_reason == "compacted":
        return _compacted(reading, agent)
    if agent is None:
        return _("Answered.") if end.level == 1 else _("Answered by the fallback.")
    if end.level == 1:
        return _answered(reading, agent)
    return _("Answered by the fallback: %(why)s.") % {"why": _cause(reading, agent, end)}


def _compacted(reading: Reading, agent: SpanRecord | None) -> str:
    below = list(reading.all_below(agent)) if agent is not None else []
    done = [span for span in below if span.kind == "compaction" and span.status == "ok"]
    if not done:
        return _("Asked to sum up the conversation, in which there was nothing to sum up.")
    count_of = integer(done[-1], "toolloop.compaction.folded")
    return ngettext(
        "Summed up %(n)d message, as a person asked for it.",
        "Summed up %(n)d messages, as a person asked for it.",
        count_of,
    ) % {"n": count_of}


def _answered(reading: Reading, agent: SpanRecord) -> str:
    source = text(agent, "toolloop.answer.source")
    below = list(reading.all_below(agent))
    calls = sum(span.kind == "tool_call" for span in below)
    if source == "hook":
        hooks = [s for s in below if s.kind == "hook" and text(s, "toolloop.hook") == "next"]
        path = text(hooks[-1], "toolloop.hook.path") if hooks else ""
        return _("Answered by the next hook `%(path)s`, in place of the model.") % {"path": path}
    if source == "results":
        return ngettext(
            "Answered with a list of %(n)d result: the tool loop is off and the model wrote "
            "no text.",
            "Answered with a list of %(n)d results: the tool loop is off and the model wrote "
            "no text.",
            calls,
        ) % {"n": calls}
    answers = [span for span in below if asks_the_model(span) and span.status == "ok"]
    return sentences([_by_model(below, answers, calls), _half(answers)])


def _by_model(below: list[SpanRecord], answers: list[SpanRecord], calls: int) -> str:
    own = sum(bool(span.attributes.get("toolloop.run_by_provider")) for span in below)
    turns = [span for span in below if span.kind == "turn"]
    last = turns[-1].turn if turns else "0"
    if own:
        return ngettext(
            "Answered by the model, whose provider ran %(n)d tool call by itself",
            "Answered by the model, whose provider ran %(n)d tool calls by itself",
            own,
        ) % {"n": own}
    if not calls:
        return _("Answered by the model at once, without a tool")
    if answers and integer(answers[-1], "toolloop.answer.calls"):
        return ngettext(
            "Answered with the text beside %(n)d tool call: the tool loop is off",
            "Answered with the text beside %(n)d tool calls: the tool loop is off",
            calls,
        ) % {"n": calls}
    own_calls = [span for span in below if span.kind == "tool_call"]
    return _("Answered by the model in turn %(turn)s, %(calls)s") % {
        "turn": last,
        "calls": after_calls(own_calls),
    }


def _half(answers: list[SpanRecord]) -> str:
    """That only half an answer came, by the provider's word."""
    reasons = listed(answers[-1], "gen_ai.response.finish_reasons") if answers else []
    if "length" in reasons:
        return _("The answer was cut off at the length limit")
    if "content_filter" in reasons:
        return _("The answer was cut off by the provider's content filter")
    return ""


def _delegated(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    child = _child(reading, agent)
    name = child.name if child else _delegated_name(agent)
    if end.level == 2 and child is not None:
        cause = _cause(reading, child, run_end(reading, child))
        return _("Answered by the fallback of %(assistant)s, to which it was handed over: "
                 "%(why)s.") % {"assistant": name, "why": cause}  # fmt: skip
    return _("Answered by %(assistant)s, to which a hook handed it over.") % {"assistant": name}


def _child(reading: Reading, agent: SpanRecord | None) -> SpanRecord | None:
    """The run that took over from a run, if one did."""
    if agent is None or not listed(agent, "toolloop.delegated_to"):
        return None
    children = [span for span in reading.below_of(agent) if span.kind == "agent"]
    return children[-1] if children else None


def _delegated_name(agent: SpanRecord | None) -> str:
    names = listed(agent, "toolloop.delegated_to") if agent else []
    return str(names[-1]) if names else _("another assistant")


def _cause(reading: Reading, agent: SpanRecord, end: RunEnd) -> str:
    """Why the run could not end by itself."""
    turn = _last_turn(reading, agent)
    if end.stop_reason == "max_turns":
        return turns_used_clause(reading, agent.run, turn, is_headline=True)
    has_failed = turn is not None and text(turn, "toolloop.turn.decision") == "failed"
    if end.stop_reason in GIVE_UP_REASONS and not has_failed:
        return give_up_clause(reading, agent.run, end.stop_reason, turn)
    return failure_clause(reading, agent.run, end.stop_reason, turn)


def _last_turn(reading: Reading, agent: SpanRecord) -> SpanRecord | None:
    turns = [span for span in reading.below_of(agent) if span.kind == "turn"]
    return turns[-1] if turns else None


def _failed(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    child = _child(reading, agent)
    if child is not None and end.stop_reason != "hook_error":
        told = run_verdict(reading, child).headline
        return _("Handed over to %(assistant)s, which failed: %(verdict)s") % {
            "assistant": child.name,
            "verdict": told,
        }
    if agent is None:
        return ""
    cause = _cause(reading, agent, end)
    if _asked_fallback(reading, agent):
        error = fallback_error(reading, agent.run)
        if error:
            return _("No answer: %(why)s, and the fallback failed too: %(error)s.") % {
                "why": cause,
                "error": error,
            }
        return _("No answer: %(why)s, and the fallback failed too.") % {"why": cause}
    return _("No answer: %(why)s.") % {"why": cause}


def _asked_fallback(reading: Reading, agent: SpanRecord) -> bool:
    """Whether the fallback of level 2 was asked before the fixed text came."""
    return any(
        span.kind == "fallback" and integer(span, "toolloop.fallback.level") == 2
        for span in reading.below_of(agent)
    )


def _cancelled(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    if agent is None:
        return _("Stopped by a person before it began.")
    child = _child(reading, agent)
    if child is not None:
        return run_verdict(reading, child).headline
    return _broken_off(reading, agent, _("Stopped by a person"))


def _interrupted(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    words = _("Interrupted: the process that worked on it ended")
    if agent is None:
        return _("%(sentence)s.") % {"sentence": words}
    return _broken_off(reading, agent, words)


def _broken_off(reading: Reading, agent: SpanRecord, words: str) -> str:
    """A sentence on a run that was broken off: in which turn, and what went on."""
    turn = _last_turn(reading, agent)
    fallback = [s for s in reading.below_of(agent) if s.kind == "fallback"]
    if fallback:
        where = _("while the fallback was answering")
    elif turn is None:
        where = _("before the first request")
    else:
        where = _("in turn %(turn)s") % {"turn": turn.turn}
        where = with_doing(where, doing_at_end(reading, turn))
    calls = [span for span in reading.all_below(agent) if span.kind == "tool_call"]
    answered = sum(bool(text(span, "toolloop.outcome")) for span in calls)
    tail = ""
    if answered < len(calls):
        tail = ngettext(
            "%(answered)s of %(n)s call had answered",
            "%(answered)s of %(n)s calls had answered",
            len(calls),
        ) % {"answered": count(answered), "n": count(len(calls))}
    sentence = _("%(what)s %(where)s") % {"what": words, "where": where}
    return sentences([clauses([sentence, tail])])


def _running(reading: Reading, agent: SpanRecord | None, end: RunEnd) -> str:
    if agent is None:
        return _("Running.")
    open_spans = [s for s in reading.spans if s.end_ns is None and s.kind != "agent"]
    waiting = [s for s in open_spans if s.kind == "tool_call" and is_waiting(s)]
    working = [s for s in open_spans if s.kind == "tool_call" and not is_waiting(s)]
    turns = [span for span in open_spans if span.kind == "turn"]
    turn = turns[-1].turn if turns else ""
    if waiting and not working:
        if len(waiting) == 1:
            tool = tool_title(waiting[0])
            return _("Waits for a person: %(tool)s needs approval.") % {"tool": tool}
        return _("Waits for a person: %(n)d calls need approval.") % {"n": len(waiting)}
    if len(working) == 1:
        values = {"turn": turn, "tool": tool_title(working[0])}
        return _("Running: turn %(turn)s, %(tool)s is at work.") % values
    if working:
        values = {"turn": turn, "n": str(len(working))}
        return _("Running: turn %(turn)s, %(n)s tool calls are at work.") % values
    if any(span.kind == "fallback" for span in open_spans):
        return _("Running: the fallback is answering.")
    if any(span.kind == "model" for span in open_spans):
        return _("Running: turn %(turn)s, the model is answering.") % {"turn": turn}
    return _("Running: turn %(turn)s.") % {"turn": turn} if turn else _("Running.")


STATUSES: dict[str, Callable[[Reading, SpanRecord | None, RunEnd], str]] = {
    "running": _running,
    "completed": _completed,
    "failed": _failed,
    "cancelled": _cancelled,
    "interrupted": _interrupted,
}
"""The sentence for each status of a run."""
