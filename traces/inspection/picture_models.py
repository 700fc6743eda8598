"""What the pictures of a whole trace show: timeline and flame, as ready-to-print values.

Place in the house: ``traces.inspection``, at the bottom. ``x`` and ``width`` are percentages on the
shared time axis, ``y`` and ``height`` pixels. ``note`` says what is not drawn, empty where all is.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.inspection.view_models import AxisView, BarView, KindView


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockView:
    """One span in a picture: a link with its bars.

    ``label`` is its accessible name, ``x`` and ``width`` what can be hit; ``y`` is where its bars
    begin. ``text`` stands on it where there is room, from ``text_x`` on and at most ``text_width``
    wide; ``text_css`` are its classes.
    """

    span: str
    href: str
    label: str
    x: str
    width: str
    y: str
    bars: tuple[BarView, ...]
    is_selected: bool
    text: str = ""
    text_x: str = ""
    text_width: str = ""
    text_css: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    """One lane of the timeline: a kind of span, or the calls of one server. ``note`` counts."""

    kind: KindView
    title: str
    note: str
    height: str
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """All spans in lanes, in the order of time."""

    axis: AxisView
    lanes: tuple[LaneView, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlameView:
    """All spans, each below the one that it belongs to."""

    axis: AxisView
    height: str
    blocks: tuple[BlockView, ...]
    note: str
