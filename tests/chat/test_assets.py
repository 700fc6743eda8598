"""Scripts, styles and translations: small, complete, nothing inline."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
CATALOG = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
BUDGET_BYTES = 200_000

MARKED = re.compile(r"""(?:gettext_lazy|\b_)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)""")
NUMBERED = re.compile(r"""ngettext\(\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")""")
TRANSLATED = re.compile(r"""\{% translate ["'](.+?)["'](?: context ["'](.+?)["'])? %\}""")


def used_texts() -> set[str]:
    found = {match[1] for path in TEMPLATES for match in TRANSLATED.finditer(path.read_text())}
    for path in [*sorted((ROOT / "agents").glob("chat/*.py")), ROOT / "agents" / "views.py"]:
        text = path.read_text()
        for match in MARKED.finditer(text):
            found.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])))
        found |= {match[1].strip('"') for match in NUMBERED.finditer(text)}
    return found


def test_scripts_and_styles_of_the_chat_stay_small() -> None:
    files = [*(ROOT / "static" / "js").glob("*.js"), *(ROOT / "static" / "css").glob("*.css")]
    assert sum(path.stat().st_size for path in files) < BUDGET_BYTES


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_inline_scripts_or_styles(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|\|safe\b", text)


@pytest.mark.parametrize("path", sorted((ROOT / "static").rglob("*.*")), ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    hosts = set(re.findall(r"https?://([^/\"'\s)]+)", path.read_text()))
    assert hosts <= {"www.w3.org"}


def test_scripts_write_text_as_text() -> None:
    for path in (ROOT / "static" / "js").glob("*.js"):
        text = path.read_text()
        assert "eval(" not in text
        assert "document.write" not in text
        assert "insertAdjacentHTML" not in text
        if path.name not in ("fragments.js", "side.js"):
            assert "innerHTML" not in text, path.name


def test_every_text_of_the_pages_is_translated() -> None:
    with (CATALOG / "django.mo").open("rb") as file:
        catalog = gettext.GNUTranslations(file)
    texts = used_texts()
    assert len(texts) > 150
    known = {key[0] if isinstance(key, tuple) else key for key in catalog._catalog}
    known = {key.split("\x04")[-1] for key in known if isinstance(key, str)}
    assert sorted(texts - known) == []


def test_the_compiled_catalog_is_that_of_the_source() -> None:
    source = (CATALOG / "django.po").read_text()
    assert not re.search(r'^msgstr(\[0\])? ""\n\n', source.split("\n\n", 1)[1], re.MULTILINE)
    with (CATALOG / "django.mo").open("rb") as file:
        catalog = gettext.GNUTranslations(file)
    for match in re.finditer(r'^msgid "(.+)"\nmsgstr "(.+)"$', source, re.MULTILINE):
        text, translated = (match[n].replace('\\"', '"') for n in (1, 2))
        assert catalog.gettext(text) in (translated, text) or "msgctxt" in source
    assert source.count("\nmsgid ") - 1 == len(
        {key if isinstance(key, str) else key[0] for key in catalog._catalog if key}
    )
