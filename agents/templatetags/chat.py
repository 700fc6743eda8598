"""Small marks for the chat's templates: icons, language attributes, times.

Place in the house: ``agents``, used by templates only.
"""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, css: str = "i") -> SafeString:
    """An icon of the page's sprite, hidden from screen readers: a word stands beside it."""
    return format_html('<svg class="{}" aria-hidden="true"><use href="#i-{}"/></svg>', css, name)


@register.filter
def lang(code: str) -> SafeString | str:
    """`` lang="zh"`` for a language tag, nothing for an empty one."""
    return format_html(' lang="{}"', code) if code else ""


@register.simple_tag
def moment(at: datetime, style: str = "time") -> SafeString:
    """A ``<time>`` that the page turns into the reader's zone: ``time`` or ``date``."""
    local = timezone.localtime(at)
    words = local.strftime("%H:%M" if style == "time" else "%Y-%m-%d %H:%M")
    return format_html(
        '<time datetime="{}" data-style="{}">{}</time>', local.isoformat(), style, words
    )
