"""The record of runs as rows: one trace, its spans, the payloads that spans refer to, and texts.

Place in the house: ``traces``. Nothing here points into the tables of agents: runs, conversations
and assistants are plain ids, so that a trace outlives what it tells about. Written by
``traces.recorder``.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class SpanStatus(models.TextChoices):
    """How far a span got. ``lost`` marks one whose process died before it could end."""

    RUNNING = "running", "running"
    OK = "ok", "ok"
    ERROR = "error", "error"
    CANCELLED = "cancelled", "cancelled"
    LOST = "lost", "lost"


class SpanKind(models.TextChoices):
    """What a span is the time of."""

    AGENT = "agent", "run of an assistant"
    TURN = "turn", "turn"
    MODEL = "model", "model request"
    RETRY = "retry", "parameter retry"
    TOOL_CALL = "tool_call", "tool call"
    HOOK = "hook", "hook"
    FALLBACK = "fallback", "fallback"
    POLICY = "policy", "catalog and policy"
    COMPACTION = "compaction", "compaction"


class Trace(models.Model):
    """A root run with its child runs. Times are nanoseconds since 1970; ``end_ns`` is null until it
    ends.

    ``status`` is the run's status (``running``, ``completed``, ``failed`` ...), ``message`` the
    start of the user's message. ``is_indexed`` tells that its texts can be searched. What the list
    shows is written when the trace ends (``traces.tallies``): ``errors``, ``retries``,
    ``fell_back``, ``first_token_ms``, ``duration_ms``, ``cost`` (``None`` without prices) and
    ``summary``, the small rail.
    """

    id = models.CharField(max_length=32, primary_key=True)
    run = models.CharField(max_length=32, db_index=True)
    conversation = models.CharField(max_length=32, blank=True, db_index=True)
    assistant = models.CharField(max_length=100, blank=True)
    assistant_name = models.CharField(max_length=200, blank=True)
    user = models.CharField(max_length=100, blank=True, db_index=True)
    message = models.CharField(max_length=300, blank=True)
    status = models.CharField(max_length=12, default="running")
    stop_reason = models.CharField(max_length=20, blank=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    start_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField(null=True, blank=True)
    is_indexed = models.BooleanField(default=False, db_default=False)
    errors = models.PositiveIntegerField(default=0, db_default=0)
    retries = models.PositiveIntegerField(default=0, db_default=0)
    fell_back = models.BooleanField(default=False, db_default=False)
    first_token_ms = models.PositiveBigIntegerField(null=True, blank=True)
    duration_ms = models.PositiveBigIntegerField(null=True, blank=True)
    cost = models.FloatField(null=True, blank=True)
    summary = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-start_ns"]
        indexes = [
            models.Index(fields=["-start_ns"], name="trace_newest_first"),
            models.Index(fields=["user", "-start_ns"], name="trace_of_user"),
            models.Index(fields=["stop_reason", "-start_ns"], name="trace_by_stop_reason"),
            models.Index(fields=["assistant", "-start_ns"], name="trace_by_assistant"),
            models.Index(fields=["status", "-start_ns"], name="trace_by_status"),
            models.Index(
                fields=["-start_ns"], condition=Q(end_ns__isnull=True), name="trace_running"
            ),
            models.Index(fields=["-start_ns"], condition=Q(fell_back=True), name="trace_fell_back"),
            models.Index(fields=["-start_ns"], condition=Q(errors__gt=0), name="trace_with_errors"),
            models.Index(
                fields=["start_ns"],
                condition=Q(is_indexed=False, end_ns__isnull=False),
                name="trace_to_be_indexed",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(end_ns__isnull=True, status="running")
                | Q(end_ns__isnull=False) & ~Q(status="running"),
                name="trace_ended_has_status",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Span(models.Model):
    """A timed step. ``parent`` is a span id, ``""`` at the root; ``position`` counts within the
    trace.

    ``run`` is the run that it belongs to, ``turn`` is ``"0"``, ``"1"`` ... or ``"F"``, ``""``
    outside of turns. Large attributes are hashes of blobs (``traces.attributes``).
    """

    id = models.CharField(max_length=16, primary_key=True)
    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="spans")
    parent = models.CharField(max_length=16, blank=True)
    run = models.CharField(max_length=32, db_index=True)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=SpanKind.choices)
    name = models.CharField(max_length=300)
    turn = models.CharField(max_length=10, blank=True)
    status = models.CharField(max_length=10, choices=SpanStatus.choices, default=SpanStatus.RUNNING)
    start_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField(null=True, blank=True)
    attributes = models.JSONField(default=dict)

    class Meta:
        ordering = ["trace", "position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(end_ns__isnull=True, status="running")
                | Q(end_ns__isnull=False) & ~Q(status="running"),
                name="span_ended_has_status",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Blob(models.Model):
    """A payload, stored once: its JSON text (zlib if it is long) under the text's SHA-256.

    ``unused_since_ns`` is when a pruning found that no span refers to it (``traces.pruning``).
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    content = models.BinaryField()
    size = models.PositiveBigIntegerField()
    unused_since_ns = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return self.sha256


class Document(models.Model):
    """The searchable text of a payload, stored once: what a person would look for in it."""

    id = models.BigAutoField(primary_key=True)
    sha256 = models.CharField(max_length=64, unique=True)
    text = models.TextField()

    def __str__(self) -> str:
        return self.sha256


class Mention(models.Model):
    """A text that occurs in a trace."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="mentions")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="mentions")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "document"], name="mention_once"),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id}: {self.document_id}"


class LabelKind(models.TextChoices):
    """What a trace can be looked for by."""

    TOOL = "tool", "server and tool"
    OUTCOME = "outcome", "outcome of a call"
    MODEL = "model", "model that answered"


class Label(models.Model):
    """Something that occurs in an ended trace: a tool as ``server.tool``, an outcome, a model."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="labels")
    kind = models.CharField(max_length=10, choices=LabelKind.choices)
    value = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "kind", "value"], name="label_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


class SavedView(models.Model):
    """A narrowed list of traces that a person keeps. ``user`` is the person's key as text,
    ``query`` the address's query without its ``?``."""

    user = models.CharField(max_length=100)
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="saved_view_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ModelCall(models.Model):
    """One ended request to a provider, for the list of all: what its span holds, in columns.

    Written together with the span, whose id it has. ``status`` is the span's; ``http_status`` and
    ``error`` are set where it failed.
    """

    id = models.CharField(max_length=16, primary_key=True)
    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="model_calls")
    at_ns = models.BigIntegerField()
    provider = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    status = models.CharField(max_length=10)
    http_status = models.PositiveIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    first_chunk_ms = models.PositiveBigIntegerField(null=True, blank=True)
    duration_ms = models.PositiveBigIntegerField()
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.FloatField(null=True, blank=True)
    currency = models.CharField(max_length=20, blank=True, default="", db_default="")

    class Meta:
        ordering = ["-at_ns"]
        indexes = [
            models.Index(fields=["-at_ns", "-id"], name="model_call_newest"),
            models.Index(fields=["provider", "-at_ns", "-id"], name="model_call_of_provider"),
            models.Index(fields=["status", "-at_ns", "-id"], name="model_call_by_status"),
            models.Index(fields=["provider", "status", "-at_ns", "-id"], name="model_call_by_both"),
            models.Index(
                fields=[
                    "provider",
                    "at_ns",
                    "status",
                    "input_tokens",
                    "output_tokens",
                    "cost",
                    "currency",
                    "first_chunk_ms",
                ],
                name="model_call_sums",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.model}"
