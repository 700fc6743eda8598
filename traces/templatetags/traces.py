"""Small marks for the inspector's templates: moments, JSON with its colours.

Place in the house: ``traces``, used by templates only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from traces.inspection.marks import flag_word, stop_word
from traces.inspection.view_models import BarView, BlockView, LineView
from traces.line_html import bars_html, lines_html, plain_blocks_html, ticks_html

register = template.Library()

_JSON = re.compile(
    r'(?P<k>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<s>"(?:[^"\\]|\\.)*")'
    r"|(?P<n>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\btrue\b|\bfalse\b|\bnull\b)"
)


@register.simple_tag
def instant(at_ns: int) -> SafeString:
    """A ``<time>`` with seconds, which the page turns into the reader's zone."""
    at = datetime.fromtimestamp(at_ns / 1_000_000_000, UTC)
    return format_html(
        '<time datetime="{}" data-style="second">{}</time>',
        at.isoformat(timespec="milliseconds"),
        at.strftime("%H:%M:%S"),
    )


@register.filter
def ticks(text: str) -> SafeString:
    """A sentence in which what stands between back quotes is code; everything is escaped."""
    # Escaped where it is made.
    return mark_safe(ticks_html(text))


register.filter("stop_word", stop_word)
register.filter("flag_word", flag_word)


@register.simple_tag
def span_bars(bars: Iterable[BarView]) -> SafeString:
    """The bars of a block of the rail."""
    return bars_html(bars)


@register.simple_tag
def plain_blocks(blocks: Iterable[BlockView]) -> SafeString:
    """The blocks of a rail with many turns."""
    return plain_blocks_html(blocks)


@register.simple_tag
def tree_lines(lines: Iterable[LineView], chosen: str) -> SafeString:
    """The lines of the tree."""
    return lines_html(lines, chosen)


@register.filter
def json_marks(text: str) -> SafeString:
    """JSON text with its keys, texts and numbers marked; everything is escaped."""
    parts, last = [], 0
    for match in _JSON.finditer(text):
        parts.append(escape(text[last : match.start()]))
        parts.append(format_html('<span class="j-{}">{}</span>', match.lastgroup, match[0]))
        last = match.end()
    parts.append(escape(text[last:]))
    # Every part was escaped above.
    return mark_safe("".join(parts))
