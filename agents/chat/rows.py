"""The stored rows that the chat shows, read in few queries.

Place in the house: ``agents.chat``. Only the path from the conversation's leaf to its root is
shown; a run brings its child runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from agents.models import Attachment, Conversation, Message, MessageRole, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """A run with its messages in order (its user message left out) and its child runs."""

    run: Run
    messages: Sequence[Message] = ()
    children: Sequence[RunRows] = ()

    @property
    def all_messages(self) -> list[Message]:
        """Its messages and those of its children, in the order of the conversation."""
        return [*self.messages, *(m for child in self.children for m in child.all_messages)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRows:
    """What is shown: user messages and root runs, in order."""

    items: Sequence[Message | RunRows]
    runs: Sequence[RunRows]
    attachments: dict[str, list[Attachment]] = field(default_factory=dict)


def read_conversation(conversation: Conversation) -> ConversationRows:
    """The rows on the path to the conversation's leaf."""
    path = _path(conversation)
    runs = _runs_of(conversation.pk, path)
    items: list[Message | RunRows] = []
    seen: set[str] = set()
    for message in path:
        if message.role == MessageRole.USER:
            items.append(message)
        root = _root_id(message.run_id, runs)
        if root is not None and root not in seen:
            seen.add(root)
            items.append(_rows_of(runs[root], path, runs.values()))
    rows = [item for item in items if isinstance(item, RunRows)]
    return ConversationRows(items=items, runs=rows, attachments=read_attachments(path))


def read_run(run_id: str) -> tuple[RunRows, dict[str, list[Attachment]]] | None:
    """The root run that a run belongs to, with its messages; ``None`` where it is gone."""
    run = Run.objects.select_related("assistant", "conversation").filter(pk=run_id).first()
    while run is not None and run.parent_run_id is not None:
        run = (
            Run.objects.select_related("assistant", "conversation")
            .filter(pk=run.parent_run_id)
            .first()
        )
    if run is None:
        return None
    runs = {run.pk: run, **_descendants(run)}
    messages = list(Message.objects.filter(run_id__in=runs).order_by("created_at"))
    return _rows_of(run, messages, runs.values()), read_attachments(messages)


def read_attachments(messages: Iterable[Message]) -> dict[str, list[Attachment]]:
    """The attachments by their message's id, without their content."""
    ids = [message.pk for message in messages if message.role == MessageRole.TOOL]
    found: dict[str, list[Attachment]] = {}
    for row in Attachment.objects.filter(message_id__in=ids).defer("content"):
        found.setdefault(row.message_id, []).append(row)
    return found


def _path(conversation: Conversation) -> list[Message]:
    """The messages from the root to the leaf; a circle, which the database allows, ends it."""
    rows = {row.pk: row for row in Message.objects.filter(conversation_id=conversation.pk)}
    path: list[Message] = []
    current = rows.pop(conversation.leaf_id or "", None)
    while current is not None:
        path.append(current)
        current = rows.pop(current.parent_id or "", None)
    return path[::-1]


def _runs_of(conversation_id: str, path: Sequence[Message]) -> dict[str, Run]:
    ids = {message.run_id for message in path if message.run_id}
    wanted = Q(pk__in=ids) | Q(conversation_id=conversation_id, parent_run__isnull=False)
    return {run.pk: run for run in Run.objects.select_related("assistant").filter(wanted)}


def _descendants(root: Run) -> dict[str, Run]:
    children = Run.objects.select_related("assistant").filter(
        conversation_id=root.conversation_id, parent_run__isnull=False, trace_id=root.trace_id
    )
    return {run.pk: run for run in children}


def _root_id(run_id: str | None, runs: dict[str, Run]) -> str | None:
    current = runs.get(run_id or "")
    for _ in range(len(runs)):
        if current is None or current.parent_run_id is None:
            break
        current = runs.get(current.parent_run_id)
    return current.pk if current is not None else None


def _rows_of(run: Run, messages: Sequence[Message], runs: Iterable[Run]) -> RunRows:
    children = sorted(
        (child for child in runs if child.parent_run_id == run.pk), key=lambda r: r.created_at
    )
    own = [m for m in messages if m.run_id == run.pk and m.role != MessageRole.USER]
    return RunRows(
        run=run,
        messages=own,
        children=tuple(_rows_of(child, messages, runs) for child in children),
    )
