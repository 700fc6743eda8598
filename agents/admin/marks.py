"""Small marks for lists and pages: states, JSON, moments.

Place in the house: ``agents.admin``. Everything that comes from data is escaped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.models import Server
from agents.templatetags.chat import icon

WORD_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMark:
    """A state: family (``ok``, ``bad``, ``off``), icon, word, and all of it where it was cut."""

    family: str
    icon: str
    word: str
    whole: str = ""


def state(family: str, mark: str, word: object) -> SafeString:
    """A state as an icon and a word in one colour."""
    return format_html('<span class="st s-{}">{}{}</span>', family, icon(mark, "i i-s"), word)


def server_state(server: Server) -> StateMark:
    """How a server was when it was last asked."""
    if server.last_error:
        return StateMark(
            family="bad", icon="unplugged", word=cut(server.last_error), whole=server.last_error
        )
    if server.checked_at is None:
        return StateMark(family="off", icon="unknown", word=_("never checked"))
    return StateMark(family="ok", icon="done", word=_("connected"))


def cut(text: str, limit: int = WORD_CHARS) -> str:
    """The text, cut with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def json_text(value: object) -> str:
    """JSON as a person reads it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def json_block(value: object) -> SafeString:
    """JSON in a block; nothing for nothing."""
    if value is None:
        return format_html('<span class="quiet">{}</span>', _("none"))
    return format_html('<pre class="data">{}</pre>', json_text(value))


def annotation_marks(annotations: object) -> list[tuple[str, str]]:
    """``(class, word)`` of what a tool says of itself; a hint by the server, no proof."""
    hints = annotations if isinstance(annotations, dict) else {}
    if hints.get("readOnlyHint") is True:
        return [("ann", _("read-only"))]
    marks = []
    if hints.get("destructiveHint") is True:
        marks.append(("ann warn", _("destructive")))
    elif hints.get("readOnlyHint") is False:
        marks.append(("ann warn", _("writes")))
    if hints.get("idempotentHint") is True:
        marks.append(("ann", _("repeatable")))
    return marks
