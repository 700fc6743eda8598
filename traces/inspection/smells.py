"""What is odd about a run, as far as the record tells it truly.

Place in the house: ``traces.inspection``, pure. Nothing is guessed: whether a model used a result
cannot be told, whether a request held it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.causes import call_error
from traces.inspection.formats import characters, clauses, telling_argument
from traces.inspection.links import span_href
from traces.inspection.marks import call_state
from traces.inspection.panel_models import SmellView
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    is_failed_call,
    listed,
    text,
    tool_title,
)
from traces.inspection.repeats import calls_of, main_run, same_calls
from traces.records import SpanRecord

ERRORS_IN_A_ROW = 2
"""So many failed calls behind one another are worth a word."""

MAX_EACH = 5
"""Smells of one sort that are listed."""


def smell_views(reading: Reading) -> tuple[SmellView, ...]:
    """The smells of the run that did the work."""
    run = main_run(reading)
    calls = calls_of(reading, run)
    found = (
        *_limited(_same_call(reading, run)),
        *_limited(_a_b_a(calls)),
        *_limited(_errors_in_a_row(calls)),
        *_limited(_failed_alone(calls)),
        *_limited(_unread(reading, run, calls)),
        *_limited(_cut(calls)),
        *_limited(_cut_answers(reading, run)),
    )
    return tuple(found)


def _limited(smells: Iterator[SmellView]) -> Iterator[SmellView]:
    for _place, smell in zip(range(MAX_EACH), smells, strict=False):
        yield smell


def _same_call(reading: Reading, run: str) -> Iterator[SmellView]:
    for spans in same_calls(reading, run):
        argument = telling_argument(reading.payload(spans[0], "gen_ai.tool.call.arguments"))
        yield _smell(
            "same_call",
            _("same call again"),
            clauses([tool_title(spans[0]), argument, turns_text(spans)]),
            spans,
        )


def _a_b_a(calls: Sequence[SpanRecord]) -> Iterator[SmellView]:
    """A tool, another one, and the first again, in three turns behind one another."""
    for first, second, third in zip(calls, calls[1:], calls[2:], strict=False):
        names = [text(span, "toolloop.call.name") for span in (first, second, third)]
        turns = {first.turn, second.turn, third.turn}
        if names[0] == names[2] != names[1] and len(turns) == 3:
            tools = ", ".join(tool_title(span) for span in (first, second, third))
            yield _smell("a_b_a", "A-B-A", tools, [first, second, third])


def _errors_in_a_row(calls: Sequence[SpanRecord]) -> Iterator[SmellView]:
    row: list[SpanRecord] = []
    for span in (*calls, None):
        if span is not None and is_failed_call(span):
            row.append(span)
            continue
        if len(row) >= ERRORS_IN_A_ROW:
            words = ngettext("%(n)d call failed", "%(n)d calls failed", len(row)) % {"n": len(row)}
            last = _("the last one %(tool)s: %(error)s") % {
                "tool": tool_title(row[-1]),
                "error": call_error(row[-1]),
            }
            text_ = clauses([words, turns_text(row), last])
            yield _smell("errors_in_a_row", _("errors in a row"), text_, row)
        row = []


def _failed_alone(calls: Sequence[SpanRecord]) -> Iterator[SmellView]:
    """Failed calls with none beside them that failed too: what happened, and the error."""
    for before, span, after in zip((None, *calls), calls, (*calls[1:], None), strict=False):
        if not is_failed_call(span) or any(s and is_failed_call(s) for s in (before, after)):
            continue
        state = call_state(text(span, "toolloop.outcome")).word
        parts = [tool_title(span), state, turns_text([span]), call_error(span)]
        yield _smell("failed_call", _("failed call"), clauses(parts), [span])


def _cut_answers(reading: Reading, run: str) -> Iterator[SmellView]:
    for span in reading.spans:
        is_own = span.kind == "model" and span.run == run
        if is_own and "length" in listed(span, "gen_ai.response.finish_reasons"):
            words = _("the answer was cut off at the length limit")
            where = _("the fallback") if span.turn == "F" else turns_text([span])
            yield _smell("cut_answer", _("cut by length"), clauses([where, words]), [span])


def _unread(reading: Reading, run: str, calls: Sequence[SpanRecord]) -> Iterator[SmellView]:
    """Results that came after the model's last request."""
    requests = [s for s in reading.spans if asks_the_model(s) and s.run == run and s.turn != "F"]
    if reading.is_running or not requests:
        return
    last = requests[-1].start_ns
    late = [s for s in calls if text(s, "toolloop.outcome") == "ok" and reading.end_of(s) > last]
    late = [s for s in late if not s.attributes.get("toolloop.run_by_provider")]
    if not late:
        return
    is_fallback = any(s.kind == "fallback" and s.run == run for s in reading.spans)
    who = _("read by the fallback only") if is_fallback else _("read by no request")
    tools = ", ".join(dict.fromkeys(tool_title(span) for span in late))
    yield _smell("unread", _("result not read"), clauses([tools, who]), late)


def _cut(calls: Sequence[SpanRecord]) -> Iterator[SmellView]:
    for span in calls:
        if span.attributes.get("toolloop.truncated"):
            left_out = integer(span, "toolloop.chars") - integer(span, "toolloop.seen_chars")
            words = _("%(size)s left out") % {"size": characters(left_out)}
            yield _smell("cut", _("cut by length"), clauses([tool_title(span), words]), [span])


def turns_text(spans: Sequence[SpanRecord]) -> str:
    """In which turns spans lie: "turn 2", "turns 2, 3 and 4"."""
    turns = list(dict.fromkeys(span.turn for span in spans if span.turn))
    if len(turns) < 2:
        return _("turn %(turn)s") % {"turn": turns[0]} if turns else ""
    return _("turns %(turns)s and %(last)s") % {"turns": ", ".join(turns[:-1]), "last": turns[-1]}


def _smell(name: str, word: str, text_: str, spans: Sequence[SpanRecord]) -> SmellView:
    return SmellView(
        name=name,
        word=word,
        text=text_,
        spans=tuple(span.id for span in spans),
        href=span_href(spans[-1]),
    )
