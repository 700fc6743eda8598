"""What is known of why a turn or a run came to its end, in clauses for sentences.

Place in the house: ``traces.inspection``, pure. A clause names the concrete thing from the record:
which limit and its value, which tool, which error. Text in backticks is code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.loop.own_words import is_own, problems_of, split_hint
from traces.inspection.formats import count, one_line, seconds
from traces.inspection.marks import call_state
from traces.inspection.own_words import own_clause, own_problem, quoted
from traces.inspection.reading import (
    Reading,
    integer,
    is_failed_call,
    is_waiting,
    limits_of,
    listed,
    number,
    text,
    tool_title,
)
from traces.records import SpanRecord

GIVE_UP_REASONS = (
    "max_turns",
    "errors",
    "repeats",
    "time",
    "tokens",
    "truncated",
    "provider_error",
)
"""Stop reasons after which the fallback is asked."""

_MISSING = re.compile(r'the required property "((?:[^"\\]|\\.)*)" is missing')
_UNKNOWN = re.compile(r"There is no tool named '([^']*)'")
_ERROR_CHARS = 100
"""How much of a call's error stands inside a sentence."""

_RECEIVED = re.compile(r"\. Received: .*$", re.DOTALL)
_CUT_TO = re.compile(r"cut to (\d+) characters")


def give_up_clause(reading: Reading, run: str, reason: str, turn: SpanRecord | None) -> str:
    """Why the loop gave up: "all 5 turns were used and the model still asked for 1 tool"."""
    limits = limits_of(reading, run)
    match reason:
        case "max_turns":
            return turns_used_clause(reading, run, turn)
        case "errors":
            return _errors_clause(reading, int(number(limits.get("max_consecutive_errors"))), turn)
        case "repeats":
            return _repeats_clause(reading, int(number(limits.get("repeat_limit"))), turn)
        case "time":
            limit = number(limits.get("run_timeout_seconds"))
            return with_doing(
                _("the time limit of %(limit)s was reached") % {"limit": seconds(limit)}
                if limit
                else _("the time limit was reached"),
                doing_at_end(reading, turn),
            )
        case "tokens":
            return _tokens_clause(reading, run, number(limits.get("max_run_tokens")))
        case "truncated":
            return _("the model's tool calls were cut off by the length limit twice in a row")
        case "provider_error":
            return provider_clause(reading, run)
    return failure_clause(reading, run, reason, turn)


def failure_clause(reading: Reading, run: str, reason: str, turn: SpanRecord | None) -> str:
    """Why a run failed at once, without a fallback."""
    match reason:
        case "provider_error":
            return provider_clause(reading, run)
        case "empty":
            return _("the model's answer was empty, also when it was asked once more without tools")
        case "context":
            return _context_clause(reading, run)
        case "errors":
            return _strict_clause(reading, run)
        case "hook_error":
            return _hook_clause(reading, run)
    return reason


def turns_used_clause(
    reading: Reading, run: str, turn: SpanRecord | None, *, is_headline: bool = False
) -> str:
    """How many turns were used, and what the model still wanted."""
    limit = int(number(limits_of(reading, run).get("max_turn")))
    used = int(turn.turn) if turn is not None and turn.turn.isdigit() else limit
    asked = asked_calls(reading, turn)
    wish = ngettext(
        "the model still asked for %(n)d tool", "the model still asked for %(n)d tools", asked
    ) % {"n": asked}
    spent = _("%(used)s of %(limit)s turns used") % {
        "used": count(used),
        "limit": count(limit or used),
    }
    if is_headline:
        spent = ngettext("the only turn was used", "all %(n)d turns were used", used) % {"n": used}
    return _("%(spent)s and %(wish)s") % {"spent": spent, "wish": wish} if asked else spent


def asked_calls(reading: Reading, turn: SpanRecord | None) -> int:
    """How many calls the last answer of a turn asked for."""
    if turn is None:
        return 0
    below = list(reading.all_below(turn))
    answers = [integer(span, "toolloop.answer.calls") for span in below if span.kind == "model"]
    return answers[-1] if answers and answers[-1] else sum(s.kind == "tool_call" for s in below)


def provider_clause(reading: Reading, run: str) -> str:
    """What the provider's last failure was: "the provider refused the key"."""
    failed = last_failure(reading, run)
    if failed is None:
        agent = reading.agents.get(run)
        error, _hint = split_hint(text(agent, "toolloop.error")) if agent else ("", "")
        return own_clause(error) or _("the model could not be reached")
    error = own_clause(text(failed, "toolloop.error"))
    return error or text(failed, "error.type") or _("the model could not be reached")


def last_failure(reading: Reading, run: str) -> SpanRecord | None:
    """The last model request of a run that failed, those of the fallback left out."""
    found = [
        span
        for span in reading.spans
        if span.run == run and span.kind == "model" and span.status == "error"
    ]
    return next((span for span in reversed(found) if span.turn != "F"), None)


def fallback_error(reading: Reading, run: str) -> str:
    """Why the fallback of level 2 gave no answer, as far as it is recorded."""
    failed = [
        span
        for span in reading.spans
        if span.run == run and span.kind == "model" and span.turn == "F"
    ]
    if not failed:
        return ""
    last = failed[-1]
    if last.status == "error":
        return own_clause(text(last, "toolloop.error"))
    if last.status == "cancelled":
        return _("it did not answer in time")
    return _("its answer was empty")


def call_error(span: SpanRecord) -> str:
    """A call's error in few words, cleaned of what was written for the model alone."""
    error = text(span, "toolloop.error")
    return argument_problem(error) if error else call_state(text(span, "toolloop.outcome")).word


def argument_problem(error: str) -> str:
    """What was wrong with a call: "`city` is required", "`/days`: expected integer, got "x"";
    in quotes where the tool or its server said it."""
    missing = _MISSING.search(error)
    if missing:
        return _("`%(name)s` is required") % {"name": missing[1]}
    unknown = _UNKNOWN.search(error)
    if unknown:
        return _("there is no tool `%(name)s`") % {"name": unknown[1]}
    problem = _misfit(error)
    if not problem:
        return own_clause(error, _ERROR_CHARS) if is_own(error) else _others_words(error)
    return own_problem(problem, _ERROR_CHARS)


def _misfit(error: str) -> str:
    """What did not fit, in an error about arguments; empty for any other."""
    problem = _RECEIVED.sub("", error)
    if found := problems_of(problem):
        return found[0]
    if problem.startswith("Invalid arguments for ") and ": " in problem:
        return problem.split(": ", 1)[1]
    return ""


def _others_words(error: str) -> str:
    return quoted(one_line(error, _ERROR_CHARS))


def doing_at_end(reading: Reading, turn: SpanRecord | None) -> str:
    """What went on when a turn was broken off: "while weather / get was running"; or empty."""
    if turn is None:
        return ""
    below = list(reading.all_below(turn))
    open_calls = [span for span in below if span.kind == "tool_call" and _is_broken_off(span)]
    waiting = [span for span in open_calls if _waited_last(span)]
    if waiting and len(waiting) == len(open_calls):
        return _while_waiting(waiting)
    if open_calls:
        return _while_running(open_calls)
    if any(span.kind == "model" and _is_broken_off(span) for span in below):
        return _("while the model was answering")
    if any(span.kind == "hook" and _is_broken_off(span) for span in below):
        return _("while a hook was running")
    return ""


def _while_waiting(calls: Sequence[SpanRecord]) -> str:
    if len(calls) == 1:
        return _("while %(tool)s waited for approval") % {"tool": tool_title(calls[0])}
    return _("while %(n)d calls waited for approval") % {"n": len(calls)}


def _while_running(calls: Sequence[SpanRecord]) -> str:
    if len(calls) == 1:
        return _("while %(tool)s was running") % {"tool": tool_title(calls[0])}
    return _("while %(n)d tool calls were running") % {"n": len(calls)}


def hook_error(reading: Reading, run: str) -> SpanRecord | None:
    """The hook of a run that raised, or whose return could not be used."""
    found = [s for s in reading.spans if s.run == run and s.kind == "hook"]
    raised = [span for span in found if text(span, "toolloop.error")]
    return next(reversed(raised or found), None)


def _is_broken_off(span: SpanRecord) -> bool:
    return span.end_ns is None or span.status in ("cancelled", "lost")


def _waited_last(span: SpanRecord) -> bool:
    return is_waiting(span) or (
        "toolloop.approval.asked_ns" in span.attributes
        and "toolloop.approval.allowed" not in span.attributes
    )


def with_doing(clause: str, doing: str) -> str:
    """A clause with what went on at that moment."""
    return _("%(what)s %(doing)s") % {"what": clause, "doing": doing} if doing else clause


def _errors_clause(reading: Reading, limit: int, turn: SpanRecord | None) -> str:
    clause = ngettext(
        "every call failed in %(n)d turn", "every call failed in %(n)d turns in a row", limit
    ) % {"n": limit}
    failed = _failed_calls(reading, turn)
    if not failed:
        return clause
    last = failed[-1]
    return _("%(what)s, the last one %(tool)s: %(error)s") % {
        "what": clause,
        "tool": tool_title(last),
        "error": call_error(last),
    }


def _repeats_clause(reading: Reading, limit: int, turn: SpanRecord | None) -> str:
    skipped = [
        span
        for span in (reading.all_below(turn) if turn else ())
        if text(span, "toolloop.outcome") == "skipped"
    ]
    values = {"n": limit, "tool": tool_title(skipped[-1]) if skipped else ""}
    if not skipped:
        return _("calls that go in a circle were asked for again after the model had been told")
    if "in the same way" in text(skipped[-1], "toolloop.error"):
        return (
            _(
                "%(tool)s was asked for again after it had been refused: "
                "it had failed in the same way whatever the arguments"
            )
            % values
        )
    return (
        ngettext(
            "%(tool)s was asked for again after it had been refused: "
            "the same arguments had given the same result %(n)d time",
            "%(tool)s was asked for again after it had been refused: "
            "the same arguments had given the same result %(n)d times",
            limit,
        )
        % values
    )


def _tokens_clause(reading: Reading, run: str, limit: float) -> str:
    used = sum(
        integer(span, "gen_ai.usage.input_tokens") + integer(span, "gen_ai.usage.output_tokens")
        for span in reading.spans
        if span.run == run and span.kind == "model" and span.turn != "F"
    )
    if used >= limit > 0:
        return _("%(used)s tokens used, the limit is %(limit)s") % {
            "used": count(used),
            "limit": count(limit),
        }
    return _("the limit of %(limit)s tokens was reached, estimated parts counted in") % {
        "limit": count(limit)
    }


def _context_clause(reading: Reading, run: str) -> str:
    cuts = [
        int(found[1])
        for span in reading.spans
        if span.run == run
        for entry in listed(span, "toolloop.limits_reached")
        if isinstance(entry, dict) and entry.get("option") == "context"
        if (found := _CUT_TO.search(str(entry.get("detail"))))
    ]
    if not cuts:
        return _("the request is too long for the model's window")
    return _(
        "the request is too long for the model's window, "
        "also with tool results cut to %(n)s characters"
    ) % {"n": count(min(cuts))}


def _strict_clause(reading: Reading, run: str) -> str:
    failed = [s for s in reading.spans if s.run == run and is_failed_call(s)]
    hopeless = [span for span in failed if not span.attributes.get("toolloop.correctable")]
    worst = next(iter(hopeless or failed[-1:]), None)
    if worst is None:
        return _("a tool call failed, and this assistant ends on tool errors")
    return _("%(tool)s failed (%(error)s), and this assistant ends on tool errors") % {
        "tool": tool_title(worst),
        "error": call_error(worst),
    }


def _hook_clause(reading: Reading, run: str) -> str:
    agent = reading.agents.get(run)
    hook = hook_error(reading, run)
    error = text(hook, "toolloop.error") if hook else ""
    error = error or (text(agent, "toolloop.error") if agent else "")
    line = own_clause(error)
    if line.startswith("The "):
        line = f"the {line[4:]}"
    return line or _("a hook failed")


def _failed_calls(reading: Reading, turn: SpanRecord | None) -> Sequence[SpanRecord]:
    if turn is None:
        return ()
    return [span for span in reading.all_below(turn) if is_failed_call(span)]
