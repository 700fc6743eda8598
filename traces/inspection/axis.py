"""The time axis that all bars of a trace share.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from traces.inspection.formats import NS_PER_MS, place
from traces.inspection.reading import Reading
from traces.inspection.view_models import AxisView, TickView

MAX_TICKS = 7
"""Ticks on the axis; more would touch each other."""

LAST_TICK = 0.96
"""A tick further right would have no room for its text."""

_STEPS = (1, 2, 5)


def axis_view(reading: Reading) -> AxisView:
    """The axis with ticks at round times."""
    length = reading.end_ns - reading.start_ns
    return AxisView(start_ns=reading.start_ns, length_ns=length, ticks=_ticks(length))


def share(reading: Reading, at_ns: float) -> float:
    """Where a moment lies on the axis, from 0 to 1."""
    length = reading.end_ns - reading.start_ns
    return min(max((at_ns - reading.start_ns) / length, 0.0), 1.0) if length else 0.0


def _ticks(length: int) -> tuple[TickView, ...]:
    if length <= 0:
        return (TickView(x=place(0), text=_tick_text(0, NS_PER_MS)),)
    step = _step(length)
    count = int(length / step)
    return tuple(
        TickView(x=place(i * step / length), text=_tick_text(i * step, step))
        for i in range(count + 1)
        if i * step / length <= LAST_TICK
    )


def _step(length: int) -> int:
    """The smallest round step in nanoseconds that gives at most ``MAX_TICKS`` ticks."""
    unit = 1
    if length > 600 * 1000 * NS_PER_MS:
        return _step_in(length, 60 * 1000 * NS_PER_MS)
    while True:
        for factor in _STEPS:
            if length / (factor * unit) <= MAX_TICKS:
                return factor * unit
        unit *= 10


def _step_in(length: int, unit: int) -> int:
    factors = (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440)
    fitting = (f * unit for f in factors if length / (f * unit) <= MAX_TICKS)
    return next(fitting, -(-length // MAX_TICKS))


def _tick_text(at: int, step: int) -> str:
    if step >= 60 * 1000 * NS_PER_MS:
        return _("%(n)d min") % {"n": round(at / (60 * 1000 * NS_PER_MS))}
    if step >= 100 * NS_PER_MS:
        return _("%(n)s s") % {"n": f"{at / (1000 * NS_PER_MS):g}"}
    return _("%(n)s ms") % {"n": f"{at / NS_PER_MS:g}"}
