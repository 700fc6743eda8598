"""The pieces of time of a run: from its live side, or from what is stored.

Place in the house: ``agents.chat``, pure. Stored rows tell when an answer or a result was there and
how long a call took; what lay between belongs to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agents.chat.formats import telling_argument
from agents.chat.rows import RunRows
from agents.chat.stand_ins import stand_in_model
from agents.loop.results import NOT_FAILURES
from agents.models import Message, MessageRole, Run
from agents.runs.live import LiveBar, LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A piece of time, in milliseconds from the run's start; ``end`` is ``None`` while it lasts.

    ``kind``: P policy, M model, C tool call, F fallback, W back-off. ``key`` is a call's.
    """

    kind: str
    label: str
    detail: str
    turn: str
    start: float
    end: float | None
    is_bad: bool = False
    key: str = ""
    is_waiting: bool = False


def live_bars(live: LiveRun) -> list[Bar]:
    """The bars of a run that is going on, or whose live side is still there."""
    return [_live_bar(live, bar) for bar in live.bars]


def stored_bars(rows: RunRows) -> list[Bar]:
    """The bars that stored rows tell, child runs included."""
    start = rows.run.started_at
    if start is None:
        return []
    bars: list[Bar] = []
    last = start
    for message in rows.all_messages:
        if message.role == MessageRole.TOOL:
            bars.append(_call_bar(message, start))
        else:
            bars.append(_model_bar(rows.run, message, start, last))
        last = max(last, message.created_at)
    return bars


def _live_bar(live: LiveRun, bar: LiveBar) -> Bar:
    call = live.calls.get(bar.key)
    return Bar(
        kind=bar.kind,
        label=bar.label,
        detail=telling_argument(call.arguments) if call is not None else "",
        turn=bar.turn,
        start=(bar.started_ns - live.started_ns) / 1e6,
        end=None if bar.ended_ns is None else (bar.ended_ns - live.started_ns) / 1e6,
        is_bad=bar.is_bad,
        key=bar.key,
        is_waiting=bar.is_waiting or bar.kind == "W",
    )


def _call_bar(message: Message, start: datetime) -> Bar:
    details = message.details if isinstance(message.details, dict) else {}
    server, tool = str(details.get("server") or ""), str(details.get("tool") or "")
    end = _since(start, message.created_at)
    return Bar(
        kind="C",
        label=f"{server} / {tool}" if server else tool,
        detail=telling_argument(details.get("arguments")) if details.get("arguments") else "",
        turn=message.turn or "0",
        start=max(0.0, end - (message.duration_ms or 0.0)),
        end=end,
        is_bad=message.outcome not in NOT_FAILURES,
        key=message.call_key,
    )


def _model_bar(run: Run, message: Message, start: datetime, last: datetime) -> Bar:
    is_fallback = (message.level or 1) > 1
    model = run.configuration.get("model") if isinstance(run.configuration, dict) else ""
    return Bar(
        kind="F" if is_fallback else "M",
        label=stand_in_model(message) or str(model or ""),
        detail="",
        turn=message.turn or ("F" if is_fallback else str(run.turns)),
        start=_since(start, last),
        end=_since(start, message.created_at),
    )


def _since(start: datetime, moment: datetime) -> float:
    return max(0.0, (moment - start).total_seconds() * 1000)


def lanes(bars: Sequence[Bar], now: float) -> list[tuple[Bar, int, int]]:
    """Each bar with its lane and how many lanes its company needs: what overlaps lies apart."""
    placed: list[tuple[Bar, int]] = []
    company: list[list[int]] = []
    ends: list[float] = []
    group_end = -1.0
    for bar in sorted(bars, key=lambda bar: bar.start):
        if bar.start >= group_end - 1e-6 or not company:
            company.append([])
            ends = []
        lane = next((i for i, end in enumerate(ends) if end <= bar.start + 1e-6), len(ends))
        end = now if bar.end is None else bar.end
        if lane == len(ends):
            ends.append(end)
        else:
            ends[lane] = end
        company[-1].append(len(placed))
        placed.append((bar, lane))
        group_end = max(end, group_end)
    width = {index: 1 + max(placed[i][1] for i in group) for group in company for index in group}
    return [(bar, lane, width[index]) for index, (bar, lane) in enumerate(placed)]
