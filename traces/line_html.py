"""The lines of the tree as HTML.

Place in the house: ``traces``; used by the page, its pieces and its socket. A template would take
ten times as long, and there may be thousands of lines. Everything that is no number of ours is
escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django.utils.safestring import SafeString, mark_safe

from traces.inspection.view_models import (
    BarView,
    BlockView,
    KindView,
    LineView,
    RowView,
    SentenceView,
)


def lines_html(lines: Iterable[LineView], chosen: str = "") -> SafeString:
    """All lines in order; ``chosen`` is the selected span."""
    # Every part is escaped where it is made.
    return mark_safe("".join(line_html(line, chosen) for line in lines))


def line_html(line: LineView, chosen: str = "") -> str:
    """One line: a row, or a sentence."""
    if line.row is not None:
        return _row(line.row, is_chosen=line.row.id == chosen)
    return _sentence(line.sentence) if line.sentence is not None else ""


def bars_html(bars: Iterable[BarView]) -> SafeString:
    """Bars as they stand in a lane or a block."""
    # Every part is escaped where it is made.
    return mark_safe("".join(_bar(bar) for bar in bars))


def plain_blocks_html(blocks: Iterable[BlockView]) -> SafeString:
    """Blocks of the rail that are nothing but a way to their turns."""
    # Every part is escaped where it is made.
    return mark_safe("".join(_plain_block(block) for block in blocks))


def ticks_html(text: str) -> str:
    """A sentence in which what stands between back quotes is code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        # A quote without its fellow belongs to the text.
        pieces[-2:] = ["`".join(pieces[-2:])]
    return "".join(
        f"<code>{escape(piece)}</code>" if place % 2 else escape(piece)
        for place, piece in enumerate(pieces)
    )


def _row(row: RowView, *, is_chosen: bool) -> str:
    can_open = row.has_children or bool(row.hidden)
    expanded = f' aria-expanded="{"false" if row.hidden else "true"}"' if can_open else ""
    described = f' aria-describedby="{escape(row.sentence)}"' if row.sentence else ""
    clock = f' data-elapsed="{row.duration_ms:.0f}"' if row.is_running else ""
    bars = "".join(_bar(bar) for bar in row.bars)
    return (
        f'<a class="tr l{row.level}{" bad" if row.is_bad else ""}" id="row-{escape(row.id)}"'
        f' href="{escape(row.href)}" role="treeitem" aria-level="{row.level}"'
        f' aria-setsize="{row.set_size}" aria-posinset="{row.position}"'
        f' aria-selected="{"true" if is_chosen else "false"}"{expanded}'
        f' tabindex="{0 if is_chosen else -1}" data-said="{escape(row.label)}"{described}'
        f' data-span="{escape(row.id)}" data-parent="{escape(row.parent)}"'
        f' data-kind="{escape(row.kind.name)}" data-turn="{escape(row.turn)}"'
        f' data-level="{row.level}"{_marks(row)}>'
        f'<span class="tr-n">{_icon("down", "i i-s tw") if can_open else _NO_TWIST}'
        f'{_kind(row.kind)}<span class="sr">{escape(row.kind.word)} </span>'
        f"{_name(row)}{_state(row)}</span>"
        f'<span class="tr-d num"{clock}>{escape(row.time)}</span>'
        f'<span class="tr-k num">{"≈" if row.tokens_estimated else ""}{escape(row.tokens)}</span>'
        f'<span class="tr-l"><svg class="lane zoomed" width="100%" height="28" aria-hidden="true">'
        f"{bars}</svg></span></a>\n"
    )


def _marks(row: RowView) -> str:
    """What the page's script has to know of a row."""
    marks = " data-running" if row.is_running else ""
    if row.is_stop:
        marks += " data-stop"
    if row.hides_stop:
        marks += " data-stops"
    if row.kind.name in ("turn", "fallback"):
        marks += f' data-order="{row.order}"'
    if row.is_window:
        marks += " data-window"
    if row.hidden:
        marks += " data-folded"
    return f'{marks} data-errors="{row.hidden_errors}"' if row.hidden_errors else marks


_NO_TWIST = '<span class="tw"></span>'


def _name(row: RowView) -> str:
    argument = note = hidden = ""
    if row.argument:
        css = ' class="j-bad"' if row.argument_is_bad else ""
        argument = f" <code{css}>{escape(row.argument)}</code>"
    if row.note:
        note = f' <span class="muted">{escape(row.note)}</span>'
    if row.hidden_text:
        hidden = f' <span class="muted tr-more">{escape(row.hidden_text)}</span>'
    return f'<span class="clip"><b>{escape(row.title)}</b>{argument}{note}{hidden}</span>'


def _state(row: RowView) -> str:
    state = row.state
    if state is None:
        return ""
    css = "st-w sr" if state.name == "ok" else "st-w"
    icon = _icon(state.icon, "i i-s")
    word = f'<span class="{css}">{escape(state.word)}</span>'
    return f'<span class="st {escape(state.family)}">{icon}{word}</span>'


def _sentence(sentence: SentenceView) -> str:
    kind = sentence.kind
    css = f" {escape(kind.css)}-say" if kind is not None else ""
    mark = _kind(kind) if kind is not None else _icon(sentence.icon or "loop", "i i-s")
    return (
        f'<p class="why w{sentence.level}{css} {escape(sentence.family)}"'
        f' id="{escape(sentence.id)}" data-of="{escape(sentence.of)}"'
        f' data-level="{sentence.level}" role="none">{mark}'
        f"<span>{ticks_html(sentence.text)}</span></p>\n"
    )


def _plain_block(block: BlockView) -> str:
    css = "b kf" if block.number == "F" else "b-bad" if block.is_bad else "b km"
    current = ' aria-current="true"' if block.is_selected else ""
    place = f'x="{block.x}" width="{block.width}"'
    return (
        f'<a href="{escape(block.href)}" class="rail-turn" data-jump data-block="{block.first}"'
        f' data-until="{block.last}" aria-label="{escape(block.label)}"{current}>'
        f'<rect class="rail-hit" {place} height="90"/>'
        f'<rect class="{css}" {place} y="{block.top}" height="90"/>'
        f'<rect class="rail-sel" {place} y="91" height="3"/></a>'
    )


def _kind(kind: KindView) -> str:
    letter, css, word = escape(kind.letter), escape(kind.css), escape(kind.word)
    return f'<abbr class="k {css}" title="{word}">{letter}</abbr>'


def _icon(name: str, css: str) -> str:
    return f'<svg class="{css}" aria-hidden="true"><use href="#i-{escape(name)}"/></svg>'


def _bar(bar: BarView) -> str:
    fill = 'fill="url(#hatch)"' if bar.look == "hatch" else f'class="{escape(bar.css)}"'
    corner = ' rx="1"' if bar.look in ("solid", "soft") else ""
    title = f"<title>{escape(bar.title)}</title>" if bar.title else ""
    place = f'x="{bar.x}" width="{bar.width}" y="{bar.y}" height="{bar.height}"'
    return f"<rect {fill} {place}{corner}>{title}</rect>"
