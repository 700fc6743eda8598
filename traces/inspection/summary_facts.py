"""The sentence and the key numbers of one span.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from traces.inspection.answers import answer_facts
from traces.inspection.detail_models import FactView
from traces.inspection.formats import characters, count, duration, sentences
from traces.inspection.marks import source_word, stop_word
from traces.inspection.passed_over import passed_over_sentences
from traces.inspection.reading import (
    Reading,
    integer,
    limits_of,
    listed,
    number,
    outcome_of,
    text,
    tool_title,
)
from traces.inspection.row_texts import row_note, row_title
from traces.inspection.totals import token_sum
from traces.inspection.tree import sentence_of
from traces.inspection.turn_verdicts import provider_reason
from traces.inspection.verdicts import run_verdict
from traces.records import SpanRecord

CALL_SENTENCES = {
    "ok": gettext_lazy("%(tool)s answered"),
    "tool_error": gettext_lazy("%(tool)s reported an error"),
    "invalid_arguments": gettext_lazy(
        "The call of %(tool)s was never sent: its arguments do not fit the tool's schema"
    ),
    "unknown_tool": gettext_lazy("The model called %(tool)s, a name that was not offered"),
    "not_allowed": gettext_lazy(
        "The model called %(tool)s, which this run's catalog had left out; nothing was sent"
    ),
    "denied": gettext_lazy("The call of %(tool)s was refused; nothing was sent"),
    "timeout": gettext_lazy("%(tool)s did not answer within its time limit"),
    "server_unavailable": gettext_lazy("The server of %(tool)s could not be reached"),
    "protocol_error": gettext_lazy(
        "The server of %(tool)s broke the protocol or refused the request"
    ),
    "cancelled": gettext_lazy("The call of %(tool)s was cancelled before it had answered"),
    "skipped": gettext_lazy(
        "The call of %(tool)s was not executed: it had given the same result too often"
    ),
    "interrupted": gettext_lazy(
        "The process ended while %(tool)s was at work; it may or may not have had an effect"
    ),
    "running": gettext_lazy("%(tool)s is at work"),
    "awaiting_approval": gettext_lazy("The call of %(tool)s waits for a person"),
    "run_by_provider": gettext_lazy("The provider ran %(tool)s by itself"),
}
"""What became of a call, by its outcome."""


def sentence_for(reading: Reading, span: SpanRecord) -> str:
    """What a span was and how it went, in a sentence or two."""
    match span.kind:
        case "agent":
            return run_verdict(reading, span).headline
        case "turn" | "retry" | "fallback":
            return sentence_of(reading, span)
        case "model":
            return _model_sentence(span)
        case "tool_call":
            return _call_sentence(span)
        case "hook":
            return sentences([row_title(reading, span) + ": " + row_note(reading, span)])
    return sentences([row_note(reading, span)])


def facts_of(reading: Reading, span: SpanRecord) -> tuple[FactView, ...]:
    """The key numbers of a span."""
    facts = [_fact(_("time"), duration(reading.length_of(span)))]
    since = span.start_ns - reading.start_ns
    facts.append(_fact(_("began"), _("%(time)s after the start") % {"time": duration(since)}))
    match span.kind:
        case "agent":
            facts += _agent_facts(reading, span)
        case "model":
            facts += answer_facts(reading, span)
        case "tool_call":
            facts += _call_facts(reading, span)
        case "compaction":
            facts += _compaction_facts(span)
        case "hook":
            facts.append(_fact(_("path"), text(span, "toolloop.hook.path"), is_code=True))
        case "turn" | "retry" | "fallback":
            facts += _turn_facts(reading, span)
    facts.append(_fact(_("id"), span.id, is_code=True))
    return tuple(fact for fact in facts if fact.text)


def _fact(name: str, value: str, *, is_code: bool = False) -> FactView:
    return FactView(name=name, text=value, is_code=is_code)


def _model_sentence(span: SpanRecord) -> str:
    model = text(span, "gen_ai.request.model")
    tries = integer(span, "toolloop.try")
    again = ""
    if tries > 1:
        again = _("This was try %(n)d for the same answer") % {"n": tries}
    if span.end_ns is None:
        said = _("%(model)s is answering") % {"model": model}
    elif span.status == "error":
        said = _("%(model)s gave no answer (%(why)s)") % {
            "model": model,
            "why": provider_reason(span) or text(span, "error.type"),
        }
    elif span.status == "ok":
        said = _answer_sentence(span, model)
    else:
        said = _("The request to %(model)s was broken off") % {"model": model}
    return sentences([said, again, passed_over_sentences(span)])


def _answer_sentence(span: SpanRecord, model: str) -> str:
    calls = integer(span, "toolloop.answer.calls")
    if text(span, "toolloop.purpose") == "summary":
        return _("%(model)s wrote the summary of older messages") % {"model": model}
    if not calls:
        return _("%(model)s answered with text") % {"model": model}
    return ngettext(
        "%(model)s asked for %(n)d tool call", "%(model)s asked for %(n)d tool calls", calls
    ) % {"model": model, "n": calls}


def _call_sentence(span: SpanRecord) -> str:
    outcome = outcome_of(span)
    words = CALL_SENTENCES.get(outcome)
    said = str(words) % {"tool": tool_title(span)} if words else f"{tool_title(span)}: {outcome}"
    parts = [said]
    if span.attributes.get("toolloop.kept"):
        parts = [
            _("%(tool)s had answered this call before: its result was used again")
            % {"tool": tool_title(span)}
        ]
    if span.attributes.get("toolloop.truncated"):
        parts.append(
            _("The model saw %(kept)s of %(whole)s")
            % {
                "kept": count(integer(span, "toolloop.seen_chars")),
                "whole": characters(integer(span, "toolloop.chars")),
            }
        )
    if span.attributes.get("toolloop.correctable"):
        parts.append(_("New arguments can mend this"))
    if "toolloop.repeated_alone" in span.attributes:
        parts.append(_("It failed in company first and ran once more, alone"))
    return sentences(parts)


def _compaction_facts(span: SpanRecord) -> Iterator[FactView]:
    yield _fact(_("messages folded"), count(integer(span, "toolloop.compaction.folded")))
    window = integer(span, "toolloop.compaction.window")
    yield _fact(_("window"), _("%(n)s tokens") % {"n": count(window)} if window else "")


def _agent_facts(reading: Reading, span: SpanRecord) -> Iterator[FactView]:
    requests = [
        s for s in reading.spans if s.run == span.run and s.kind == "model" and s.status == "ok"
    ]
    yield _fact(_("assistant"), text(span, "gen_ai.agent.id"), is_code=True)
    yield _fact(_("requests"), count(len(requests)))
    yield _fact(_("tokens in"), count(token_sum(requests, "input_tokens")))
    yield _fact(_("tokens out"), count(token_sum(requests, "output_tokens")))
    yield _fact(_("stop reason"), stop_word(text(span, "toolloop.stop_reason")))
    source = text(span, "toolloop.answer.source")
    yield _fact(_("answer from"), source_word(source))
    for name in map(str, listed(span, "toolloop.delegated_to")):
        yield _fact(_("handed over to"), name, is_code=True)
    yield _fact(_("run"), span.run, is_code=True)


def _call_facts(reading: Reading, span: SpanRecord) -> Iterator[FactView]:
    executed = number(span.attributes.get("toolloop.duration_ms"))
    if executed:
        yield _fact(_("execution alone"), duration(executed * 1e6))
    chars = integer(span, "toolloop.chars")
    if chars:
        yield _fact(_("result"), characters(chars))
    attempt = integer(span, "toolloop.attempt")
    if attempt > 1:
        limit = int(number(limits_of(reading, span.run).get("parameter_attempts")))
        yield _fact(
            _("attempt"), _("%(n)s of %(limit)s") % {"n": count(attempt), "limit": count(limit)}
        )
    progress = integer(span, "toolloop.progress")
    if progress:
        words = ngettext("reported %(n)d time", "reported %(n)d times", progress)
        yield _fact(_("progress"), words % {"n": progress})
    yield _fact(_("name on the wire"), text(span, "toolloop.call.name"), is_code=True)
    yield _fact(_("id on the wire"), text(span, "gen_ai.tool.call.id"), is_code=True)
    yield _fact(_("id from the provider"), text(span, "toolloop.call.given_id"), is_code=True)
    yield _fact(_("error type"), text(span, "error.type"), is_code=True)
    alone = span.attributes.get("toolloop.repeated_alone")
    yield _fact(_("error in company"), str(alone) if alone else "")


def _turn_facts(reading: Reading, span: SpanRecord) -> Iterator[FactView]:
    below = list(reading.all_below(span))
    requests = [s for s in below if s.kind == "model"]
    calls = [s for s in below if s.kind == "tool_call"]
    yield _fact(_("requests"), count(len(requests)))
    yield _fact(_("tool calls"), count(len(calls)))
    yield _fact(_("tokens in"), count(token_sum(requests, "input_tokens")))
    yield _fact(_("tokens out"), count(token_sum(requests, "output_tokens")))
