"""A trace as evidence in Markdown: the verdict, the facts, and turn by turn what happened.

Place in the house: ``traces``, pure but for gettext. Long texts are shortened and their whole
length is said; secrets were taken out before anything was stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from traces.inspection.formats import characters, clauses, count
from traces.inspection.marks import kind_view, stop_word
from traces.inspection.page import verdict_view
from traces.inspection.reading import Reading, integer, outcome_of, read_trace, text
from traces.inspection.row_texts import row_note, row_state, row_time, row_title
from traces.inspection.totals import totals_view
from traces.inspection.tree import sentence_of
from traces.markdown_text import block, prose, shortened
from traces.records import SpanRecord, TraceRecord

TEXT_CHARS = 1_000
"""How much of one text is shown."""

_PARENTS = ("turn", "retry", "fallback", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    reading: Reading
    has_content: bool


def trace_as_evidence(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Mapping[str, object],
    *,
    now_ns: int,
    has_content: bool = True,
) -> str:
    """The Markdown text, in the active language. Without content there are names, numbers, states
    and decisions, but nothing that a person, a model or a tool wrote."""
    reading = read_trace(trace, spans, payloads, now_ns=now_ns)
    report = _Report(reading=reading, has_content=has_content)
    parts = [*_head(report), *_steps(report, reading.children.get("", ()), level=2), _foot(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(report: _Report) -> Iterator[str]:
    reading, trace = report.reading, report.reading.trace
    verdict, totals = verdict_view(reading), totals_view(reading)
    name = trace.assistant_name or trace.assistant
    if report.has_content:
        yield f"# {prose(verdict.headline)}"
        yield prose(verdict.why)
        yield prose(verdict.advice)
    else:
        yield f"# {prose(clauses([name, verdict.status.word]))}"
    at = datetime.fromtimestamp(trace.start_ns / 1e9, UTC)
    tokens = _("%(input)s in, %(output)s out") % {
        "input": totals.tokens.input,
        "output": totals.tokens.output,
    }
    rows = [
        (_("trace"), f"`{trace.id}`"),
        (_("assistant"), prose(name)),
        (_("began"), at.isoformat(sep=" ", timespec="seconds")),
        (
            _("status"),
            prose(clauses([verdict.status.word, stop_word(trace.stop_reason), verdict.level])),
        ),
        (_("time"), totals.wall),
        (_("of it"), clauses(f"{p.word} {p.text} ({p.percent})" for p in totals.parts)),
        (_("turns"), prose(f"{totals.turns} {totals.turns_note}".strip())),
        (_("tokens"), clauses([tokens, totals.tokens.cached, totals.tokens.reasoning])),
        (_("calls"), totals.calls),
        (_("what went wrong"), clauses(c.text for c in verdict.counts if c.count)),
    ]
    table = [f"| {name} | {value} |" for name, value in rows if value]
    yield "\n".join(["| | |", "|---|---|", *table])
    question = _payload(report, reading.root, "toolloop.message")
    if question:
        yield f"## {_('What the user said')}"
        yield question


def _steps(report: _Report, spans: Sequence[SpanRecord], *, level: int) -> Iterator[str]:
    """What happened, in order: a heading for what holds others, an entry for all else."""
    reading = report.reading
    for span in spans:
        below = reading.below_of(span)
        if span.kind not in _PARENTS:
            yield from _entry(report, span)
            yield from _steps(report, below, level=level)
            continue
        is_root = span is reading.root
        if not is_root:
            heading = clauses([row_title(reading, span), row_note(reading, span)])
            time = row_time(reading, span)
            yield f"{'#' * min(level, 6)} {prose(heading)} ({time})"
        yield from _steps(report, below, level=level if is_root else level + 1)
        yield _decision(report, span)
        answer = _payload(report, span, "toolloop.answer")
        if answer:
            yield f"{'#' * min(level, 6)} {_('Answer')}"
            yield answer


def _decision(report: _Report, span: SpanRecord) -> str:
    """Why it went on or stopped after this."""
    if span.kind not in ("turn", "fallback"):
        return ""
    sentence = sentence_of(report.reading, span)
    if not report.has_content:
        failed = integer(span, "toolloop.failed_calls")
        sentence = clauses(
            [
                text(span, "toolloop.turn.decision"),
                text(span, "toolloop.turn.reason") or text(span, "toolloop.stop_reason"),
                _("failed calls: %(n)d") % {"n": failed} if failed else "",
            ]
        )
    return f"**{prose(sentence)}**" if sentence else ""


def _entry(report: _Report, span: SpanRecord) -> Iterator[str]:
    """A request, a call, a hook, the catalog: one line, and its texts below."""
    reading = report.reading
    state, note = row_state(reading, span), row_note(reading, span)
    is_quiet = not report.has_content and (span.kind == "hook" or span.status == "error")
    words = clauses(
        [
            kind_view(span.kind).word,
            "" if is_quiet else note,
            state.word if state is not None else "",
            row_time(reading, span),
        ]
    )
    yield f"- **{prose(row_title(reading, span))}**: {prose(words)}"
    if not report.has_content:
        return
    if span.kind == "tool_call":
        yield from _call_texts(report, span)
    elif span.kind == "model":
        yield from _labelled(_("said"), _said(reading, span))
    error = text(span, "toolloop.error")
    if error and (span.kind != "tool_call" or outcome_of(span) != "ok"):
        yield from _labelled(_("error"), error)


def _call_texts(report: _Report, span: SpanRecord) -> Iterator[str]:
    reading = report.reading
    arguments = reading.payload(span, "gen_ai.tool.call.arguments")
    raw = reading.payload(span, "toolloop.call.raw_arguments")
    given = raw if isinstance(arguments, str) and raw is not None else arguments
    if given is not None:
        yield from _labelled(_("arguments"), _json_text(given), "json")
    result = reading.payload(span, "gen_ai.tool.call.result")
    error = text(span, "toolloop.error")
    is_told_anyway = bool(error) and error in str(result)
    if isinstance(result, str) and not is_told_anyway:
        yield from _labelled(_("result"), result)
    if span.attributes.get("toolloop.truncated"):
        words = _("The model saw %(kept)s of %(whole)s.") % {
            "kept": count(integer(span, "toolloop.seen_chars")),
            "whole": characters(integer(span, "toolloop.chars")),
        }
        yield f"  {words}"


def _said(reading: Reading, span: SpanRecord) -> str:
    """The text of an answer."""
    hashes = span.attributes.get("gen_ai.output.messages")
    digests = hashes if isinstance(hashes, list) else [hashes]
    messages = (reading.payloads.get(str(digest)) for digest in digests)
    texts = (message.get("content") for message in messages if isinstance(message, dict))
    return "\n".join(found for found in texts if isinstance(found, str) and found)


def _labelled(label: str, value: str, language: str = "") -> Iterator[str]:
    if not value:
        return
    shown, note = shortened(value, TEXT_CHARS)
    head = f"  {label} ({note}):" if note else f"  {label}:"
    yield f"{head}\n\n{block(shown, language, indent='  ')}"


def _payload(report: _Report, span: SpanRecord | None, name: str) -> str:
    """A text of a span in a fence, or nothing."""
    value = report.reading.payload(span, name) if span is not None else None
    if not report.has_content or value in (None, ""):
        return ""
    shown, note = shortened(value if isinstance(value, str) else _json_text(value), TEXT_CHARS)
    return f"{block(shown)}\n\n{note}".strip()


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _foot(report: _Report) -> str:
    if not report.has_content:
        return _("All texts were left out.")
    return _("Long texts are shortened. Secrets were taken out before the trace was stored.")
