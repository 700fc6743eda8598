"""Writes changes of spans and traces into the database.

Place in the house: ``traces``; called by ``recorder`` in the thread of the database. Everything of
one call goes into one transaction. A span is inserted or brought up to date by one statement for
all of them, a payload is stored once under the SHA-256 of its redacted JSON text.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import time
import zlib
from collections.abc import Collection, Iterable, Sequence

from django.conf import settings
from django.db import connections, models, router, transaction
from django.db.models.constants import OnConflict
from django.utils.module_loading import import_string

from traces import model_calls
from traces.attributes import PAYLOADS, SHARED
from traces.chunk_redaction import without_split_secrets
from traces.inspection_rows import load_spans
from traces.message_lists import ListWriter
from traces.models import Blob, ModelCall, Span, SpanStatus, Trace
from traces.records import Payload, RunLost, RunTakenOver, SpanRecord, TraceRecord
from traces.redaction import Redactor, registered_secrets
from traces.tallies import tally_of

SECRETS_FRESH_SECONDS = 30.0
MAX_KNOWN_BLOBS = 20_000

KNOWN_SECONDS = 3600.0
"""How long a payload is taken for stored; shorter than it takes to be pruned."""

PLAIN_BYTES = 1000
"""Payloads up to here are stored as they are: compressing takes longer than all else of them."""

MAX_REMEMBERED = 5_000

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

Row = tuple[object, ...]
"""The values of one row, as its columns hold them."""

_BLOB_COLUMNS = ("sha256", "content", "size")
_SPAN_COLUMNS = (
    "id", "trace_id", "parent", "run", "position", "kind", "name", "turn", "status", "start_ns",
    "end_ns", "attributes",
)  # fmt: skip
_SPAN_UPDATES = ("parent", "name", "turn", "status", "end_ns", "attributes")
_TRACE_UPDATES = (
    "status", "stop_reason", "level", "turns", "tool_calls", "input_tokens", "output_tokens",
    "end_ns", "errors", "retries", "fell_back", "first_token_ms", "duration_ms", "cost", "summary",
)  # fmt: skip


class TraceStorage:
    """The writing side of traces, for one process. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._known_blobs: dict[str, None] = {}
        self._known_since = time.monotonic()
        self._hashes: dict[int, tuple[object, str]] = {}
        self._names: dict[str, str] = {}
        self._lists = ListWriter()
        self._redactor = Redactor(patterns=_patterns())
        self._secrets: frozenset[str] = frozenset()
        self._configured_secrets: frozenset[str] = frozenset()
        self._asked_at = -SECRETS_FRESH_SECONDS

    def write(
        self,
        spans: Sequence[SpanRecord],
        traces: Sequence[TraceRecord],
        lost_runs: Sequence[RunLost],
        taken_over: Sequence[RunTakenOver] = (),
    ) -> None:
        """Store the newest states, all or none of them. Raises what the database raises."""
        self._refresh_secrets()
        new_blobs: dict[str, Row] = {}
        span_rows = [self._span_row(span, new_blobs) for span in spans]
        trace_rows = [self._trace_row(trace) for trace in traces]
        calls = model_calls.call_rows(spans, self._redacted_text)
        with transaction.atomic():
            for run in taken_over:
                _close_left_spans(run)
            _upsert(Blob, _BLOB_COLUMNS, (), new_blobs.values())
            _upsert(Trace, TraceRecord.__slots__, _TRACE_UPDATES, trace_rows)
            _upsert(Span, _SPAN_COLUMNS, _SPAN_UPDATES, span_rows)
            _upsert(ModelCall, model_calls.COLUMNS, model_calls.UPDATES, calls)
            for lost in lost_runs:
                _mark_lost(lost)
        self._remember_stored(new_blobs)

    def _remember_stored(self, hashes: Iterable[str]) -> None:
        """What need not be stored again for a while; then it is, in case it was pruned."""
        now = time.monotonic()
        if now - self._known_since > KNOWN_SECONDS:
            self._known_blobs.clear()
            self._known_since = now
        self._known_blobs.update(dict.fromkeys(hashes))
        while len(self._known_blobs) > MAX_KNOWN_BLOBS:
            del self._known_blobs[next(iter(self._known_blobs))]

    def forget_payloads(self) -> None:
        """Let go of remembered values; called when no run is in memory, or spans were given up."""
        self._hashes.clear()
        self._lists.forget()

    def _refresh_secrets(self) -> None:
        now = time.monotonic()
        path = getattr(settings, "TOOLLOOP_TRACE_SECRETS", "")
        if path and now - self._asked_at >= SECRETS_FRESH_SECONDS:
            self._configured_secrets = frozenset(import_string(path)())
            self._asked_at = now
        secrets = registered_secrets() | self._configured_secrets
        if secrets != self._secrets:
            self._secrets, self._redactor = secrets, Redactor(secrets, _patterns())
            self._hashes.clear()
            self._names.clear()

    def _trace_row(self, trace: TraceRecord) -> Row:
        names = ("message", "assistant_name")
        given = {name: self._redacted_text(getattr(trace, name))[:200] for name in names}
        if trace.summary is not None:
            given["summary"] = _json_text(trace.summary)
        return tuple(given.get(name, getattr(trace, name)) for name in TraceRecord.__slots__)

    def _span_row(self, span: SpanRecord, new_blobs: dict[str, Row]) -> Row:
        payloads: dict[str, object] = {}
        plain: dict[str, object] = {}
        for name, value in span.attributes.items():
            if isinstance(value, Payload) and name == "toolloop.exchange":
                report = without_split_secrets(value.value, self._redacted_text)
                payloads[name] = self._hash(report, new_blobs)
            elif isinstance(value, Payload):
                payloads[name] = self._hash(value.value, new_blobs)
            elif isinstance(value, tuple) and name in PAYLOADS:
                hashes = [self._hash(item.value, new_blobs) for item in value]
                payloads[name] = (
                    self._lists.shortened(span.run, span.id, span.position, hashes)
                    if name in SHARED
                    else hashes
                )
            else:
                plain[name] = value
        attributes = self._redactor.redact(_json_text(plain))
        if payloads:
            # Hashes are no secrets, whatever their names look like: they join the redacted text.
            opening = "{" if attributes == "{}" else f"{attributes[:-1]},"
            attributes = opening + _json_text(payloads)[1:]
        return (
            span.id, span.trace, span.parent, span.run, span.position, span.kind,
            self._redacted_name(span.name), span.turn, span.status, span.start_ns, span.end_ns,
            attributes,
        )  # fmt: skip

    def _redacted_name(self, name: str) -> str:
        """A span's name without secrets; most of them come again and again."""
        known = self._names.get(name)
        if known is None:
            if len(self._names) >= MAX_REMEMBERED:
                self._names.clear()
            known = self._names[name] = self._redacted_text(name)[:300]
        return known

    def _redacted_text(self, text: str) -> str:
        return str(json.loads(self._redactor.redact(_json_text(text))))

    def _hash(self, value: object, new_blobs: dict[str, Row]) -> str:
        """The hash of a payload; it joins ``new_blobs`` unless it is known to be stored."""
        remembered = self._hashes.get(id(value))
        if remembered is not None:
            digest = remembered[1]
            if digest in self._known_blobs or digest in new_blobs:
                return digest
        content = self._redactor.redact(_json_text(value)).encode()
        digest = hashlib.sha256(content).hexdigest()
        if isinstance(value, dict):
            self._remember(value, digest)
        if digest not in self._known_blobs and digest not in new_blobs:
            packed = zlib.compress(content, 6) if len(content) > PLAIN_BYTES else content
            new_blobs[digest] = (digest, packed, len(content))
        return digest

    def _remember(self, value: object, digest: str) -> None:
        """Hold the value together with its hash: its ``id()`` is then nobody else's."""
        self._hashes[id(value)] = (value, digest)
        if len(self._hashes) > MAX_REMEMBERED:
            del self._hashes[next(iter(self._hashes))]


def _patterns() -> Sequence[str]:
    """What the operator wants to be taken out."""
    found: Sequence[str] = getattr(settings, "TOOLLOOP_TRACE_REDACT", ())
    return found


def _upsert(
    model: type[models.Model],
    columns: Sequence[str],
    updates: Sequence[str],
    rows: Collection[Row],
) -> None:
    """Insert the rows; where one is there already, bring ``updates`` up to date.

    The ORM's ``bulk_create`` would write the same statement anew each time, from model instances.
    """
    if rows:
        connection = connections[router.db_for_write(model)]
        with connection.cursor() as cursor:
            statement = _upsert_sql(model, tuple(columns), tuple(updates), connection.alias)
            cursor.executemany(statement, list(rows))


@functools.cache
def _upsert_sql(
    model: type[models.Model], columns: tuple[str, ...], updates: tuple[str, ...], alias: str
) -> str:
    operations = connections[alias].ops
    rule = OnConflict.UPDATE if updates else OnConflict.IGNORE
    table, key = operations.quote_name(model._meta.db_table), model._meta.pk.column
    names = ", ".join(operations.quote_name(column) for column in columns)
    marks = ", ".join("%s" for _ in columns)
    ending = operations.on_conflict_suffix_sql([model._meta.pk], rule, updates, [key])
    opening = operations.insert_statement(on_conflict=rule)
    return f"{opening} {table} ({names}) VALUES ({marks}) {ending}"


def blob_value(blob: Blob) -> object:
    """The JSON value of a stored payload."""
    content = bytes(blob.content)
    # No JSON text begins with this byte.
    return json.loads(zlib.decompress(content) if content.startswith(b"x") else content)


def load_payloads(hashes: Iterable[str]) -> dict[str, object]:
    """The values of many payloads by hash; those that are not stored any more are left out."""
    blobs = Blob.objects.in_bulk(list(dict.fromkeys(hashes)))
    return {digest: blob_value(blob) for digest, blob in blobs.items()}


def _json_text(value: object) -> str:
    """JSON of a value; NUL and half characters, which databases refuse, are replaced."""
    try:
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False
        )
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)
    if "\\u0000" in text:
        text = _NUL.sub("\\1\ufffd", text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _finite(value: object) -> object:
    """The value with NaN and infinity, which JSON does not know, as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _close_left_spans(run: RunTakenOver) -> None:
    """Close what a dead process left open of a run; its trace goes on."""
    left = Span.objects.filter(run=run.run, end_ns__isnull=True)
    model_calls.keep_lost_calls(left, run.at_ns)
    left.update(status=SpanStatus.LOST, end_ns=run.at_ns)


def _mark_lost(run: RunLost) -> None:
    """Close what a dead process left open of a run; its trace and child runs too if it was the
    root."""
    roots = Trace.objects.filter(run=run.run).values("pk")
    spans = Span.objects.filter(
        models.Q(run=run.run) | models.Q(trace__in=roots), end_ns__isnull=True
    )
    model_calls.keep_lost_calls(spans, run.at_ns)
    spans.update(status=SpanStatus.LOST, end_ns=run.at_ns)
    for trace in Trace.objects.filter(run=run.run, end_ns__isnull=True):
        summary = tally_of(load_spans(trace.pk)).sum_up(trace.start_ns, run.at_ns)
        Trace.objects.filter(pk=trace.pk).update(
            status=run.status,
            stop_reason=run.stop_reason,
            level=run.level,
            end_ns=run.at_ns,
            turns=summary.turns,
            tool_calls=summary.tool_calls,
            input_tokens=summary.input_tokens,
            output_tokens=summary.output_tokens,
            **summary.columns(),
        )
