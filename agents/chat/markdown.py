"""A model's Markdown as HTML that is safe to show.

Place in the house: ``agents.chat``, pure. Raw HTML is shown as text, pictures become links (a
picture from afar would tell its server who reads), code is coloured with classes, and whatever is
left goes through nh3.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import lru_cache

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

CODE_CHARS = 50_000
"""Longer code is shown without colours: a lexer may take its time."""

_TAGS = frozenset(
    {"a", "abbr", "b", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5"}
    | {"h6", "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "td": {"class"},
    "th": {"class", "scope"},
    "span": {"class"},
    "pre": {"class", "tabindex"},
    "table": {"class"},
    "div": {"class", "tabindex"},
}
_SCHEMES = {"http", "https", "mailto"}
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="hl-")


@lru_cache(maxsize=512)
def render_markdown(text: str) -> SafeString:
    """The HTML of a message's Markdown."""
    html = nh3.clean(
        _MARKDOWN.render(text),
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        link_rel="noopener noreferrer nofollow",
        url_schemes=set(_SCHEMES),
        url_relative="deny",
    )
    # Cleaned by nh3 just above.
    return mark_safe(html)


def highlight_code(code: str, language: str) -> str:
    """Code as HTML with the classes of pygments; plain where the language is not known."""
    if not language or len(code) > CODE_CHARS:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return highlight(code, lexer, _FORMATTER)


def _fence(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    token = tokens[place]
    language = token.info.split()[0] if token.info.split() else ""
    code = highlight_code(token.content, language)
    return f'<pre class="code" tabindex="0"><code>{code}</code></pre>\n'


def _image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    token = tokens[place]
    source = str(token.attrGet("src") or "")
    name = token.content or source
    return f'<a href="{escape(source)}">{escape(name)}</a>'


def _table_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    return '<div class="wide" tabindex="0"><table class="t">'


def _table_close(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    return "</table></div>"


def _cell_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """A cell whose alignment is a class: the policy allows no style attributes."""
    token = tokens[place]
    align = str(token.attrGet("style") or "").removeprefix("text-align:")
    name = {"right": ' class="r"', "center": ' class="c"'}.get(align, "")
    return f"<{token.tag}{name}>"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": True})
    parser.enable(["table", "strikethrough", "linkify"])
    if parser.linkify is not None:
        # Only what is written as an address: "readme.md" is none.
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    for name in ("td_open", "th_open"):
        parser.add_render_rule(name, _cell_open)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


_MARKDOWN = _parser()
