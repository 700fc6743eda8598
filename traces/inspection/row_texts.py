"""What stands on a row of the tree: title, argument, note, time, state.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from traces.inspection.formats import clauses, count, duration, one_line, telling_argument
from traces.inspection.marks import NOT_SENT, call_state, run_state, span_state
from traces.inspection.own_words import own_line
from traces.inspection.reading import (
    Reading,
    integer,
    is_counted,
    limits_of,
    listed,
    number,
    outcome_of,
    text,
    tool_title,
)
from traces.inspection.turn_verdicts import provider_reason
from traces.inspection.verdicts import run_end
from traces.inspection.view_models import StateView
from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext
from traces.records import SpanRecord


def row_title(reading: Reading, span: SpanRecord) -> str:
    """What a span is, in bold."""
    match span.kind:
        case "turn":
            return turn_title(span.turn)
        case "model":
            return text(span, "gen_ai.request.model") or span.name
        case "tool_call":
            return tool_title(span)
        case "retry":
            return attempt_title(reading, span)
        case "hook":
            return _("%(name)s hook") % {"name": text(span, "toolloop.hook")}
        case "fallback":
            return text(span, "toolloop.fallback.assistant") or _("fixed text")
        case "policy":
            return _("catalog")
        case "compaction":
            return _("compaction")
    return span.name


def turn_title(turn: str) -> str:
    """A turn's name."""
    return _("Fallback") if turn == "F" else _("Turn %(n)s") % {"n": turn}


def attempt_title(reading: Reading, span: SpanRecord) -> str:
    """Which attempt of the first turn a retry is."""
    limit = int(number(limits_of(reading, span.run).get("parameter_attempts")))
    values = {"n": integer(span, "toolloop.attempt"), "limit": limit}
    return _("attempt %(n)d of %(limit)d") % values if limit else _("attempt %(n)d") % values


def request_title(reading: Reading, span: SpanRecord) -> str:
    """Where a request stands: "Turn 4", "Turn 0, attempt 2", "Fallback", with its try."""
    attempt, tries = integer(span, "toolloop.attempt"), integer(span, "toolloop.try")
    return clauses(
        [
            turn_title(span.turn) if span.turn else row_title(reading, span),
            _("attempt %(n)d") % {"n": attempt} if attempt > 1 else "",
            _("try %(n)d") % {"n": tries} if tries > 1 else "",
        ]
    )


def row_argument(reading: Reading, span: SpanRecord) -> str:
    """What tells one call or hook from the next, in monospaced type."""
    if span.kind == "tool_call":
        return telling_argument(reading.payload(span, "gen_ai.tool.call.arguments"))
    return text(span, "toolloop.hook.path") if span.kind == "hook" else ""


def row_note(reading: Reading, span: SpanRecord) -> str:
    """The quiet words behind the title."""
    match span.kind:
        case "agent":
            return _("run") if span.run == reading.trace.run else _("child run")
        case "turn":
            return _turn_note(reading, span)
        case "model":
            return _model_note(span)
        case "tool_call":
            return _call_note(span)
        case "retry":
            return _("correction notice added")
        case "hook":
            return _hook_note(span)
        case "fallback":
            level = integer(span, "toolloop.fallback.level")
            return _("level 2, no tools") if level == 2 else _("level %(n)d") % {"n": level}
        case "policy":
            return catalog_note(reading.payload(span, "toolloop.catalog"))
        case "compaction":
            return compaction_note(span)
    return ""


COMPACTION_REASONS = {
    "window": gettext_lazy("the request would have filled the window"),
    "overflow": gettext_lazy("the provider found the request too long"),
    "asked": gettext_lazy("a person asked for it"),
}
"""Why older messages were folded."""


def compaction_note(span: SpanRecord) -> str:
    """What a compaction did: "40 messages became 7, the request would have ..."."""
    reason = str(COMPACTION_REASONS.get(text(span, "toolloop.compaction.reason"), ""))
    if span.end_ns is None:
        return clauses([_("a summary is being written"), reason])
    if span.status != "ok":
        return clauses([_("no summary could be written, nothing was folded"), reason])
    became = _("%(before)s messages became %(after)s") % {
        "before": count(integer(span, "toolloop.compaction.messages_before")),
        "after": count(integer(span, "toolloop.compaction.messages_after")),
    }
    tokens = _("about %(before)s tokens became %(after)s") % {
        "before": count(integer(span, "toolloop.compaction.tokens_before")),
        "after": count(integer(span, "toolloop.compaction.tokens_after")),
    }
    return clauses([became, tokens, reason])


def catalog_note(report: object) -> str:
    """How much of a catalog is offered: "12 offered, 9 left out"."""
    if not isinstance(report, dict):
        return ""
    offered, left_out = (_entries(report, name) for name in ("offered", "left_out"))
    tools = [entry for entry in left_out if entry.get("tool")]
    down = [entry for entry in left_out if not entry.get("tool")]
    parts = [_("%(n)s offered") % {"n": count(len(offered))}]
    if tools:
        parts.append(_("%(n)s left out") % {"n": count(len(tools))})
    if down:
        words = ngettext("%(n)d server did not answer", "%(n)d servers did not answer", len(down))
        parts.append(words % {"n": len(down)})
    return clauses(parts)


def row_state(reading: Reading, span: SpanRecord) -> StateView | None:
    """How it went, where there is more to say than that it went well."""
    if span.kind == "tool_call":
        is_cut = bool(span.attributes.get("toolloop.truncated"))
        return call_state(outcome_of(span), is_truncated=is_cut)
    if span.kind == "agent":
        status = run_end(reading, span).status
        return None if status == "completed" else run_state(status)
    return None if span.status == "ok" else span_state(span.status)


def row_time(reading: Reading, span: SpanRecord) -> str:
    """How long it took; "not sent" for a call that never left."""
    is_asked = "toolloop.approval.wait_ms" in span.attributes
    is_kept = bool(span.attributes.get("toolloop.kept"))
    if span.kind == "tool_call" and not is_asked:
        if is_kept or text(span, "toolloop.outcome") in NOT_SENT:
            return _("not sent")
        if span.attributes.get("toolloop.run_by_provider"):
            return ""
    return duration(reading.length_of(span))


def row_tokens(span: SpanRecord, below: int) -> tuple[int | None, bool]:
    """The tokens of a row and whether they are an estimate: what a request read, what a result
    adds to the next one. ``below`` is the sum of the requests below."""
    match span.kind:
        case "model":
            tokens = integer(span, "gen_ai.usage.input_tokens")
            is_estimated = bool(span.attributes.get("toolloop.usage.is_estimated"))
            return (tokens, is_estimated) if is_counted(span) else (None, False)
        case "tool_call":
            chars = integer(span, "toolloop.seen_chars") or integer(span, "toolloop.chars")
            return (-(-chars // 4), True) if chars else (None, False)
    return (below, False) if below else (None, False)


def _turn_note(reading: Reading, span: SpanRecord) -> str:
    if span.turn == "0":
        retries = sum(child.kind == "retry" for child in reading.below_of(span))
        attempts = ngettext("%(n)d attempt", "%(n)d attempts", retries + 1) % {"n": retries + 1}
        return clauses([_("first answer"), attempts if retries else ""])
    limit = number(limits_of(reading, span.run).get("max_turn"))
    return _("last one allowed") if limit and span.turn == str(int(limit)) else ""


def _model_note(span: SpanRecord) -> str:
    if span.end_ns is None:
        return _("is answering")
    if span.status == "error":
        return _failure_note(span)
    if span.status in ("cancelled", "lost"):
        return _("broken off")
    calls = integer(span, "toolloop.answer.calls")
    said = _("wrote the summary") if text(span, "toolloop.purpose") else _("answered")
    if calls:
        said = ngettext("asked for %(n)d call", "asked for %(n)d calls", calls) % {"n": calls}
    finish = listed(span, "gen_ai.response.finish_reasons")
    cut = _("cut off at the length limit") if "length" in finish else ""
    tries = integer(span, "toolloop.try")
    again = _("try %(n)d") % {"n": tries} if tries > 1 else ""
    return clauses([said, cut, again])


def _failure_note(span: SpanRecord) -> str:
    delay = number(span.attributes.get("toolloop.retry.delay_ms"))
    waited = _("waited %(time)s") % {"time": duration(delay * 1e6)} if delay else ""
    moved = ""
    if span.attributes.get("toolloop.retry.is_failover"):
        model = text(span, "toolloop.retry.next_model")
        moved = _("then %(model)s was asked") % {"model": model}
    return clauses([provider_reason(span), waited, moved])


def _call_note(span: SpanRecord) -> str:
    if span.attributes.get("toolloop.kept"):
        return _("earlier result used again")
    if "toolloop.repeated_alone" in span.attributes:
        return _("ran once more, alone")
    wait = number(span.attributes.get("toolloop.approval.wait_ms"))
    return _("waited %(time)s for a person") % {"time": duration(wait * 1e6)} if wait else ""


def _hook_note(span: SpanRecord) -> str:
    if span.status == "error":
        return one_line(own_line(text(span, "toolloop.error")), 60)
    if span.end_ns is None:
        return ""
    keys = [str(key) for key in listed(span, "toolloop.hook.returned")]
    if not keys:
        return _("changed nothing")
    return _("returned %(keys)s") % {"keys": ", ".join(keys)}


def _entries(report: dict[str, object], name: str) -> list[dict[str, object]]:
    found = report.get(name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
