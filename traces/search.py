"""Finding traces by what was said in them: messages, arguments, results, errors.

Place in the house: ``traces``. Texts are indexed when a trace has ended, behind the run: each
distinct payload once, its first ``MAX_CHARS`` characters.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from traces.full_text import add_to_index, can_be_found, frequent_pieces, matching_documents
from traces.labels import store_labels
from traces.models import Document, Mention, Span, Trace
from traces.storage import load_payloads
from traces.summaries import store_missing_summaries

MAX_CHARS = 20_000
"""Characters of a payload that can be found."""

MAX_TERMS = 8

AT_ONCE = 10
"""Traces that are indexed in one transaction."""

Attributes = Mapping[str, object]
"""The attributes of a stored span."""

SEARCHED = (
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "toolloop.answer",
    "toolloop.message",
    "toolloop.structured",
)
"""The payloads that are searched. What was sent again stands in one of them, or in the trace of an
earlier run."""

_ERRORS = ("toolloop.error", "toolloop.error.detail", "toolloop.approval.reason")
_TERMS = re.compile(r'"([^"]+)"|(\S+)')


def search_traces(traces: QuerySet[Trace], words: str) -> QuerySet[Trace]:
    """The traces in which every word occurs; ``"quoted words"`` are one. Mere punctuation counts
    for nothing beside a word; where there is no word, no trace is found.

    A running trace is found by the beginning of its message. At most ``MAX_TERMS`` words count.
    """
    terms = [term for term in read_terms(words) if can_be_found(term)]
    if not terms:
        return traces.none()
    for term in terms:
        is_running = Q(end_ns__isnull=True, message__icontains=term)
        traces = traces.filter(_mentions(term) | is_running)
    return traces


def is_idle(words: str) -> bool:
    """Whether something was entered, and nothing of it can be looked for."""
    return bool(words.strip()) and not any(map(can_be_found, read_terms(words)))


def _mentions(term: str) -> Q:
    if pieces := frequent_pieces(term):
        said = [Q(document__text__icontains=piece) for piece in pieces]
        return Q(Exists(Mention.objects.filter(*said, trace=OuterRef("pk"))))
    found = Mention.objects.filter(document__in=matching_documents(term)).values("trace")
    return Q(pk__in=found)


def read_terms(words: str) -> list[str]:
    """What is looked for, in order; a single quote mark at the end or beginning means nothing."""
    pairs = _TERMS.findall(words.replace("\0", " "))
    terms = [(quoted or plain.strip('"')).strip() for quoted, plain in pairs]
    return list(dict.fromkeys(term for term in terms if term))[:MAX_TERMS]


def index_ended_traces() -> int:
    """Index the oldest traces that have ended and are not indexed, some at once; how many."""
    waiting = Trace.objects.filter(is_indexed=False, end_ns__isnull=False)
    ids = list(waiting.order_by("start_ns").values_list("pk", flat=True)[:AT_ONCE])
    if not ids:
        return 0
    with transaction.atomic():
        spans: dict[str, list[Attributes]] = {trace_id: [] for trace_id in ids}
        for trace_id, attributes in Span.objects.filter(trace__in=ids).values_list(
            "trace", "attributes"
        ):
            spans[trace_id].append(attributes)
        _index(spans)
        store_labels(spans)
        store_missing_summaries(ids)
        Trace.objects.filter(pk__in=ids).update(is_indexed=True)
    return len(ids)


def _index(spans: Mapping[str, Sequence[Attributes]]) -> None:
    """Store the texts of these traces' spans and what occurs where."""
    hashes = {trace_id: set(_hashes(own)) for trace_id, own in spans.items()}
    keys = _known_documents(set().union(*hashes.values()))
    missing = set().union(*hashes.values()) - keys.keys()
    texts = {digest: text_of(value) for digest, value in load_payloads(missing).items()}
    for trace_id, own in spans.items():
        if errors := "\n".join(dict.fromkeys(_error_texts(own))):
            digest = hashlib.sha256(errors.encode()).hexdigest()
            texts[digest] = errors
            hashes[trace_id].add(digest)
    keys |= _store({digest: texts[digest] for digest in texts if texts[digest].strip()})
    Mention.objects.bulk_create(
        [
            Mention(trace_id=trace_id, document_id=keys[digest])
            for trace_id, own_hashes in hashes.items()
            for digest in sorted(own_hashes & keys.keys())
        ],
        ignore_conflicts=True,
    )


def _known_documents(hashes: Iterable[str]) -> dict[str, int]:
    """The ids of the texts that are stored, by hash."""
    return dict(Document.objects.filter(sha256__in=hashes).values_list("sha256", "pk"))


def _store(texts: Mapping[str, str]) -> dict[str, int]:
    """Store and index the beginnings of texts; their ids by hash."""
    keys = _known_documents(texts)
    new = [
        Document(sha256=digest, text=text[:MAX_CHARS].replace("\0", " "))
        for digest, text in texts.items()
        if digest not in keys
    ]
    add_to_index(Document.objects.bulk_create(new))
    return keys | {document.sha256: document.pk for document in new}


def _hashes(spans: Iterable[Attributes]) -> Iterator[str]:
    for attributes in spans:
        for name in SEARCHED:
            found = attributes.get(name)
            yield from found if isinstance(found, list) else [found] if found else []  # type: ignore[misc]


def _error_texts(spans: Iterable[Attributes]) -> Iterator[str]:
    for attributes in spans:
        for name in _ERRORS:
            if text := attributes.get(name):
                yield str(text)


def text_of(payload: object) -> str:
    """What a person would look for in a payload.

    A message gives its content and the names and arguments of its calls, other values their JSON.
    """
    if isinstance(payload, str):
        return payload
    if isinstance(payload, dict) and isinstance(payload.get("role"), str):
        return "\n".join(_message_texts(payload))
    return json.dumps(payload, ensure_ascii=False)


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
