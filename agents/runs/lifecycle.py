"""The life of a run: queued, running, finished. The only writer of ``Run.status``.

Place in the house: ``agents.runs``. Plain synchronous functions on the database; async callers wrap
them. The run table is the queue: claiming is one conditional UPDATE that counts 1.
What lost its worker is in ``leases``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from agents.loop.events import RunFinished
from agents.loop.fixed_texts import fixed_answer
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.prompts import language_of
from agents.models import (
    FINAL_STATUSES,
    Assistant,
    Conversation,
    Message,
    MessageRole,
    Run,
    RunStatus,
    new_id,
)
from agents.runs.commands import command_of
from agents.runs.statements import fetch_row, insert_row, update_rows
from agents.runs.stored_messages import COMMAND
from agents.texts import storable, without_hidden


class RunLost(Exception):
    """Raised when a worker stores something for a run that is not its own any more."""


LEASE = timedelta(seconds=30)
"""How long a run is held without a sign of life of its worker."""

TITLE_CHARS = 60


def start_conversation(user: AbstractBaseUser, assistant: Assistant) -> Conversation:
    """A new conversation of this user with this assistant."""
    conversation = Conversation(user=user, assistant=assistant)
    insert_row(conversation)
    return conversation


@transaction.atomic
def submit_message(conversation: Conversation, content: JsonValue, owner: str = "") -> Run:
    """Store a user message and queue its run; it joins the conversation when the run is claimed.

    With an ``owner`` that process alone will take it, as long as it holds the lease. A command
    (``agents.runs.commands``) is for the application: no model gets to read it.
    """
    command = command_of(content)
    message = Message(
        conversation=conversation,
        role=MessageRole.USER,
        content=storable(content),
        is_waiting=True,
        details={COMMAND: command} if command else {},
    )
    insert_row(message)
    run = Run(
        conversation=conversation,
        assistant_id=conversation.assistant_id,
        user_id=conversation.user_id,
        message=message,
        trace_id=new_id(),
        lease_owner=owner,
        lease_until=timezone.now() + LEASE if owner else None,
    )
    insert_row(run)
    return run


def claim_run(run_id: str, owner: str) -> bool:
    """Take a queued run; ``False`` where it is taken, or its conversation is busy or has an older
    one.

    The waiting user message joins the conversation at its end.
    """
    try:
        with transaction.atomic():
            if not _take_run(run_id, owner):
                return False
            _attach_message(fetch_row(Run, id=run_id))
            return True
    except IntegrityError:
        return False


def renew_lease(run_id: str, owner: str) -> bool:
    """Hold a run, queued or running, longer; ``False`` where it is not this owner's any more."""
    until = timezone.now() + LEASE
    statuses = [RunStatus.QUEUED, RunStatus.RUNNING]
    runs = Run.objects.filter(pk=run_id, status__in=statuses, lease_owner=owner)
    return runs.update(lease_until=until) == 1


@transaction.atomic
def start_child_run(parent: Run, assistant: Assistant, owner: str) -> Run:
    """A run of another assistant on behalf of ``parent``, in the same conversation and trace."""
    now = timezone.now()
    return Run.objects.create(
        conversation_id=parent.conversation_id,
        assistant=assistant,
        user_id=parent.user_id,
        parent_run=parent,
        trace_id=parent.trace_id,
        status=RunStatus.RUNNING,
        lease_owner=owner,
        lease_until=now + LEASE,
        started_at=now,
    )


def store_ended_runs(runs: Sequence[Run]) -> None:
    """Insert runs that ended elsewhere. Raises ``ValueError`` for one that has not ended."""
    for run in runs:
        if run.status not in FINAL_STATUSES:
            raise ValueError(f"the run {run.pk} has not ended: {run.status}")
    Run.objects.bulk_create(runs, batch_size=500)


def keep_configuration(run_id: str, configuration: JsonObject) -> None:
    """Store the snapshot of what the run uses."""
    update_rows(Run, {"id": run_id}, {"configuration": configuration})


def finish_run(event: RunFinished, answer_id: str | None) -> None:
    """Write a run's end. Belongs into one transaction with its answer."""
    update_rows(
        Run,
        {"id": event.run, "status": RunStatus.RUNNING},
        {
            "status": event.status,
            "stop_reason": event.stop_reason,
            "level": event.level,
            "error": event.error,
            "answer_id": answer_id,
            "turns": event.turns,
            "tool_calls": event.tool_calls,
            "input_tokens": event.input_tokens,
            "output_tokens": event.output_tokens,
            "finished_at": timezone.now(),
            "lease_until": None,
        },
    )


def keep_run(run_id: str, owner: str) -> None:
    """Hold a running run longer. Raises ``RunLost`` where it is not this owner's any more.

    Belongs into the transaction of whatever a worker stores: what it stores is the run's only then.
    """
    held = {"id": run_id, "status": RunStatus.RUNNING, "lease_owner": owner}
    if update_rows(Run, held, {"lease_until": timezone.now() + LEASE}) != 1:
        raise RunLost(f"the run {run_id} was taken from its worker")


@transaction.atomic
def interrupt_run(run_id: str, error: str) -> str | None:
    """End a run that its worker lost, children included, with the fixed text.

    Returns the answer's text, ``None`` where the run had ended already.
    """
    run = Run.objects.select_related("message").get(pk=run_id)
    if run.status == RunStatus.QUEUED:
        _attach_message(run)
    open_runs = Run.objects.filter(
        trace_id=run.trace_id, status__in=[RunStatus.QUEUED, RunStatus.RUNNING]
    )
    ended = open_runs.update(
        status=RunStatus.INTERRUPTED,
        stop_reason="worker_lost",
        level=3,
        error=error,
        finished_at=timezone.now(),
        lease_until=None,
    )
    if not ended:
        return None
    question = str(run.message.content) if run.message is not None else ""
    text = fixed_answer("worker_lost", [], language=language_of(question))
    answer = Message.objects.create(
        conversation_id=run.conversation_id,
        parent_id=fetch_row(Conversation, id=run.conversation_id).leaf_id,
        run=run,
        role=MessageRole.ASSISTANT,
        content=text,
        level=3,
    )
    Run.objects.filter(pk=run_id).update(answer=answer)
    move_leaf(run.conversation_id, answer.pk)
    return text


@transaction.atomic
def cancel_lost_run(run_id: str) -> None:
    """End a lost run that a person had stopped."""
    Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(
        status=RunStatus.CANCELLED,
        stop_reason="cancelled",
        finished_at=timezone.now(),
        lease_until=None,
    )


def claimable_runs(limit: int, conversation_id: str = "") -> list[str]:
    """The ids of the oldest queued runs that no process holds and whose conversations are idle."""
    running = Run.objects.filter(
        conversation=OuterRef("conversation"), status=RunStatus.RUNNING, parent_run__isnull=True
    )
    is_free = Q(lease_until__isnull=True) | Q(lease_until__lt=timezone.now())
    queued = Run.objects.filter(is_free, ~Exists(running), status=RunStatus.QUEUED)
    if conversation_id:
        queued = queued.filter(conversation_id=conversation_id)
    busy = (
        Run.objects.filter(status=RunStatus.RUNNING, parent_run__isnull=True)
        .values("user")
        .annotate(n=Count("pk"))
        .filter(n__gte=settings.TOOLLOOP_RUNS_PER_USER)
        .values("user")
    )
    queued = queued.exclude(user__in=busy)
    return list(queued.order_by("created_at").values_list("pk", flat=True)[:limit])


def place_in_queue(run: Run) -> int:
    """How many queued runs of all people began to wait before this one."""
    return Run.objects.filter(status=RunStatus.QUEUED, created_at__lt=run.created_at).count()


@transaction.atomic
def remove_queued_run(run_id: str, conversation_id: str) -> str | None:
    """Take a waiting message back: run and message go; its text, or ``None`` if it has begun."""
    run = (
        Run.objects.select_related("message")
        .filter(pk=run_id, conversation_id=conversation_id, status=RunStatus.QUEUED)
        .first()
    )
    if run is None or not Run.objects.filter(pk=run_id, status=RunStatus.QUEUED).delete()[0]:
        return None
    text = str(run.message.content) if run.message is not None else ""
    Message.objects.filter(pk=run.message_id).delete()
    return text


@transaction.atomic
def cancel_queued_run(run_id: str) -> bool:
    """Stop a run that has not begun; its message joins the conversation, unanswered.

    While another run of the conversation is going on it stays apart: that one writes at the end.
    """
    stopped = Run.objects.filter(pk=run_id, status=RunStatus.QUEUED).update(
        status=RunStatus.CANCELLED, stop_reason="cancelled", finished_at=timezone.now()
    )
    if stopped:
        run = fetch_row(Run, id=run_id)
        others = Run.objects.filter(conversation_id=run.conversation_id, status=RunStatus.RUNNING)
        if not others.exists():
            _attach_message(run)
    return bool(stopped)


_APPEND_LEAF = """
UPDATE agents_conversation SET leaf_id = %s, updated_at = %s
WHERE id = %s AND (leaf_id = %s OR leaf_id IS NULL AND %s IS NULL) AND EXISTS (
    SELECT 1 FROM agents_run
    WHERE agents_run.id = %s AND agents_run.status = 'running' AND agents_run.lease_owner = %s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A worker and the root run that it holds in a conversation."""

    conversation: str
    run: str
    owner: str


def append_leaf(holder: Holder, leaf_id: str | None, message_id: str) -> None:
    """Let the conversation end with this message instead of ``leaf_id``.

    Raises ``RunLost`` where it ends otherwise or the run is not this worker's any more: one
    statement both moves the end and tells a worker that somebody else goes on.
    """
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    own = [holder.conversation, leaf_id, leaf_id, holder.run, holder.owner]
    with connection.cursor() as cursor:
        cursor.execute(_APPEND_LEAF, [message_id, now, *own])
        if cursor.rowcount != 1:
            raise RunLost(f"the conversation {holder.conversation} went on without this worker")


def move_leaf(conversation_id: str, message_id: str) -> None:
    """The conversation now ends with this message."""
    values = {"leaf_id": message_id, "updated_at": timezone.now()}
    update_rows(Conversation, {"id": conversation_id}, values)


_TAKE_RUN = """
UPDATE agents_run SET status = 'running', lease_owner = %s, lease_until = %s, started_at = %s
WHERE id = %s AND status = 'queued' AND NOT EXISTS (
    SELECT 1 FROM agents_run ahead
    WHERE ahead.conversation_id = agents_run.conversation_id AND ahead.parent_run_id IS NULL
    AND (ahead.status = 'running'
         OR ahead.status = 'queued' AND ahead.created_at < agents_run.created_at))
AND (SELECT COUNT(*) FROM agents_run own WHERE own.user_id = agents_run.user_id
     AND own.status = 'running' AND own.parent_run_id IS NULL) < %s
"""
"""Not through the ORM, which takes 1 ms to write it. What must end before a queued run may start: a
running one of its conversation, or an older queued one; and too many of the same person."""


_HOLD_PERSON = """
SELECT 1 FROM {table} WHERE id = (SELECT user_id FROM agents_run WHERE id = %s)
FOR NO KEY UPDATE
"""


def _take_run(run_id: str, owner: str) -> bool:
    """The conditional UPDATE; whether it counted 1."""
    adapted = connection.ops.adapt_datetimefield_value
    now = timezone.now()
    with connection.cursor() as cursor:
        if connection.features.has_select_for_update:
            # Two processes that count at the same moment would both find room: one waits.
            people = get_user_model()._meta.db_table
            cursor.execute(_HOLD_PERSON.format(table=people), [run_id])
        until, most = adapted(now + LEASE), settings.TOOLLOOP_RUNS_PER_USER
        cursor.execute(_TAKE_RUN, [owner, until, adapted(now), run_id, most])
        is_taken: bool = cursor.rowcount == 1
    return is_taken


def _attach_message(run: Run) -> None:
    """Put a run's user message at the end of its conversation, which it may give its title."""
    if run.message_id is None:
        return
    conversation = fetch_row(Conversation, id=run.conversation_id)
    joined = {"parent_id": conversation.leaf_id, "is_waiting": False, "run_id": run.pk}
    update_rows(Message, {"id": run.message_id}, joined)
    values = {"leaf_id": run.message_id, "updated_at": timezone.now()}
    if not conversation.title:
        message = fetch_row(Message, id=run.message_id)
        values["title"] = _first_words(str(message.content))
    update_rows(Conversation, {"id": conversation.pk}, values)


def _first_words(text: str) -> str:
    line = " ".join(without_hidden(text).split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1].rstrip()}…"
