"""A trace laid out for reading: spans by id, in order, below their parents, with their payloads.

Place in the house: ``traces.inspection``, pure. Broken records are kept and marked: a span whose
parent is missing, or that stands in a circle, is an orphan at the root.

The turn ``F`` and the fallback of level 2 are one thing told twice: the turn is shown as the
fallback, what stands below the turn stands below the fallback.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from traces.attributes import PAYLOADS
from traces.inspection.marks import NOT_FAILURES
from traces.message_lists import SharedList
from traces.records import SpanRecord, TraceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A trace and all that is looked up in it. Times are nanoseconds since 1970.

    ``spans`` are in the order of their positions, ``children`` those below a span id (``""`` for
    the roots), ``failed`` the calls, requests and hooks that failed, ``stops`` the ids of all that
    did not do their work. ``aliases`` leads from a turn
    ``F`` to the fallback that shows it, ``below`` from that fallback to the turn.
    """

    trace: TraceRecord
    spans: tuple[SpanRecord, ...]
    payloads: Mapping[str, object]
    now_ns: int
    start_ns: int
    end_ns: int
    by_id: Mapping[str, SpanRecord]
    children: Mapping[str, tuple[SpanRecord, ...]]
    orphans: frozenset[str]
    agents: Mapping[str, SpanRecord]
    aliases: Mapping[str, str]
    below: Mapping[str, SpanRecord]
    failed: tuple[SpanRecord, ...]
    stops: frozenset[str]

    @property
    def is_running(self) -> bool:
        """Whether the root run has not ended."""
        return self.trace.end_ns is None

    @property
    def root(self) -> SpanRecord | None:
        """The root run's span, ``None`` where it is not stored (yet)."""
        return self.agents.get(self.trace.run)

    def end_of(self, span: SpanRecord) -> int:
        """When a span ended; now, where it is open."""
        return max(self.now_ns, span.start_ns) if span.end_ns is None else span.end_ns

    def length_of(self, span: SpanRecord) -> int:
        """The nanoseconds of a span so far."""
        return self.end_of(span) - span.start_ns

    def payload(self, span: SpanRecord, name: str) -> object:
        """The value of a payload attribute; ``None`` where there is none or it is not loaded."""
        value = span.attributes.get(name)
        return self.payloads.get(value) if isinstance(value, str) else None

    def below_of(self, span: SpanRecord) -> tuple[SpanRecord, ...]:
        """The spans right below one, in order."""
        return self.children.get(span.id, ())

    def all_below(self, span: SpanRecord, *, into_runs: bool = False) -> Iterator[SpanRecord]:
        """Every span below one, parents first; child runs only where wished."""
        waiting = list(reversed(self.below_of(span)))
        while waiting:
            found = waiting.pop()
            if found.kind == "agent" and not into_runs:
                continue
            yield found
            waiting += reversed(self.below_of(found))


def read_trace(
    trace: TraceRecord,
    spans: Sequence[SpanRecord],
    payloads: Mapping[str, object],
    *,
    now_ns: int,
) -> Reading:
    """The trace laid out. Takes time in proportion to the number of spans (and its logarithm)."""
    ordered = tuple(sorted(spans, key=lambda span: (span.position, span.id)))
    by_id = {span.id: span for span in ordered}
    aliases = _fallback_turns(ordered)
    children, orphans = _place(ordered, by_id, aliases)
    start = min((span.start_ns for span in ordered), default=trace.start_ns)
    start = min(start, trace.start_ns)
    ends = [span.end_ns or span.start_ns for span in ordered]
    end = max([trace.end_ns or max(now_ns, start), *ends])
    stops = [span for span in ordered if is_stop(span)]
    return Reading(
        trace=trace,
        spans=ordered,
        payloads=payloads,
        now_ns=now_ns if trace.end_ns is None else end,
        start_ns=start,
        end_ns=end,
        by_id=by_id,
        children=children,
        orphans=orphans,
        agents={span.run: span for span in ordered if span.kind == "agent"},
        aliases=aliases,
        below={fallback: by_id[turn] for turn, fallback in aliases.items()},
        failed=tuple(span for span in stops if is_failed(span)),
        stops=frozenset(span.id for span in stops),
    )


def _fallback_turns(spans: Sequence[SpanRecord]) -> dict[str, str]:
    """Each turn ``F`` with the level 2 fallback of its run that stands right before it."""
    last: dict[str, str] = {}
    found: dict[str, str] = {}
    for span in spans:
        if span.kind == "fallback" and span.attributes.get("toolloop.fallback.level") == 2:
            last[span.run] = span.id
        elif span.kind == "turn" and span.turn == "F" and span.run in last:
            found[span.id] = last.pop(span.run)
    return found


def _place(
    spans: Sequence[SpanRecord], by_id: Mapping[str, SpanRecord], aliases: Mapping[str, str]
) -> tuple[dict[str, tuple[SpanRecord, ...]], frozenset[str]]:
    """The spans below each id, and the orphans."""
    below: dict[str, list[SpanRecord]] = {"": []}
    orphans: set[str] = set()
    for span in spans:
        if span.id in aliases:
            continue
        parent = aliases.get(span.parent, span.parent)
        if parent and parent not in by_id:
            orphans.add(span.id)
            parent = ""
        below.setdefault(parent, []).append(span)
    reached: set[str] = set(aliases)
    for root in below[""]:
        _reach(root, below, reached)
    for span in spans:
        if span.id in reached:
            continue
        # It stands in a circle of parents: nothing leads to it from the root.
        orphans.add(span.id)
        parent = aliases.get(span.parent, span.parent)
        below[parent] = [other for other in below[parent] if other is not span]
        below[""].append(span)
        _reach(span, below, reached)
    return {parent: tuple(found) for parent, found in below.items()}, frozenset(orphans)


def _reach(span: SpanRecord, below: Mapping[str, list[SpanRecord]], reached: set[str]) -> None:
    waiting = [span]
    while waiting:
        found = waiting.pop()
        if found.id not in reached:
            reached.add(found.id)
            waiting += below.get(found.id, ())


def number(value: object) -> int | float:
    """A recorded number, 0 where it is none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def integer(span: SpanRecord, name: str) -> int:
    """A whole number of a span's attributes, 0 where there is none."""
    return int(number(span.attributes.get(name)))


def text(span: SpanRecord, name: str) -> str:
    """A text of a span's attributes, empty where there is none."""
    value = span.attributes.get(name)
    return value if isinstance(value, str) else ""


def listed(span: SpanRecord, name: str) -> list[object]:
    """A list of a span's attributes, empty where there is none."""
    value = span.attributes.get(name)
    if isinstance(value, SharedList):
        return list(value)
    return value if isinstance(value, list) else []


def limits_of(reading: Reading, run: str) -> dict[str, object]:
    """The limits that a run was started with."""
    agent = reading.agents.get(run)
    value = agent.attributes.get("toolloop.limits") if agent else None
    return value if isinstance(value, dict) else {}


def window_of(reading: Reading) -> int | None:
    """The tokens that the root run's model can read at once, where that was recorded."""
    return int(number(limits_of(reading, reading.trace.run).get("context_window"))) or None


def outcome_of(span: SpanRecord) -> str:
    """A call's outcome; ``awaiting_approval`` or ``running`` while it is open, ``interrupted``
    where its process died."""
    outcome = text(span, "toolloop.outcome")
    if outcome:
        return outcome
    if span.attributes.get("toolloop.run_by_provider"):
        return "run_by_provider"
    if span.end_ns is None:
        return "awaiting_approval" if is_waiting(span) else "running"
    return "cancelled" if span.status == "cancelled" else "interrupted"


def is_waiting(span: SpanRecord) -> bool:
    """Whether an open call waits for a person."""
    attributes = span.attributes
    return (
        span.end_ns is None
        and "toolloop.approval.asked_ns" in attributes
        and "toolloop.approval.allowed" not in attributes
    )


def is_failed_call(span: SpanRecord) -> bool:
    """Whether a call failed, as the engine counts failures."""
    outcome = span.attributes.get("toolloop.outcome")
    return isinstance(outcome, str) and outcome not in NOT_FAILURES


def is_failed(span: SpanRecord) -> bool:
    """Whether something failed in a call, a request or a hook itself, not in what stands below."""
    return is_failed_call(span) or (span.status == "error" and span.kind in ("model", "hook"))


def is_stop(span: SpanRecord) -> bool:
    """Whether a span did not do its work: it failed, a person denied it, or it was skipped."""
    outcome = span.attributes.get("toolloop.outcome")
    return is_failed(span) or outcome in ("denied", "skipped")


def is_counted(span: SpanRecord) -> bool:
    """Whether the tokens of an answer are known: no request is read with less than one."""
    return integer(span, "gen_ai.usage.input_tokens") > 0


def asks_the_model(span: SpanRecord) -> bool:
    """Whether a span is a request for an answer; one for a summary stands beside the loop."""
    return span.kind == "model" and not text(span, "toolloop.purpose")


def tool_title(span: SpanRecord) -> str:
    """Which tool a call is of: ``weather / get``, or the name that the model used."""
    server, tool = text(span, "toolloop.server"), text(span, "gen_ai.tool.name")
    if server and tool:
        return f"{server} / {tool}"
    return text(span, "toolloop.call.name") or tool or span.name


def hashes_of(span: SpanRecord, *names: str) -> Iterator[str]:
    """The hashes that payload attributes of a span hold; all of them where no name is given."""
    for name in names or tuple(span.attributes):
        value = span.attributes.get(name)
        if name not in PAYLOADS or value is None:
            continue
        is_list = isinstance(value, list | SharedList)
        yield from (str(item) for item in value) if is_list else [str(value)]


def hashes_of_all(spans: Sequence[SpanRecord]) -> Iterator[str]:
    """The hashes that all payload attributes of a trace's spans hold."""
    for span in spans:
        for name in span.attributes:
            yield from new_hashes(span, name)


def new_hashes(span: SpanRecord, name: str) -> Iterator[str]:
    """The hashes of a list that no earlier span of the trace has told already."""
    value = span.attributes.get(name)
    if isinstance(value, SharedList):
        yield from value.own
    else:
        yield from hashes_of(span, name)
