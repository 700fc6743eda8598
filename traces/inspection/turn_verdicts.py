"""The sentence after each turn: why the loop went on or stopped, from the record.

Place in the house: ``traces.inspection``, pure. One function per decision that the engine can
write; ``docs/traces.md`` lists them. Text in backticks is code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from traces.inspection.causes import (
    argument_problem,
    call_error,
    doing_at_end,
    failure_clause,
    fallback_error,
    give_up_clause,
    hook_error,
)
from traces.inspection.formats import clauses, count, one_line
from traces.inspection.marks import call_state
from traces.inspection.own_words import own_clause
from traces.inspection.passed_over import stand_in_clause
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    is_failed_call,
    is_waiting,
    limits_of,
    listed,
    number,
    outcome_of,
    text,
    tool_title,
)
from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext
from traces.records import SpanRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnVerdict:
    """The sentence of a turn, and its mark: ``kind`` (``retry``, ``fallback``) or an icon."""

    text: str
    kind: str = ""
    icon: str = "loop"
    family: str = ""


def turn_verdict(reading: Reading, turn: SpanRecord) -> TurnVerdict | None:
    """Why the loop went on after a turn, or stopped; ``None`` where there is nothing to say yet."""
    decision = text(turn, "toolloop.turn.decision")
    if decision in DECISIONS:
        return DECISIONS[decision](reading, turn)
    if turn.end_ns is None:
        return _running(reading, turn)
    if turn.status == "lost":
        return _lost(reading, turn)
    if turn.status == "cancelled":
        return _cancelled(reading, turn)
    return None


def fallback_verdict(reading: Reading, fallback: SpanRecord) -> TurnVerdict | None:
    """What became of a fallback: it answered, failed, or is at work."""
    level = integer(fallback, "toolloop.fallback.level")
    if fallback.end_ns is None:
        return TurnVerdict(
            text=_("running: the fallback is answering"), icon="running", family="s-run"
        )
    if fallback.status == "lost":
        return TurnVerdict(
            text=_("interrupted: the process ended while the fallback was answering"),
            icon="interrupted",
            family="s-off",
        )
    if fallback.status == "cancelled":
        return TurnVerdict(
            text=_("stopped by a person while the fallback was answering"),
            icon="cancelled",
            family="s-off",
        )
    if level == 2 and fallback.status == "error":
        error = fallback_error(reading, fallback.run)
        words = _("the fallback gave no answer: %(error)s") % {"error": error}
        return TurnVerdict(
            text=words if error else _("the fallback gave no answer"), icon="error", family="s-bad"
        )
    if level == 3:
        return TurnVerdict(
            text=_("stopped: a fixed text says what was found and what failed, answer level 3"),
            icon="stop",
        )
    return TurnVerdict(text=_("stopped: no tool calls, answer level 2"), icon="stop")


def retry_sentence(reading: Reading, retry: SpanRecord) -> str:
    """Why arguments were asked for again: "retried: `city` is required, attempt 2 of 3"."""
    errors = [str(error) for error in listed(retry, "toolloop.errors")]
    limit = int(number(limits_of(reading, retry.run).get("parameter_attempts")))
    attempt = integer(retry, "toolloop.attempt")
    problem = argument_problem(errors[0]) if errors else _("a call failed")
    if len(errors) > 1:
        more = len(errors) - 1
        problem = ngettext(
            "%(problem)s, and %(n)d more call failed",
            "%(problem)s, and %(n)d more calls failed",
            more,
        ) % {"problem": problem, "n": more}
    if limit:
        return _("retried: %(problem)s, attempt %(n)d of %(limit)d") % {
            "problem": problem, "n": attempt, "limit": limit,
        }  # fmt: skip
    return _("retried: %(problem)s, attempt %(n)d") % {"problem": problem, "n": attempt}


def _continued(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    below = list(reading.all_below(turn))
    calls = [span for span in below if span.kind == "tool_call"]
    total = len(calls) or integer(turn, "toolloop.calls")
    head = ngettext(
        "continued: %(n)d tool call answered", "continued: %(n)d tool calls answered", total
    ) % {"n": total}
    parts = [head, *_call_clauses(reading, turn, calls), *_provider_clauses(below)]
    return TurnVerdict(text=clauses(parts))


def _call_clauses(reading: Reading, turn: SpanRecord, calls: Sequence[SpanRecord]) -> list[str]:
    """What is worth telling of a turn's calls: those that failed, were refused, cut, kept."""
    attempts = max((integer(span, "toolloop.attempt") for span in calls), default=1)
    last = [span for span in calls if integer(span, "toolloop.attempt") in (0, attempts)]
    failed = [span for span in last if is_failed_call(span)]
    hopeless = [span for span in failed if not span.attributes.get("toolloop.correctable")]
    mendable = [span for span in failed if span.attributes.get("toolloop.correctable")]
    limit = int(number(limits_of(reading, turn.run).get("parameter_attempts")))
    parts = []
    if hopeless:
        words = ngettext(
            "%(n)d with an error that new arguments cannot mend",
            "%(n)d with errors that new arguments cannot mend",
            len(hopeless),
        )
        parts.append(_with_calls(words, hopeless))
    if mendable:
        words = ngettext("%(n)d with an error", "%(n)d with errors", len(mendable))
        parts.append(_with_calls(words, mendable))
        if turn.turn == "0" and attempts >= limit > 1:
            parts.append(_("all %(n)d attempts used") % {"n": attempts})
    if attempts > 1 and not failed:
        parts.append(_("arguments mended in attempt %(n)d") % {"n": attempts})
    return [*parts, *_decided_clauses(last), *_cut_clauses(last)]


def _with_calls(words: str, calls: Sequence[SpanRecord]) -> str:
    """A clause on failed calls with the first one's tool and error."""
    first = calls[0]
    clause = words % {"n": len(calls)}
    return _("%(clause)s (%(tool)s: %(error)s)") % {
        "clause": clause,
        "tool": tool_title(first),
        "error": call_error(first),
    }


def _decided_clauses(calls: Sequence[SpanRecord]) -> list[str]:
    """Calls that were refused, not executed, or whose earlier result was used again."""
    parts = []
    for outcome in ("denied", "skipped", "cancelled"):
        found = [span for span in calls if outcome_of(span) == outcome]
        if found:
            parts.append(
                _("%(n)d %(state)s (%(tool)s)")
                % {
                    "n": len(found),
                    "state": call_state(outcome).word,
                    "tool": tool_title(found[0]),
                }
            )
    kept = sum(bool(span.attributes.get("toolloop.kept")) for span in calls)
    if kept:
        parts.append(
            ngettext(
                "%(n)d with the result of an earlier attempt",
                "%(n)d with the results of an earlier attempt",
                kept,
            )
            % {"n": kept}
        )
    return parts


def _cut_clauses(calls: Sequence[SpanRecord]) -> list[str]:
    """How much of results was cut: "cut from 18,204 to 8,000 characters"."""
    cut = [span for span in calls if span.attributes.get("toolloop.truncated")]
    if not cut:
        return []
    whole = sum(integer(span, "toolloop.chars") for span in cut)
    kept = sum(integer(span, "toolloop.seen_chars") for span in cut)
    if not kept:
        return [_("cut from %(whole)s characters") % {"whole": count(whole)}]
    values = {"n": len(cut), "whole": count(whole), "kept": count(kept)}
    if len(calls) == 1:
        return [_("cut from %(whole)s to %(kept)s characters") % values]
    return [
        ngettext(
            "%(n)d cut from %(whole)s to %(kept)s characters",
            "%(n)d cut from %(whole)s to %(kept)s characters together",
            len(cut),
        )
        % values
    ]


def _provider_clauses(below: Sequence[SpanRecord]) -> list[str]:
    """Provider retries and a change of the model inside a turn."""
    failed = [span for span in below if "toolloop.retry.error" in span.attributes]
    again = [s for s in failed if not s.attributes.get("toolloop.retry.is_failover")]
    moved = [s for s in failed if s.attributes.get("toolloop.retry.is_failover")]
    parts = []
    if again:
        words = ngettext(
            "after %(n)d provider retry (%(why)s)",
            "after %(n)d provider retries (%(why)s)",
            len(again),
        )
        parts.append(words % {"n": len(again), "why": provider_reason(again[-1])})
    if moved:
        parts.append(_moved_clause(moved))
    requests = [span for span in below if asks_the_model(span)]
    if moved or any(span.turn in ("0", "F") for span in requests):
        parts.append(stand_in_clause(requests))
    return [part for part in parts if part]


def _moved_clause(moved: Sequence[SpanRecord]) -> str:
    """Which model took over from which; with their providers where these differ."""
    first, last = moved[0], moved[-1]
    places = (
        (text(last, "toolloop.retry.next_model"), text(last, "toolloop.retry.next_provider")),
        (text(first, "gen_ai.request.model"), text(first, "gen_ai.provider.name")),
    )
    model, former = (
        _("%(model)s at %(provider)s") % {"model": model, "provider": provider}
        if places[0][1] != places[1][1]
        else model
        for model, provider in places
    )
    return _("with %(model)s in place of %(former)s (%(why)s)") % {
        "model": model,
        "former": former,
        "why": provider_reason(last),
    }


def provider_reason(span: SpanRecord) -> str:
    """Why a request failed in a word or two: the HTTP status, else the error's line."""
    status = integer(span, "toolloop.error.status")
    return str(status) if status else one_line(own_clause(text(span, "toolloop.error")), 60)


def _stopped(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    clause = give_up_clause(reading, turn.run, text(turn, "toolloop.turn.reason"), turn)
    return TurnVerdict(text=_("fell back: %(why)s") % {"why": clause}, kind="fallback")


def _answered(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    below = list(reading.all_below(turn))
    calls = [span for span in below if span.kind == "tool_call"]
    answers = [span for span in below if asks_the_model(span) and span.status == "ok"]
    hook = _replacing_hook(reading, turn, below)
    attempt = max((integer(span, "toolloop.attempt") for span in answers), default=1)
    own = [span for span in calls if span.attributes.get("toolloop.run_by_provider")]
    if hook is not None:
        return TurnVerdict(
            text=_("stopped: the next hook `%(path)s` gave the answer")
            % {"path": text(hook, "toolloop.hook.path")},
            icon="stop",
        )
    if own:
        head = ngettext(
            "stopped: the provider ran %(n)d tool call by itself",
            "stopped: the provider ran %(n)d tool calls by itself",
            len(own),
        ) % {"n": len(own)}
    elif (answers and integer(answers[-1], "toolloop.answer.calls")) or (calls and attempt == 1):
        head = ngettext(
            "stopped: the tool loop is off, %(n)d tool call answered",
            "stopped: the tool loop is off, %(n)d tool calls answered",
            len(calls),
        ) % {"n": len(calls)}
    elif attempt > 1:
        head = _("stopped: text in place of a corrected call in attempt %(n)d") % {"n": attempt}
    else:
        head = _("stopped: no tool calls")
    parts = [head, *_finish_clauses(answers), *_provider_clauses(below)]
    return TurnVerdict(text=clauses(parts), icon="stop")


def _replacing_hook(
    reading: Reading, turn: SpanRecord, below: Sequence[SpanRecord]
) -> SpanRecord | None:
    """The next hook whose data became the answer, if one did in this turn."""
    agent = reading.agents.get(turn.run)
    if agent is None or text(agent, "toolloop.answer.source") != "hook":
        return None
    hooks = [s for s in below if s.kind == "hook" and text(s, "toolloop.hook") == "next"]
    return hooks[-1] if hooks else None


def _finish_clauses(answers: Sequence[SpanRecord]) -> list[str]:
    """Whether the answer is half an answer, by the provider's own word."""
    reasons = listed(answers[-1], "gen_ai.response.finish_reasons") if answers else []
    if "length" in reasons:
        return [_("the answer was cut off at the length limit")]
    if "content_filter" in reasons:
        return [_("the answer was cut off by the provider's content filter")]
    return []


def _failed(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    reason = text(turn, "toolloop.turn.reason")
    clause = failure_clause(reading, turn.run, reason, turn)
    return TurnVerdict(text=_("failed: %(why)s") % {"why": clause}, icon="error", family="s-bad")


def _delegated(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    agent = reading.agents.get(turn.run)
    names = listed(agent, "toolloop.delegated_to") if agent else []
    hook = hook_error(reading, turn.run)
    values = {
        "assistant": str(names[-1]) if names else "",
        "path": text(hook, "toolloop.hook.path") if hook else "",
    }
    return TurnVerdict(
        text=_("handed over: the next hook `%(path)s` delegated to %(assistant)s") % values
    )


def _cancelled(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    doing = doing_at_end(reading, turn)
    words = _("stopped by a person %(doing)s") % {"doing": doing}
    return TurnVerdict(
        text=words if doing else _("stopped by a person"), icon="cancelled", family="s-off"
    )


def _lost(reading: Reading, turn: SpanRecord) -> TurnVerdict:
    doing = doing_at_end(reading, turn)
    words = _("interrupted: the process that worked on it ended %(doing)s") % {"doing": doing}
    return TurnVerdict(
        text=words if doing else _("interrupted: the process that worked on it ended"),
        icon="interrupted",
        family="s-off",
    )


def _running(reading: Reading, turn: SpanRecord) -> TurnVerdict | None:
    below = list(reading.all_below(turn))
    waiting = [span for span in below if span.kind == "tool_call" and is_waiting(span)]
    if waiting:
        words = ngettext(
            "waiting: %(n)d call needs approval", "waiting: %(n)d calls need approval", len(waiting)
        ) % {"n": len(waiting)}
        return TurnVerdict(
            text=_("%(what)s (%(tool)s)") % {"what": words, "tool": tool_title(waiting[0])},
            icon="approval",
            family="s-wait",
        )
    return None


DECISIONS: dict[str, Callable[[Reading, SpanRecord], TurnVerdict]] = {
    "answered": _answered,
    "continued": _continued,
    "stopped": _stopped,
    "failed": _failed,
    "delegated": _delegated,
    "cancelled": _cancelled,
}
"""The sentence for each decision that the engine writes."""
