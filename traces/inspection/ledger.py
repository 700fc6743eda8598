"""The closure ledger: every tool call with its result, and what is odd about the pairs.

Place in the house: ``traces.inspection``, pure. From the call spans of all runs, and from the
messages that each run sent last.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.causes import call_error
from traces.inspection.formats import characters, clauses, count, one_line, telling_argument
from traces.inspection.links import span_href
from traces.inspection.marks import call_state
from traces.inspection.panel_models import (
    FlagView,
    LedgerGroupView,
    LedgerLineView,
    LedgerView,
)
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    is_failed_call,
    listed,
    outcome_of,
    text,
    tool_title,
)
from traces.inspection.row_texts import row_time, turn_title
from traces.records import SpanRecord

_CLOSED = re.compile(r"^closed the call ")
_DROPPED = re.compile(r"^dropped (?:a result|(\d+) results) without a call")


def ledger_view(reading: Reading) -> LedgerView:
    """The ledger of all runs of the trace."""
    calls = [
        span
        for span in reading.spans
        if span.kind == "tool_call" and not span.attributes.get("toolloop.run_by_provider")
    ]
    repeated = _repeated_ids(calls)
    groups = tuple(_groups(reading, calls, repeated))
    lines = [line for group in groups for line in group.lines]
    orphans = tuple(_orphans(reading))
    answered = sum(bool(text(span, "toolloop.outcome")) for span in calls)
    numbers = {
        "unanswered": sum("unanswered" in line.flags for line in lines),
        "orphan": len(orphans) + _noted(reading, _DROPPED),
        "duplicate": sum("duplicate" in line.flags for line in lines),
        "out_of_order": sum("out_of_order" in line.flags for line in lines),
        "made_up": _noted(reading, _CLOSED),
    }
    asked = ngettext("%(n)s call", "%(n)s calls", len(calls)) % {"n": count(len(calls))}
    came = ngettext("%(n)s result", "%(n)s results", answered) % {"n": count(answered)}
    return LedgerView(
        headline=clauses([asked, came]),
        is_closed=answered == len(calls) and not orphans,
        flags=_flags(numbers),
        groups=groups,
        orphans=orphans,
    )


def _flags(numbers: Mapping[str, int]) -> tuple[FlagView, ...]:
    n = numbers
    words = {
        "unanswered": ngettext("%(n)d unanswered", "%(n)d unanswered", n["unanswered"]),
        "orphan": ngettext("%(n)d orphan", "%(n)d orphans", n["orphan"]),
        "made_up": ngettext("%(n)d made up", "%(n)d made up", n["made_up"]),
        "duplicate": ngettext("%(n)d duplicate id", "%(n)d duplicate ids", n["duplicate"]),
        "out_of_order": ngettext(
            "%(n)d arrived out of order", "%(n)d arrived out of order", n["out_of_order"]
        ),
    }
    return tuple(
        FlagView(name=name, count=n[name], text=said % {"n": n[name]}, is_bad=bool(n[name]))
        for name, said in words.items()
    )


def _repeated_ids(calls: Sequence[SpanRecord]) -> set[str]:
    """The calls (by span) whose id from the provider had been used before in their run."""
    seen: set[tuple[str, str]] = set()
    repeated: set[str] = set()
    for span in calls:
        given = text(span, "toolloop.call.given_id") or text(span, "gen_ai.tool.call.id")
        if not given:
            continue
        if (span.run, given) in seen:
            repeated.add(span.id)
        seen.add((span.run, given))
    return repeated


def _groups(
    reading: Reading, calls: Sequence[SpanRecord], repeated: set[str]
) -> Iterator[LedgerGroupView]:
    together: dict[tuple[str, str, int], list[SpanRecord]] = {}
    for span in calls:
        key = span.run, span.turn, max(integer(span, "toolloop.attempt"), 1)
        together.setdefault(key, []).append(span)
    for (run, turn, attempt), own in together.items():
        title = clauses(
            [
                turn_title(turn) if turn else _("outside of turns"),
                _("attempt %(n)d") % {"n": attempt} if attempt > 1 else "",
            ]
        )
        agent = reading.agents.get(run)
        if run != reading.trace.run and agent is not None:
            title = _("%(turn)s of %(assistant)s") % {"turn": title, "assistant": agent.name}
        arrivals = _arrivals(own)
        moved = _out_of_order(own, arrivals)
        yield LedgerGroupView(
            title=title,
            note=_group_note(own, arrivals),
            lines=tuple(_line(reading, s, arrivals, repeated, moved) for s in own),
        )


def _arrivals(calls: Sequence[SpanRecord]) -> dict[str, int]:
    """The place of each result in the order of arrival."""
    came = [span for span in calls if text(span, "toolloop.outcome") and span.end_ns is not None]
    came.sort(key=lambda span: (span.end_ns, span.position))
    return {span.id: place for place, span in enumerate(came)}


def _out_of_order(calls: Sequence[SpanRecord], arrivals: Mapping[str, int]) -> set[str]:
    """The fewest calls without which all results came in the order of the calls; of two that
    changed places the one that overtook."""
    came = [span.id for span in calls if span.id in arrivals]
    ends: list[int] = []
    chains: list[tuple[str, ...]] = []
    for call in reversed(came):
        at = bisect_left(ends, -arrivals[call])
        ends[at : at + 1] = [-arrivals[call]]
        chains[at : at + 1] = [(*(chains[at - 1] if at else ()), call)]
    return set(came) - set(chains[-1] if chains else ())


def _group_note(calls: Sequence[SpanRecord], arrivals: Mapping[str, int]) -> str:
    renamed = [s for s in calls if "toolloop.call.given_id" in s.attributes]
    parts = []
    if any(arrivals.get(span.id, place) != place for place, span in enumerate(calls)):
        parts.append(_("sent back in the order of the calls"))
    for span in renamed:
        given = text(span, "toolloop.call.given_id")
        parts.append(
            _("the provider used %(id)s a second time; made unique on the wire") % {"id": given}
            if given
            else _("the provider gave no id; one was made for the wire")
        )
    return "; ".join(dict.fromkeys(parts))


def _line(
    reading: Reading,
    span: SpanRecord,
    arrivals: Mapping[str, int],
    repeated: set[str],
    moved: set[str],
) -> LedgerLineView:
    arrival = arrivals.get(span.id, -1)
    flags = []
    if not text(span, "toolloop.outcome"):
        flags.append("unanswered")
    if span.id in repeated:
        flags.append("duplicate")
    if span.id in moved:
        flags.append("out_of_order")
    is_cut = bool(span.attributes.get("toolloop.truncated"))
    return LedgerLineView(
        call_id=text(span, "gen_ai.tool.call.id"),
        server=text(span, "toolloop.server"),
        tool=tool_title(span),
        argument=telling_argument(reading.payload(span, "gen_ai.tool.call.arguments")),
        span=span.id,
        href=span_href(span),
        arrival=arrival,
        wire="bad" if is_failed_call(span) else "ord" if flags else "",
        state=call_state(outcome_of(span), is_truncated=is_cut),
        result=_result(span),
        time=row_time(reading, span),
        flags=tuple(flags),
    )


def _result(span: SpanRecord) -> str:
    """The result in few words: its error, or its size."""
    error = text(span, "toolloop.error")
    if error:
        return one_line(call_error(span), 80)
    whole, kept = integer(span, "toolloop.chars"), integer(span, "toolloop.seen_chars")
    if span.attributes.get("toolloop.truncated") and kept:
        return _("%(kept)s of %(whole)s") % {"kept": count(kept), "whole": characters(whole)}
    if not text(span, "toolloop.outcome"):
        return ""
    return characters(whole)


def _noted(reading: Reading, pattern: re.Pattern[str]) -> int:
    """How many repairs of the history fit a pattern, each run's first mention of it."""
    notes: Counter[tuple[str, str]] = Counter()
    for span in reading.spans:
        for note in map(str, listed(span, "toolloop.history.notes")):
            found = pattern.match(note)
            if found:
                many = int(found[1]) if found.groups() and found[1] else 1
                notes[span.run, note] = max(notes[span.run, note], many)
    return sum(notes.values())


def _orphans(reading: Reading) -> Iterator[LedgerLineView]:
    """Results in the last request of each run that answer no call in it."""
    for request in _last_requests(reading).values():
        asked: Counter[str] = Counter()
        for digest in map(str, listed(request, "gen_ai.input.messages")):
            message = reading.payloads.get(digest)
            if not isinstance(message, dict):
                continue
            for call in message.get("tool_calls") or ():
                asked[str(call.get("id"))] += 1
            if message.get("role") != "tool":
                continue
            call_id = str(message.get("tool_call_id") or "")
            if asked[call_id]:
                asked[call_id] -= 1
            else:
                yield _orphan(request, call_id, message)


def ledger_hashes(reading: Reading) -> list[str]:
    """The payloads that the ledger needs besides arguments: what each run sent last."""
    requests = _last_requests(reading).values()
    return [str(d) for span in requests for d in listed(span, "gen_ai.input.messages")]


def _last_requests(reading: Reading) -> dict[str, SpanRecord]:
    requests = (s for s in reading.spans if asks_the_model(s) and s.turn != "F")
    return {span.run: span for span in requests}


def _orphan(request: SpanRecord, call_id: str, message: Mapping[str, object]) -> LedgerLineView:
    return LedgerLineView(
        call_id=call_id,
        server="",
        tool="",
        argument="",
        span=request.id,
        href=span_href(request, tab="messages"),
        arrival=0,
        wire="bad",
        state=call_state("unanswered"),
        result=one_line(message.get("content") or "", 80),
        time="",
        flags=("orphan",),
    )
