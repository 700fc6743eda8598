"""What went over the wire for one model request, as ready-to-print values.

Place in the house: ``traces``, pure but for gettext. The recorded body is without messages and
tools, which are stored once: here they are put together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.detail_models import TextView
from traces.inspection.formats import byte_size, count
from traces.inspection.reading import hashes_of
from traces.inspection.texts import text_view
from traces.records import SpanRecord

SHOWN_CHUNKS = 400
"""Chunks given to the page."""

RAW_PAYLOADS = ("toolloop.exchange", "gen_ai.input.messages", "gen_ai.tool.definitions")
"""The attributes that the view is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView:
    """One piece of the answer: when it came, counted from when the request was sent."""

    time: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawView:
    """The request's body, the response's status and its chunks. ``note`` says how many chunks there
    were and what is not shown, ``missing`` that payloads are no longer stored."""

    body: TextView
    status: str
    is_refused: bool
    chunks: tuple[ChunkView, ...]
    note: str
    missing: str


def raw_hashes(span: SpanRecord) -> list[str]:
    """The payloads that ``raw_view`` needs."""
    return list(hashes_of(span, *RAW_PAYLOADS))


def raw_view(span: SpanRecord, payloads: Mapping[str, object]) -> RawView | None:
    """The exchange of a model request; ``None`` where none was recorded."""
    digest = span.attributes.get("toolloop.exchange")
    if not isinstance(digest, str):
        return None
    exchange = payloads.get(digest)
    report = exchange if isinstance(exchange, dict) else {}
    messages = [payloads.get(h) for h in hashes_of(span, "gen_ai.input.messages")]
    tools = [payloads.get(h) for h in hashes_of(span, "gen_ai.tool.definitions")]
    given = report.get("body")
    body = {**(given if isinstance(given, dict) else {}), "messages": messages}
    if tools:
        body["tools"] = tools
    chunks = _chunks(report.get("chunks"))
    left_out = report.get("left_out")
    is_missing = exchange is None or None in messages or None in tools
    status = report.get("status")
    return RawView(
        body=text_view(body),
        status=str(status) if isinstance(status, int) else "",
        is_refused=isinstance(status, int) and status >= 400,
        chunks=chunks[:SHOWN_CHUNKS],
        note=_note(chunks, left_out if isinstance(left_out, int) else 0),
        missing=_("A part of this request is no longer stored.") if is_missing else "",
    )


def _chunks(value: object) -> tuple[ChunkView, ...]:
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2] if isinstance(
        value, list
    ) else []  # fmt: skip
    return tuple(
        ChunkView(time=_("%(n)s ms") % {"n": f"{ms:,.1f}"}, text=str(text))
        for ms, text in pairs
        if isinstance(ms, int | float)
    )


def _note(chunks: tuple[ChunkView, ...], left_out: int) -> str:
    number = len(chunks) + left_out
    size = byte_size(sum(len(chunk.text.encode("utf-8", "replace")) for chunk in chunks))
    told = ngettext("%(n)s chunk, %(size)s", "%(n)s chunks, %(size)s", number)
    text = told % {"n": count(number), "size": size}
    hidden = number - min(len(chunks), SHOWN_CHUNKS)
    if not hidden:
        return text
    more = ngettext("%(n)s of them is not shown", "%(n)s of them are not shown", hidden)
    return _(", ").join([text, more % {"n": count(hidden)}])
