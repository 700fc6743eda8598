"""The ``details`` of a message: what pages read from them has the type that they expect.

Place in the house: ``agents.transcripts``, pure. Other members are kept as they are.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from agents.runs.stored_messages import COMMAND, COMPACTION
from agents.transcripts.fields import LineReader
from agents.transcripts.records import MessageRecord

_TEXTS = ("server", "tool", "error", "source", "finish_reason", COMMAND)
_WHOLES = ("chars", "attempt")
_FLAGS = ("correctable", "truncated", "kept")
_OF_SUMMARIES = ("messages", "tokens_before", "tokens_after")


def check_details(reader: LineReader, record: MessageRecord) -> None:
    """Refuse details that a page could not show, and a system message that is no summary."""
    inner = LineReader(record.details, reader.line, "details/")
    for name in _TEXTS:
        inner.text(name)
    for name in _WHOLES:
        inner.whole(name)
    for name in _FLAGS:
        inner.flag(name)
    usage = inner.anything("usage")
    if usage is not None and not _are_counts(usage):
        inner.refuse("usage", _("two whole numbers"))
    if COMPACTION in record.details:
        _check_summary(inner, record, LineReader(inner.mapping(COMPACTION), reader.line))
    elif record.role == "system":
        # Anything else would be an instruction that no operator gave.
        reader.refuse("role", _("user, assistant or tool: a system message must be a summary"))


def _check_summary(inner: LineReader, record: MessageRecord, folded: LineReader) -> None:
    if record.role != "system" or not isinstance(record.content, str):
        inner.refuse(COMPACTION, _("left out: a summary is a text of the role system"))
    folded.text("through")
    folded.text("reason", most=100)
    for name in _OF_SUMMARIES:
        folded.whole(name)


def _are_counts(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
        and all(0 <= item < 10**12 for item in value)
    )
