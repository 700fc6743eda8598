"""Long texts for the page: the beginning, how long the whole is, and what is missing.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

import json

from django.utils.translation import gettext as _

from traces.inspection.detail_models import TextView
from traces.inspection.formats import byte_size, count, json_text, language

SHOWN_CHARS = 20_000
"""How much of a text is given to the page."""

SHORT_CHARS = 2_000
"""How much of a message that did not change."""

JSON_CHARS = 200_000
"""Texts longer than this are not tried as JSON."""


def text_view(value: object, *, limit: int = SHOWN_CHARS) -> TextView:
    """A text as it is; any other value as indented JSON."""
    is_text = isinstance(value, str)
    whole = value if isinstance(value, str) else json_text(value)
    shown = whole[:limit]
    is_cut = len(shown) < len(whole)
    more = ""
    if is_cut:
        more = _("The first %(shown)s of %(whole)s characters are shown.") % {
            "shown": count(len(shown)),
            "whole": count(len(whole)),
        }
    return TextView(
        text=shown,
        length=len(whole),
        is_cut=is_cut,
        more=more,
        size=byte_size(len(whole.encode("utf-8", "replace"))),
        lang=language(shown[:500]),
        is_json=not is_text or _is_json(whole),
    )


def optional_text(value: object, *, limit: int = SHOWN_CHARS) -> TextView | None:
    """A text, or ``None`` where there is none."""
    return None if value is None or value == "" else text_view(value, limit=limit)


def content_text(content: object) -> str:
    """The text of a message's content; text parts joined by a newline."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return ""


def _is_json(text: str) -> bool:
    if len(text) > JSON_CHARS or text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
