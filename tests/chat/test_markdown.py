"""A model's Markdown: what is shown, and what never gets through."""

from __future__ import annotations

import re

import pytest

from agents.chat.markdown import render_markdown

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](https://evil.example/pixel.png)",
    '![x"onerror="alert(1)](https://evil.example/a.png)',
    '[x](https://a.example/"onmouseover="alert(1))',
    '[x](<https://a.example/" onmouseover="alert(1)>)',
    "<javascript:alert(1)>",
    '```"><script>alert(1)</script>\ncode\n```',
    '```html" onmouseover="alert(1)\n<b>\n```',
    "    <script>alert(1)</script>",
    "| <img src=x onerror=alert(1)> |\n| - |\n| <script>x</script> |",
    "<iframe src=//evil.example>",
    "<style>body{display:none}</style>",
    "<form action=//evil.example><input name=p></form>",
    "[a]: javascript:alert(1)\n\n[a]",
    "<details open ontoggle=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "[x](//evil.example)",
    "[x](/admin/logout/)",
    "`<script>alert(1)</script>`",
]

ELEMENT = re.compile(r"<[a-z][^>]*>", re.IGNORECASE)
HARMFUL = re.compile(
    r"<(script|img|svg|iframe|style|form|input|details|math|object|embed|link|meta|base)\b"
    r"|\son\w+\s*=|(href|src)\s*=\s*[\"']?\s*(javascript|data|vbscript|/)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_runs_or_loads_gets_through(attack: str) -> None:
    html = render_markdown(attack)
    for element in ELEMENT.findall(html):
        assert not HARMFUL.search(element), html


def test_links_open_elsewhere_and_pass_nothing_on() -> None:
    assert render_markdown("[x](https://a.example/b)") == (
        '<p><a href="https://a.example/b" target="_blank" '
        'rel="noopener noreferrer nofollow">x</a></p>\n'
    )


def test_a_picture_from_afar_is_a_link() -> None:
    html = render_markdown("![a map](https://a.example/map.png)")
    assert '<a href="https://a.example/map.png"' in html
    assert ">a map</a>" in html
    assert "<img" not in html


def test_code_is_coloured_by_classes() -> None:
    html = render_markdown("```python\nreturn 1\n```")
    assert '<span class="hl-k">return</span>' in html
    assert "style=" not in html


def test_code_of_an_unknown_language_stays_as_it_is() -> None:
    assert render_markdown("```nonsense\na < b\n```") == (
        '<pre class="code" tabindex="0"><code>a &lt; b\n</code></pre>\n'
    )


def test_tables_can_be_scrolled_sideways() -> None:
    html = render_markdown("| a | b |\n| - | - |\n| 1 | 2 |\n")
    assert '<div class="wide" tabindex="0"><table class="t">' in html
    assert "<td>2</td>" in html


def test_html_is_shown_as_text() -> None:
    assert render_markdown("<b>x</b>") == "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"


def test_columns_keep_their_alignment() -> None:
    html = render_markdown("| a | b | c |\n| - | -: | :-: |\n| 1 | 2 | 3 |")
    assert '<th class="r">b</th>' in html
    assert '<td>1</td>\n<td class="r">2</td>\n<td class="c">3</td>' in html


def test_what_is_written_as_an_address_is_a_link() -> None:
    html = render_markdown("See https://a.example/b_c and readme.md, a@b.example.")
    assert html.count("<a ") == 1
    assert 'href="https://a.example/b_c"' in html
