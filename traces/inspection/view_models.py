"""What the inspector's page shows: verdict, totals, rail and tree, as ready-to-print values.

Place in the house: ``traces.inspection``, at the bottom. Texts are translated and formatted; raw
numbers stand beside them where SVG or a script needs them. ``x`` and ``width`` are percentages as
text (``"12.34%"``) on the shared time axis; ``y`` and ``height`` are pixels. ``css`` holds classes
of ``static/css/marks.css``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """How something went. ``icon`` is the name of an icon without ``i-``, ``family`` a class
    ``s-ok``, ``s-run``, ``s-wait``, ``s-bad`` or ``s-off``."""

    name: str
    word: str
    icon: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindView:
    """What something was: ``letter`` A T M R C H F P X, ``css`` its class (``km``), ``word`` its
    name. ``name`` is the stored kind."""

    name: str
    letter: str
    css: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """A way to another span; ``href`` is a query on the page of the trace."""

    text: str
    span: str
    href: str
    kind: KindView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountView:
    """A number of errors, retries or fallbacks with its unit in ``text`` ("2 errors").

    ``name`` is ``errors``, ``parameter_retries``, ``provider_retries`` or ``fallbacks``; ``spans``
    are the spans counted, in order; ``href`` leads to the first. ``count`` may be 0.
    """

    name: str
    count: int
    text: str
    family: str
    icon: str
    kind: KindView | None
    spans: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    """How the run ended in one sentence, and why.

    ``headline`` is the sentence; ``why`` is the recorded error, ``advice`` what to do (each may be
    empty). ``stop_reason`` is the stored name, ``stop_kind`` its mark (``F`` where a fallback
    answered), ``level`` "answer level 2 of 3" or empty.
    """

    headline: str
    why: str
    advice: str
    status: StateView
    stop_reason: str
    stop_kind: KindView | None
    level: str
    counts: tuple[CountView, ...]
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One part of the wall time. ``name`` is ``model``, ``tools``, ``waiting`` or ``own``.

    ``css`` are the classes of its bar; where ``is_hatched`` the bar is filled with the hatch.
    Waiting is for others: a person, a provider's back-off, the servers' lists of tools; ``detail``
    names them ("approval 1.20 s, back-off 0.40 s").
    """

    name: str
    word: str
    ns: int
    text: str
    percent: str
    x: str
    width: str
    css: str
    is_hatched: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """Tokens of all runs of the trace. ``cached`` is a part of the input, ``reasoning`` of the
    output; the texts are empty where nothing was counted. ``children`` tells what child runs used,
    which is counted in, once."""

    input_count: int
    output_count: int
    input: str
    output: str
    cached: str
    reasoning: str
    is_estimated: bool
    estimated: str
    children: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """What all runs of the trace cost; ``total`` is empty where no model has a price. ``receipt``
    has a line for each model and kind of tokens, ``note`` tells what is not in it."""

    total: str
    amount: float
    receipt: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsView:
    """The numbers of the header. The ns of ``parts`` add up to ``wall_ns``.

    ``turns`` is "5", ``turns_note`` "of 5, and the first"; ``turns_used`` of ``turns_limit`` (0
    where unknown). ``first_token`` is the time to the first token of the first request.
    """

    wall: str
    wall_ns: int
    parts: tuple[PartView, ...]
    tokens: TokensView
    cost: CostView
    first_token: str
    turns: str
    turns_note: str
    turns_used: int
    turns_limit: int
    calls: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TickView:
    """A tick of the time axis."""

    x: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisView:
    """The time axis that all bars share, from the trace's start to its end or to now."""

    start_ns: int
    length_ns: int
    ticks: tuple[TickView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarView:
    """One piece of a row's bar, in a lane of 28 pixels.

    ``look`` is ``solid``, ``soft`` (until the first token), ``tint`` (a turn's ground), ``base``
    (its line), ``hatch`` (waiting or back-off), ``run`` (going on) or ``bad`` (the red cap);
    ``css`` are the classes, empty for ``hatch``, which is filled with the pattern ``#hatch``.
    ``title`` says what it is.
    """

    look: str
    css: str
    x: str
    width: str
    y: str
    height: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
    """The sentence between two turns or before a retry.

    It belongs to the row ``of``: that row's ``aria-describedby`` is this ``id``. ``kind`` is its
    mark (R, F), else ``icon`` with ``family``. ``level`` as ``aria-level``.
    """

    id: str
    of: str
    text: str
    level: int
    kind: KindView | None = None
    icon: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One span in the tree.

    ``level`` counts from 1 as ``aria-level``; ``set_size`` and ``position`` as ARIA has them.
    ``title`` is bold, ``argument`` monospaced, ``note`` quiet. ``state`` is the state of a call or
    of a failed, running, cancelled or lost span, else ``None``. ``time`` may be a word ("not
    sent"); ``start_ms`` counts from the trace's start. ``tokens`` may be an estimate
    (``tokens_estimated``). ``sentence`` is the id for ``aria-describedby``. ``hidden`` counts rows
    below that were left out and are had by ``build_branch``, ``hidden_errors`` the failures among
    them. A row with ``is_window`` stands for many turns and is no span. ``order`` is the position
    in the trace.
    """

    id: str
    parent: str
    level: int
    set_size: int
    position: int
    has_children: bool
    kind: KindView
    title: str
    argument: str
    argument_is_bad: bool
    note: str
    state: StateView | None
    is_bad: bool
    is_stop: bool
    is_running: bool
    is_orphan: bool
    time: str
    start_ms: float
    duration_ms: float
    tokens: str
    token_count: int | None
    tokens_estimated: bool
    bars: tuple[BarView, ...]
    turn: str
    run: str
    href: str
    label: str
    sentence: str = ""
    hidden: int = 0
    hidden_text: str = ""
    hidden_errors: int = 0
    hides_stop: bool = False
    is_window: bool = False
    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    """One line of the tree: a row, or a sentence. Exactly one of the two."""

    row: RowView | None = None
    sentence: SentenceView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeView:
    """The tree, its lines in order. ``spans`` counts all spans, shown or not; ``empty`` is a
    sentence where there is nothing to show."""

    axis: AxisView
    lines: tuple[LineView, ...]
    spans: int
    hidden: int
    empty: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GlyphView:
    """A small square mark above a block of the rail: ``!`` error, ``R`` retry, ``F`` fallback,
    ``X`` compaction. ``css`` are the classes of its ground, ``x`` and ``y`` its upper left."""

    letter: str
    css: str
    text_css: str
    x: str
    y: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockView:
    """One turn on the rail, or several in a row. ``bars`` lie in lanes where calls ran at once.

    ``first`` and ``last`` are the positions of its turns in the trace. ``id`` is the (first) turn's
    span, ``number`` what stands below it ("0", "F"), ``label`` its accessible name. ``x`` and
    ``width`` are the block's; ``top`` is its upper edge in pixels (the ground is at 90 of 120).
    """

    id: str
    first: int
    last: int
    number: str
    label: str
    time: str
    tokens: str
    href: str
    x: str
    width: str
    top: str
    bars: tuple[BarView, ...]
    glyphs: tuple[GlyphView, ...]
    is_selected: bool
    is_running: bool
    is_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RailView:
    """The turn rail of one run, in a picture 120 pixels high.

    ``cap`` is the number at the upper line ("12,288"): the window where it is known
    (``is_window``), else the largest request. ``cap_y`` is its line. ``blocks`` is empty where
    there is no turn. Where turns are many their blocks are plain (``is_plain``): no bars, no marks;
    where one block is several turns ``note`` says of how many.
    """

    blocks: tuple[BlockView, ...]
    cap: str
    cap_y: str
    is_window: bool
    label: str
    is_plain: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """Everything above the panels. ``started_ms`` is the start in milliseconds since 1970.

    ``selected`` is the span whose details stand on the right: the one asked for, else the one that
    tells most. ``turn`` is its turn. ``error_spans`` are the failed spans in order, ``turn_spans``
    the turns of the root run in order, for the keys.
    """

    trace: str
    message: str
    assistant: str
    started_ms: int
    verdict: VerdictView
    totals: TotalsView
    rail: RailView
    tree: TreeView
    selected: str
    turn: str
    error_spans: tuple[str, ...]
    turn_spans: tuple[str, ...]
    is_running: bool
