"""What the page of a conversation shows besides its messages, and the page as a whole.

Place in the house: ``agents.chat``; frozen values as in ``view_models``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.chat.view_models import AssistantIntro, LogItem, QueuedView, StateView, StatusView


@dataclass(frozen=True, slots=True, kw_only=True)
class RailBar:
    """A rectangle of the turn rail; ``x`` and ``width`` are percentages, ``y``, ``height`` px."""

    x: str
    width: str
    y: str
    height: str
    kind: str
    pattern: str
    is_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RailTurn:
    """One turn of the rail."""

    node: str
    href: str
    label: str
    x: str
    width: str
    time: str
    shows_label: bool
    is_now: bool
    bars: Sequence[RailBar]


@dataclass(frozen=True, slots=True, kw_only=True)
class RailLine:
    """One line of the list under the rail. ``kind`` is ``turn``, ``bar`` or ``why``."""

    kind: str
    text: str
    detail: str = ""
    time: str = ""
    letter: str = ""
    letter_class: str = ""
    letter_title: str = ""
    state: StateView | None = None
    bar: RailBar | None = None
    href: str = ""
    elapsed_ms: int | None = None
    is_now: bool = False
    lang: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """How much of a limit is used. ``limit`` 0 means none; ``elapsed_ms`` is set where a clock runs
    before the text."""

    name: str
    text: str
    value: float
    limit: float
    is_full: bool = False
    elapsed_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRail:
    """The rail of one run. ``running_ms`` is how long its axis is, 0 where it has ended."""

    run_id: str
    running_ms: int
    title: str
    lang: str
    state: StateView
    ending: str
    letter: str
    time: str
    turns: Sequence[RailTurn]
    lines: Sequence[RailLine]
    budget: Sequence[BudgetLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class RailView:
    """The right side: the newest run, and the ones before."""

    now: RunRail | None
    past: Sequence[RunRail]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """Everything on the page of one conversation. ``seq`` numbers what it shows."""

    id: str
    title: str
    title_lang: str
    is_pinned: bool
    intro: AssistantIntro
    items: Sequence[LogItem]
    status: StatusView | None
    queue: Sequence[QueuedView]
    rail: RailView
    seq: int
