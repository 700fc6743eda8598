"""Finding traces by what was said in them: messages, arguments, results, errors.

Place in the house: ``traces``. Texts are indexed when a trace has ended, behind the run: each
distinct payload once, its first ``MAX_CHARS`` characters.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from django.db import transaction
from django.db.models import Q, QuerySet

from traces.full_text import add_to_index, matching_documents
from traces.models import Document, Mention, Span, Trace
from traces.storage import load_payloads

MAX_CHARS = 20_000
"""Characters of a payload that can be found."""

MAX_TERMS = 8

SEARCHED = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "toolloop.answer",
    "toolloop.message",
    "toolloop.structured",
)
"""The payloads that are searched."""

_ERRORS = ("toolloop.error", "toolloop.error.detail", "toolloop.approval.reason")
_TERMS = re.compile(r'"([^"]+)"|(\S+)')


def search_traces(traces: QuerySet[Trace], words: str) -> QuerySet[Trace]:
    """The traces in which every word occurs; ``"quoted words"`` are one. All of them for no word.

    A running trace is found by the beginning of its message. At most ``MAX_TERMS`` words count.
    """
    for term in read_terms(words):
        found = Mention.objects.filter(document__in=matching_documents(term)).values("trace")
        traces = traces.filter(Q(pk__in=found) | Q(end_ns__isnull=True, message__icontains=term))
    return traces


def read_terms(words: str) -> list[str]:
    """What is looked for, in order; a single quote mark at the end or beginning means nothing."""
    pairs = _TERMS.findall(words.replace("\0", " "))
    terms = [(quoted or plain.strip('"')).strip() for quoted, plain in pairs]
    return list(dict.fromkeys(term for term in terms if term))[:MAX_TERMS]


def index_next_trace() -> bool:
    """Index the oldest trace that has ended and is not indexed; whether there was one."""
    waiting = Trace.objects.filter(is_indexed=False, end_ns__isnull=False)
    trace_id = waiting.order_by("start_ns").values_list("pk", flat=True).first()
    if trace_id is None:
        return False
    with transaction.atomic():
        _index_trace(trace_id)
    return True


def _index_trace(trace_id: str) -> None:
    spans = list(Span.objects.filter(trace=trace_id).values_list("attributes", flat=True))
    hashes = list(dict.fromkeys(_hashes(spans)))
    known = dict(Document.objects.filter(sha256__in=hashes).values_list("sha256", "pk"))
    texts = {
        digest: text_of(value)
        for digest, value in load_payloads(
            digest for digest in hashes if digest not in known
        ).items()
    }
    errors = "\n".join(dict.fromkeys(_error_texts(spans)))
    if errors:
        texts[hashlib.sha256(errors.encode()).hexdigest()] = errors
    new = _store({digest: text[:MAX_CHARS] for digest, text in texts.items() if text.strip()})
    Mention.objects.bulk_create(
        [Mention(trace_id=trace_id, document_id=key) for key in {*known.values(), *new}],
        ignore_conflicts=True,
    )
    Trace.objects.filter(pk=trace_id).update(is_indexed=True)


def _store(texts: Mapping[str, str]) -> list[int]:
    """Store and index texts by hash; the ids, also of those that were there already."""
    there = dict(Document.objects.filter(sha256__in=texts).values_list("sha256", "pk"))
    new = [
        Document(sha256=digest, text=text.replace("\0", " "))
        for digest, text in texts.items()
        if digest not in there
    ]
    add_to_index(Document.objects.bulk_create(new))
    return [*there.values(), *(document.pk for document in new)]


def _hashes(spans: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for attributes in spans:
        for name in SEARCHED:
            found = attributes.get(name)
            yield from found if isinstance(found, list) else [found] if found else []  # type: ignore[misc]


def _error_texts(spans: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for attributes in spans:
        for name in _ERRORS:
            if text := attributes.get(name):
                yield str(text)


def text_of(payload: object) -> str:
    """What a person would look for in a payload; nothing for system prompts, which are all alike.

    A message gives its content and the names and arguments of its calls, other values their JSON.
    """
    if isinstance(payload, str):
        return payload
    if not (isinstance(payload, dict) and isinstance(payload.get("role"), str)):
        return json.dumps(payload, ensure_ascii=False)
    if payload["role"] in ("system", "developer"):
        return ""
    return "\n".join(_message_texts(payload))


def _message_texts(message: Mapping[str, object]) -> Iterator[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield f"{function.get('name', '')} {function.get('arguments', '')}"
