"""Which model answered in place of the first one, and why, for the small line under an answer.

Place in the house: ``agents.chat``, pure. It is stored with the answer (``STAND_IN`` in its
details).
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from agents.chat.own_words import own_sentences
from agents.models import Message
from agents.runs.stored_messages import STAND_IN

MOST_CHARS = 200


def stand_in_mark(message: Message) -> str:
    """ "answered by p2, m2"; empty where the assistant's first model gave this answer."""
    if not _stored(message):
        return ""
    model = str(_stored(message).get("model") or "")
    named = ", ".join(part for part in (message.provider, model) if part)
    return _("answered by %(provider)s") % {"provider": named}


def stand_in_reasons(message: Message) -> tuple[str, ...]:
    """One line for each model that comes before it: why it did not answer."""
    found = _stored(message).get("passed_over")
    entries = found if isinstance(found, list) else []
    return tuple(_reason(one) for one in entries if isinstance(one, dict))


def _stored(message: Message) -> dict[str, object]:
    details = message.details if isinstance(message.details, dict) else {}
    found = details.get(STAND_IN)
    return found if isinstance(found, dict) else {}


def _reason(one: dict[str, object]) -> str:
    error = own_sentences(str(one.get("error") or ""))
    if len(error) > MOST_CHARS:
        error = f"{error[:MOST_CHARS]}…"
    match one.get("reason"):
        case "resting":
            words = _("%(name)s rested after failures: %(error)s")
        case "key":
            words = _("The key of %(name)s had been refused: %(error)s")
        case "billing":
            words = _("The account of %(name)s could not pay: %(error)s")
        case "unusable":
            words = _("%(name)s could not be asked: %(error)s")
        case _:
            words = _("%(name)s did not answer: %(error)s")
    named = ", ".join(str(one[key]) for key in ("provider", "model") if one.get(key))
    return words % {"name": named, "error": error}
