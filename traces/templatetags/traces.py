"""Small marks for the inspector's templates: moments, JSON with its colours.

Place in the house: ``traces``, used by templates only.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

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
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        # A quote without its fellow belongs to the text.
        pieces[-2:] = ["`".join(pieces[-2:])]
    shown = (f"<code>{escape(p)}</code>" if i % 2 else escape(p) for i, p in enumerate(pieces))
    # Every part was escaped above.
    return mark_safe("".join(shown))


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
