"""The limits of a run: what was used when it ended, and which one acted.

Place in the house: ``traces.inspection``, pure. Counted as the engine counts (``limits`` and
guards of the loop).
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from traces.inspection.formats import count, seconds
from traces.inspection.intervals import APPROVAL, pieces_of, share_out
from traces.inspection.panel_models import LimitView
from traces.inspection.reading import (
    Reading,
    integer,
    is_failed_call,
    limits_of,
    number,
)
from traces.inspection.repeats import calls_of, main_run, same_calls
from traces.inspection.verdicts import run_end
from traces.records import SpanRecord

_ENDS = {
    "max_turns": "max_turn",
    "time": "run_timeout_seconds",
    "errors": "max_consecutive_errors",
    "repeats": "repeat_limit",
    "tokens": "max_run_tokens",
}
"""Which limit stands behind a stop reason."""


def limit_views(reading: Reading, *, window: int | None = None) -> tuple[LimitView, ...]:
    """Turns, time, errors in a row, same call again, tokens; the context where its window is
    known."""
    return tuple(_limits(reading, main_run(reading), window))


def limits_title(reading: Reading) -> str:
    """When the limits were looked at."""
    if reading.is_running:
        return _("what is left now")
    return _("what was left when the run ended")


def _limits(reading: Reading, run: str, window: int | None) -> Iterator[LimitView]:
    limits = limits_of(reading, run)
    ended = _ENDS.get(run_end(reading, reading.agents.get(run)).stop_reason, "")

    def limit(name: str, word: str, value: float, *, is_time: bool = False) -> LimitView:
        most = number(limits.get(name))
        return _limit(name, word, value, most, is_time=is_time, ended=name == ended)

    turns = [s for s in reading.spans if s.kind == "turn" and s.run == run and s.turn.isdigit()]
    same = max((len(spans) for spans in same_calls(reading, run)), default=0)
    executed = 1 if calls_of(reading, run) else 0
    requests = [s for s in reading.spans if s.kind == "model" and s.run == run]
    tokens = sum(
        integer(s, "gen_ai.usage.input_tokens") + integer(s, "gen_ai.usage.output_tokens")
        for s in requests
    )
    yield limit("max_turn", _("turns"), max((int(s.turn) for s in turns), default=0))
    yield limit("run_timeout_seconds", _("time"), _seconds_used(reading, run), is_time=True)
    yield limit("max_consecutive_errors", _("errors in a row"), _errors_in_a_row(reading, turns))
    yield limit("repeat_limit", _("same call again"), max(same, executed))
    yield limit("max_run_tokens", _("tokens"), tokens)
    if window:
        largest = max((integer(s, "gen_ai.usage.input_tokens") for s in requests), default=0)
        yield _limit("window", _("context"), largest, window, is_time=False, ended=False)


def _limit(
    name: str, word: str, value: float, most: float, *, is_time: bool, ended: bool
) -> LimitView:
    said = seconds if is_time else count
    value = round(value, 1)
    return LimitView(
        name=name,
        word=word,
        used=said(value),
        of=_("of %(limit)s") % {"limit": said(most)} if most else _("no limit"),
        value=value,
        limit=most,
        is_full=bool(most) and value >= most,
        ended=ended,
        note=_("ended the run") if ended else "",
    )


def _seconds_used(reading: Reading, run: str) -> float:
    """Seconds of a run up to its fallback, without those in which only a person was awaited."""
    agent = reading.agents.get(run)
    if agent is None:
        return 0.0
    falls = [s.start_ns for s in reading.spans if s.kind == "fallback" and s.run == run]
    end = min([reading.end_of(agent), *falls])
    own = [s for s in reading.spans if s.run == run]
    waited = share_out([piece for span in own for piece in pieces_of(reading, span)])
    return max(end - agent.start_ns - waited.get(APPROVAL, 0), 0) / 1e9


def _errors_in_a_row(reading: Reading, turns: list[SpanRecord]) -> int:
    """Turns in a row, up to the last one with calls, in which every call failed."""
    row = 0
    for turn in turns:
        calls = [s for s in reading.all_below(turn) if s.kind == "tool_call"]
        if calls:
            row = row + 1 if all(is_failed_call(span) for span in calls) else 0
    return row
