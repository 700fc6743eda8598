"""What happens: conversations, runs, messages and their attachments.

Place in the house: ``agents.models``. ``Run.status`` is written in ``agents.runs.lifecycle`` only.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from agents.models.configuration import Assistant


def new_id() -> str:
    """A fresh identifier: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Conversation(models.Model):
    """A conversation of one user with one assistant. ``leaf`` ends the path that is shown."""

    id = models.CharField(max_length=32, primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations"
    )
    assistant = models.ForeignKey(Assistant, on_delete=models.PROTECT, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    is_pinned = models.BooleanField(default=False)
    leaf = models.ForeignKey(
        "Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at"]
        indexes = [models.Index(fields=["user", "-updated_at"], name="conversation_of_user")]

    def __str__(self) -> str:
        return self.title or self.id


class RunStatus(models.TextChoices):
    """Where a run is. The last four are final."""

    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"
    INTERRUPTED = "interrupted", "interrupted"


FINAL_STATUSES = (
    RunStatus.COMPLETED,
    RunStatus.FAILED,
    RunStatus.CANCELLED,
    RunStatus.INTERRUPTED,
)


class Run(models.Model):
    """Everything between one user message and its final answer. The table is the queue.

    ``configuration`` is the snapshot that the run used, without secrets. A worker holds the run
    until ``lease_until`` under the name ``lease_owner``; ``takeovers`` counts the workers that died
    or fell silent before.
    """

    id = models.CharField(max_length=32, primary_key=True, default=new_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="runs")
    assistant = models.ForeignKey(
        Assistant, on_delete=models.SET_NULL, null=True, related_name="runs"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs"
    )
    parent_run = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="child_runs"
    )
    message = models.ForeignKey(
        "Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    answer = models.ForeignKey(
        "Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    trace_id = models.CharField(max_length=32, db_index=True)
    status = models.CharField(max_length=12, choices=RunStatus.choices, default=RunStatus.QUEUED)
    stop_reason = models.CharField(max_length=20, blank=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    configuration = models.JSONField(default=dict)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    takeovers = models.PositiveSmallIntegerField(default=0, db_default=0)
    stop_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["status", "created_at"], name="run_queue")]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status="running", parent_run__isnull=True),
                name="run_one_at_a_time_per_conversation",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=["completed", "failed", "cancelled", "interrupted"],
                    finished_at__isnull=False,
                )
                & ~Q(stop_reason="")
                | Q(status__in=["queued", "running"], finished_at__isnull=True),
                name="run_finished_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(level__isnull=True) | Q(level__gte=1, level__lte=3),
                name="run_level_1_to_3",
            ),
            models.CheckConstraint(
                condition=Q(parent_run__isnull=True) | ~Q(parent_run=F("id")),
                name="run_is_not_its_own_parent",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class MessageRole(models.TextChoices):
    """Who speaks."""

    SYSTEM = "system", "system"
    USER = "user", "user"
    ASSISTANT = "assistant", "assistant"
    TOOL = "tool", "tool"


class Message(models.Model):
    """One message of a conversation's tree; the path from ``Conversation.leaf`` to the root is
    shown.

    ``tool_calls`` = ``[{"id", "name", "arguments", "key", "extra"}]`` on an assistant message, as
    the model sent them. A tool message answers ``call_key`` and stores the outcome, never guessed
    from text; ``details`` = ``{"server", "tool", "arguments", "chars", "error", "truncated",
    "kept", "attempt", "structured"}``. A system message with ``compaction`` in its details is a
    summary that stands for older messages (``agents.runs.stored_messages``). ``level`` is the
    answer's level (1 to 3) on a run's final
    message.
    """

    id = models.CharField(max_length=32, primary_key=True, default=new_id, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    run = models.ForeignKey(
        Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages"
    )
    role = models.CharField(max_length=10, choices=MessageRole.choices)
    content = models.JSONField(null=True)
    tool_calls = models.JSONField(default=list, blank=True)
    tool_call_id = models.TextField(blank=True)
    call_key = models.CharField(max_length=100, blank=True)
    outcome = models.CharField(max_length=20, blank=True)
    duration_ms = models.FloatField(null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)
    extra = models.JSONField(default=dict, blank=True)
    provider = models.CharField(max_length=100, blank=True)
    turn = models.CharField(max_length=10, blank=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    is_aborted = models.BooleanField(default=False)
    is_waiting = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "call_key"],
                condition=~Q(call_key=""),
                name="message_one_result_per_call",
            ),
            models.CheckConstraint(
                condition=Q(role="tool") & ~Q(outcome="") | ~Q(role="tool") & Q(outcome=""),
                name="message_tool_has_outcome",
            ),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")),
                name="message_is_not_its_own_parent",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {str(self.content)[:60]}"


class Question(models.Model):
    """A tool call that a person is asked about, and the decision: it outlives its process.

    ``is_allowed`` is null as long as nobody has decided. ``arguments`` are those that would be
    sent: a hook may have changed the model's.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="questions")
    call_key = models.CharField(max_length=100, unique=True)
    server = models.CharField(max_length=64)
    tool = models.CharField(max_length=500)
    arguments = models.JSONField(null=True, blank=True)
    is_allowed = models.BooleanField(null=True, blank=True)
    reason = models.TextField(blank=True)
    by = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["asked_at"]
        indexes = [
            models.Index(
                fields=["run"], condition=Q(is_allowed__isnull=True), name="question_open"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_allowed__isnull=True, decided_at__isnull=True)
                | Q(is_allowed__isnull=False, decided_at__isnull=False),
                name="question_decided_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.server}.{self.tool}: {self.call_key}"


class Worker(models.Model):
    """A process that takes runs, and its last sign of life. ``owner`` is its name on leases."""

    owner = models.CharField(max_length=100, primary_key=True)
    runs_at_once = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["started_at"]

    def __str__(self) -> str:
        return self.owner


class Attachment(models.Model):
    """A picture or sound that a tool returned, kept apart from the message's text."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="attachments")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10)
    mime_type = models.CharField(max_length=100, blank=True)
    content = models.BinaryField()

    class Meta:
        ordering = ["message", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["message", "position"], name="attachment_position_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.mime_type}"
