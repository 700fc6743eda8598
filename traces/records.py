"""Spans and traces in memory, before they are rows.

Place in the house: ``traces``. Values only; ``span_builder`` makes them, ``recorder`` stores them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A large value that is stored as a blob; the value must never change again."""

    value: object


@dataclass(slots=True, kw_only=True)
class SpanRecord:
    """One span. ``attributes`` may hold ``Payload`` values or tuples of them."""

    id: str
    trace: str
    parent: str
    run: str
    position: int
    kind: str
    name: str
    start_ns: int
    turn: str = ""
    status: str = "running"
    end_ns: int | None = None
    attributes: dict[str, object] = field(default_factory=dict)

    def copy(self) -> SpanRecord:
        """The span as it is now; later changes do not reach the copy."""
        return SpanRecord(
            id=self.id, trace=self.trace, parent=self.parent, run=self.run,
            position=self.position, kind=self.kind, name=self.name, start_ns=self.start_ns,
            turn=self.turn, status=self.status, end_ns=self.end_ns,
            attributes=dict(self.attributes),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecord:
    """One trace as its root run has it so far; what stands behind ``end_ns`` is known at its end.

    ``summary`` is the small rail of the list (``traces.tallies``), JSON ready.
    """

    id: str
    run: str
    conversation: str
    assistant: str
    assistant_name: str
    user: str
    message: str
    start_ns: int
    status: str = "running"
    stop_reason: str = ""
    level: int | None = None
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    end_ns: int | None = None
    errors: int = 0
    retries: int = 0
    fell_back: bool = False
    first_token_ms: int | None = None
    duration_ms: int | None = None
    cost: float | None = None
    summary: dict[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLost:
    """The end of a run whose spans are not in memory, as its process died: they become ``lost``."""

    run: str
    at_ns: int
    status: str
    stop_reason: str
    level: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTakenOver:
    """Another process goes on with a run: what is still open of it was left by a dead one."""

    run: str
    at_ns: int


Change = SpanRecord | TraceRecord | RunLost | RunTakenOver
"""What a sink has to store: the newest state of a span or trace."""
