"""The right side: turn rail, budget, the list of what took time.

Place in the house: ``agents.chat``, pure. The rail's width is time; calls at the same time lie in
lanes. Numbers for the SVG are percentages and pixels, so that no style attribute is needed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.chat.endings import ending_words, limits_of
from agents.chat.formats import count, duration, language, seconds
from agents.chat.page_models import (
    BudgetLine,
    RailBar,
    RailLine,
    RailTurn,
    RailView,
    RunRail,
)
from agents.chat.rail_bars import Bar, lanes, live_bars, stored_bars
from agents.chat.rows import RunRows
from agents.chat.states import call_state, run_state
from agents.chat.steps import text_of_message, turn_title
from agents.models import RunStatus
from agents.runs.live import LiveRun

TOP, HEIGHT = 8.0, 54.0
"""Where the bars of the rail stand, in pixels."""

NODE_WIDTH, TIME_WIDTH = 4.0, 17.0
"""Turns narrower than this (percent) have no room for their number, or for their time."""

KINDS = {
    "P": ("kp", "policy"),
    "M": ("km", "model"),
    "C": ("kc", "tool call"),
    "F": ("kf", "fallback"),
    "W": ("kr", "retry"),
}
_LETTERS = {"W": "R"}


def rail_view(runs: Sequence[RunRows], lives: Mapping[str, LiveRun]) -> RailView:
    """The newest run in full, the ones before it as thin rails, newest first."""
    if not runs:
        return RailView(now=None, past=())
    past = [run_rail(rows, None) for rows in reversed(runs[:-1])]
    return RailView(now=run_rail(runs[-1], lives.get(runs[-1].run.pk)), past=past)


def run_rail(rows: RunRows, live: LiveRun | None) -> RunRail:
    """The rail of one run."""
    bars = live_bars(live) if live is not None else stored_bars(rows)
    now = _now(rows, live, bars)
    run = rows.run
    title = text_of_message(run.message) if run.message is not None else ""
    is_waiting = live is not None and bool(live.waiting)
    name = "waiting" if is_waiting and run.status == RunStatus.RUNNING else run.status
    return RunRail(
        run_id=run.pk,
        running_ms=round(now) if run.status == RunStatus.RUNNING else 0,
        title=title,
        lang=language(title),
        state=run_state(name),
        ending=ending_words(run),
        letter="F" if (run.level or 1) > 1 else "",
        time=duration(now),
        turns=_turns(rows, bars, now),
        lines=_lines(rows, live, bars, now),
        budget=_budget(rows, live, now),
    )


def _now(rows: RunRows, live: LiveRun | None, bars: Sequence[Bar]) -> float:
    """Where the axis ends, in milliseconds from the start."""
    run = rows.run
    latest = max((bar.end or bar.start for bar in bars), default=0.0)
    if run.status == RunStatus.RUNNING:
        if live is not None and live.started_ns:
            return max(latest, (time.time_ns() - live.started_ns) / 1e6)
        if run.started_at is not None:
            return max(latest, time.time() * 1000 - run.started_at.timestamp() * 1000)
        return latest
    if run.started_at is not None and run.finished_at is not None:
        return max(latest, (run.finished_at - run.started_at).total_seconds() * 1000)
    return latest


def _turns(rows: RunRows, bars: Sequence[Bar], now: float) -> list[RailTurn]:
    nodes = list(dict.fromkeys(bar.turn for bar in bars))
    starts = [min(bar.start for bar in bars if bar.turn == node) for node in nodes]
    ends = [*starts[1:], now][: len(nodes)]
    is_running = rows.run.status == RunStatus.RUNNING
    return [
        _turn(
            rows,
            node,
            [bar for bar in bars if bar.turn == node and bar.kind != "P"],
            (start, max(end, start)),
            now,
            is_now=is_running and place == len(nodes) - 1,
        )
        for place, (node, start, end) in enumerate(zip(nodes, starts, ends, strict=True))
    ]


def _turn(
    rows: RunRows,
    node: str,
    bars: Sequence[Bar],
    span: tuple[float, float],
    now: float,
    *,
    is_now: bool,
) -> RailTurn:
    start, end = span
    calls = _call_count(bars)
    width = _share(end - start, now)
    label = f"{turn_title(node)}: {duration(end - start)}"
    if calls:
        label += ", " + ngettext("%(n)d tool call", "%(n)d tool calls", calls) % {"n": calls}
    return RailTurn(
        node=node,
        href=f"#step-{rows.run.pk}-{node}",
        label=label,
        x=_percent(_share(start, now)),
        width=_percent(width),
        time=duration(end - start) if width >= TIME_WIDTH else "",
        shows_label=width >= NODE_WIDTH,
        is_now=is_now,
        bars=[_rail_bar(bar, lane, of, now) for bar, lane, of in lanes(bars, now)],
    )


def _call_count(bars: Sequence[Bar]) -> int:
    """How many calls these bars are of: one that waited for a person has two."""
    return len({bar.key for bar in bars if bar.kind == "C"})


def _rail_bar(bar: Bar, lane: int, of: int, now: float) -> RailBar:
    gap = 1.5 if of > 1 else 0.0
    height = (HEIGHT - gap * (of - 1)) / of
    return _bar(bar, now, y=TOP + lane * (height + gap), height=height)


def _bar(bar: Bar, now: float, *, y: float, height: float) -> RailBar:
    end = now if bar.end is None else bar.end
    pattern = "b"
    if bar.is_waiting:
        pattern = "wait"
    elif bar.end is None:
        pattern = "b-run"
    return RailBar(
        x=_percent(_share(bar.start, now)),
        width=_percent(max(0.6, _share(end - bar.start, now) - 0.15)),
        y=f"{y:.1f}",
        height=f"{height:.1f}",
        kind=KINDS[bar.kind][0],
        pattern=pattern,
        is_bad=bar.is_bad,
    )


def _share(value: float, whole: float) -> float:
    return 100.0 * value / whole if whole > 0 else 0.0


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def _lines(rows: RunRows, live: LiveRun | None, bars: Sequence[Bar], now: float) -> list[RailLine]:
    lines: list[RailLine] = []
    nodes = list(dict.fromkeys(bar.turn for bar in bars))
    for place, node in enumerate(nodes):
        own = [bar for bar in bars if bar.turn == node]
        end = max(now if bar.end is None else bar.end for bar in own)
        took = duration(end - min(bar.start for bar in own))
        lines.append(RailLine(kind="turn", text=turn_title(node), time=took))
        lines += [_line(rows, live, bar, now, _calls_after(own, at)) for at, bar in enumerate(own)]
        why = _why(rows, live, own, is_last=place == len(nodes) - 1)
        if why is not None:
            lines.append(why)
    return lines


def _calls_after(bars: Sequence[Bar], place: int) -> int:
    """How many calls followed the model's bar at this place."""
    rest = bars[place + 1 :]
    end = next((at for at, bar in enumerate(rest) if bar.kind in "MF"), len(rest))
    return _call_count(rest[:end])


def _line(rows: RunRows, live: LiveRun | None, bar: Bar, now: float, calls_after: int) -> RailLine:
    is_open = bar.end is None
    running = "awaiting_approval" if bar.is_waiting and bar.kind == "C" else "running"
    detail = bar.detail
    if bar.kind == "M" and calls_after:
        detail = ngettext("%(n)d call", "%(n)d calls", calls_after) % {"n": calls_after}
    if bar.kind == "P" and live is not None:
        detail = _("%(n)d left out") % {"n": live.left_out}
    text = bar.label
    if bar.kind == "P" and live is not None:
        text = ngettext("%(n)d tool offered", "%(n)d tools offered", live.offered) % {
            "n": live.offered
        }
    if bar.kind == "C" and bar.is_waiting and not is_open:
        detail = _("waited for a person")
    if bar.kind == "W":
        detail = _("waits, then tries again")
    took = (now if bar.end is None else bar.end) - bar.start
    css, title = KINDS[bar.kind]
    return RailLine(
        kind="bar",
        text=text,
        detail=detail,
        time=duration(took),
        letter=_LETTERS.get(bar.kind, bar.kind),
        letter_class=css,
        letter_title=_kind_title(title),
        state=call_state(running) if is_open else call_state("tool_error") if bar.is_bad else None,
        bar=_bar(bar, now, y=4, height=8),
        href=f"#step-{rows.run.pk}-{bar.turn}",
        elapsed_ms=round(took) if is_open else None,
        is_now=is_open,
        lang=language(text),
    )


def _kind_title(name: str) -> str:
    return {
        "policy": _("policy"),
        "model": _("model"),
        "tool call": _("tool call"),
        "fallback": _("fallback"),
        "retry": _("retry"),
    }[name]


def _why(
    rows: RunRows, live: LiveRun | None, own: Sequence[Bar], *, is_last: bool
) -> RailLine | None:
    """Why the loop went on after a turn, or what it waits for."""
    calls = _call_count(own)
    waiting = sum(bar.kind == "C" and bar.is_waiting and bar.end is None for bar in own)
    if waiting:
        text = ngettext(
            "waiting: %(n)d call needs approval", "waiting: %(n)d calls need approval", waiting
        ) % {"n": waiting}
        return RailLine(kind="why", text=text, state=call_state("awaiting_approval"))
    if not is_last and calls:
        text = ngettext(
            "continued: %(n)d tool call answered", "continued: %(n)d tool calls answered", calls
        ) % {"n": calls}
        return RailLine(kind="why", text=text)
    if is_last and rows.run.status != RunStatus.RUNNING:
        return RailLine(kind="why", text=ending_words(rows.run), state=run_state(rows.run.status))
    return None


def _budget(rows: RunRows, live: LiveRun | None, now: float) -> list[BudgetLine]:
    run, limits = rows.run, limits_of(rows.run) or (live.limits if live is not None else {})
    turn = run.turns
    if live is not None:
        turn = int(live.turn) if live.turn.isdigit() else _number(limits.get("max_turn"))
    tokens_in = live.input_tokens if live is not None else run.input_tokens
    tokens_out = live.output_tokens if live is not None else run.output_tokens
    spent = _("%(in)s in, %(out)s out") % {"in": count(tokens_in), "out": count(tokens_out)}
    return [
        _budget_line(_("turns"), turn, _number(limits.get("max_turn"))),
        _time_line(rows, now, _number(limits.get("run_timeout_seconds"))),
        BudgetLine(
            name=_("tokens"),
            text=spent,
            value=tokens_in + tokens_out,
            limit=_number(limits.get("max_run_tokens")),
        ),
    ]


def _budget_line(name: str, value: float, limit: float) -> BudgetLine:
    """How much of a limit is used."""
    text = count(value)
    if limit:
        text = _("%(n)s of %(limit)s") % {"n": text, "limit": count(limit)}
    is_full = bool(limit) and value >= limit
    return BudgetLine(name=name, text=text, value=value, limit=limit, is_full=is_full)


def _time_line(rows: RunRows, now: float, limit: float) -> BudgetLine:
    """The time used; where the run is going on, a clock stands before the text."""
    used = round(now / 1000, 1)
    is_running = rows.run.status == RunStatus.RUNNING
    if is_running:
        text = _("of %(limit)s") % {"limit": seconds(limit)} if limit else ""
    elif limit:
        text = _("%(n)s of %(limit)s") % {"n": f"{used:g}", "limit": seconds(limit)}
    else:
        text = seconds(used)
    return BudgetLine(
        name=_("time"),
        text=text,
        value=used,
        limit=limit,
        is_full=bool(limit) and used >= limit,
        elapsed_ms=round(now) if is_running else None,
    )


def _number(value: object) -> int | float:
    return value if isinstance(value, int | float) else 0
