"""What the blocks of the rail are made from: which turn a span belongs to, labels, and the plain
blocks of many turns.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from traces.inspection.axis import share
from traces.inspection.formats import clauses, count, duration, pixels, place
from traces.inspection.links import span_href
from traces.inspection.reading import Reading, integer
from traces.inspection.row_bars import MIN_SHARE
from traces.inspection.row_texts import turn_title
from traces.inspection.view_models import BlockView
from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext
from traces.records import SpanRecord

PLAIN_OVER = 100
"""Turns above which a block has no room for bars, marks and numbers."""

MOST_BLOCKS = 200
"""Blocks on the rail; of more turns several share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSums:
    """Of each turn or fallback by its id: the tokens of its largest request, its calls, those that
    failed. ``owners`` leads from each span to the turn that it stands in; a child run's spans
    stand in its own turns."""

    owners: dict[str, str]
    tokens: dict[str, int]
    calls: Counter[str]
    failed: Counter[str]


def turn_sums(reading: Reading) -> TurnSums:
    """The sums of all turns, in one pass."""
    sums = TurnSums(owners=_owners(reading), tokens={}, calls=Counter(), failed=Counter())
    for span in reading.spans:
        owner = sums.owners.get(span.id)
        if owner is None:
            continue
        if span.kind == "model":
            tokens = integer(span, "gen_ai.usage.input_tokens")
            sums.tokens[owner] = max(sums.tokens.get(owner, 0), tokens)
        elif span.kind == "tool_call":
            sums.calls[owner] += 1
    for span in reading.failed:
        if span.kind == "tool_call" and span.id in sums.owners:
            sums.failed[sums.owners[span.id]] += 1
    return sums


def _owners(reading: Reading) -> dict[str, str]:
    owners: dict[str, str] = {}
    waiting = [(span, "") for span in reading.children.get("", ())]
    while waiting:
        span, owner = waiting.pop()
        if span.kind in ("turn", "fallback"):
            owner = span.id
        if owner:
            owners[span.id] = owner
        waiting += [(found, owner) for found in reading.children.get(span.id, ())]
    return owners


def turn_label(reading: Reading, turn: SpanRecord, time: str, tokens: int, calls: int) -> str:
    """A turn in words: "Turn 3: 2.00 s, 4,000 tokens of context, 2 tool calls"."""
    name = turn_title("F" if turn.kind == "fallback" else turn.turn)
    if turn.run != reading.trace.run:
        agent = reading.agents.get(turn.run)
        name = _("%(turn)s of %(assistant)s") % {
            "turn": name,
            "assistant": agent.name if agent else turn.run,
        }
    return _labelled(name, time, tokens, calls)


def plain_blocks(
    reading: Reading,
    turns: Sequence[SpanRecord],
    per_block: int,
    sums: TurnSums,
    tops: Mapping[str, float],
    current: str,
) -> tuple[BlockView, ...]:
    """Blocks of ``per_block`` turns each; as high as the highest of them, bad where one is."""
    groups = (turns[at : at + per_block] for at in range(0, len(turns), per_block))
    return tuple(
        _plain_block(reading, group, sums, min(tops[turn.id] for turn in group), current)
        for group in groups
    )


def _plain_block(
    reading: Reading, group: Sequence[SpanRecord], sums: TurnSums, top: float, current: str
) -> BlockView:
    first = group[0]
    end = max(reading.end_of(turn) for turn in group)
    left = share(reading, first.start_ns)
    width = max(share(reading, end) - left, MIN_SHARE * 2)
    time = duration(end - first.start_ns)
    tokens = max(sums.tokens.get(turn.id, 0) for turn in group)
    return BlockView(
        id=first.id,
        first=min(turn.position for turn in group),
        last=max(turn.position for turn in group),
        number="F" if all(turn.kind == "fallback" for turn in group) else first.turn,
        label=_plain_label(reading, group, time, tokens, sum(sums.calls[t.id] for t in group)),
        time=time,
        tokens=count(tokens) if tokens else "",
        href=span_href(first),
        x=place(min(left, 1 - width)),
        width=place(width),
        top=pixels(top),
        bars=(),
        glyphs=(),
        is_selected=any(turn.id == current for turn in group),
        is_running=any(turn.end_ns is None for turn in group),
        is_bad=any(sums.failed[turn.id] or turn.status == "error" for turn in group),
    )


def _plain_label(
    reading: Reading, group: Sequence[SpanRecord], time: str, tokens: int, calls: int
) -> str:
    if len(group) == 1:
        return turn_label(reading, group[0], time, tokens, calls)
    values = {"first": _number(group[0]), "last": _number(group[-1])}
    return _labelled(_("Turns %(first)s to %(last)s") % values, time, tokens, calls)


def _number(turn: SpanRecord) -> str:
    return "F" if turn.kind == "fallback" else turn.turn


def _labelled(name: str, time: str, tokens: int, calls: int) -> str:
    parts = [time]
    if tokens:
        parts.append(_("%(n)s tokens of context") % {"n": count(tokens)})
    if calls:
        words = ngettext("%(n)s tool call", "%(n)s tool calls", calls)
        parts.append(words % {"n": count(calls)})
    return _("%(name)s: %(text)s") % {"name": name, "text": clauses(parts)}
