"""The list of a person's conversations, grouped by when they were last touched.

Place in the house: ``agents.chat``. Reads; who may read what comes from ``agents.access``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.access import readable_conversations
from agents.chat.endings import ending_words
from agents.chat.formats import language
from agents.chat.states import run_state
from agents.chat.view_models import ConversationEntry, EntryGroup
from agents.models import Conversation, Message, MessageRole, Run, RunStatus

LIST_LENGTH = 200
"""The most conversations that the list shows; search finds the others."""


def conversation_groups(
    user: AbstractBaseUser,
    *,
    query: str = "",
    current: str = "",
    waits_for_person: Callable[[str], bool] = lambda conversation_id: False,
) -> list[EntryGroup]:
    """The user's conversations under headings; with a query those whose title or text holds it.

    ``waits_for_person`` tells whether a call of a running conversation waits for its owner.
    """
    found = readable_conversations(user).filter(user=user).select_related("assistant")
    if query:
        found = found.filter(Q(title__icontains=query) | Q(pk__in=_with_text(user, query)))
    rows = list(found.order_by("-is_pinned", "-updated_at")[:LIST_LENGTH])
    last = _last_runs([row.pk for row in rows])
    groups: dict[str, list[ConversationEntry]] = {}
    for row in rows:
        run = last.get(row.pk)
        entry = conversation_entry(
            row,
            run,
            is_current=row.pk == current,
            is_waiting=run is not None
            and run.status == RunStatus.RUNNING
            and waits_for_person(row.pk),
        )
        groups.setdefault(_heading(row, timezone.now()), []).append(entry)
    return [EntryGroup(title=title, entries=entries) for title, entries in groups.items()]


def conversation_entry(
    row: Conversation, run: Run | None, *, is_current: bool = False, is_waiting: bool = False
) -> ConversationEntry:
    """One conversation of the list with the state of its last run."""
    title = row.title or _("New conversation")
    state, detail = None, row.assistant.name or row.assistant.assistant_id
    if run is not None and run.status != RunStatus.COMPLETED:
        state = run_state(
            "waiting" if is_waiting and run.status == RunStatus.RUNNING else run.status
        )
        detail = state.word if run.status != RunStatus.FAILED else ending_words(run)
    return ConversationEntry(
        id=row.pk,
        dom_id=f"cv-{row.pk}",
        title=title,
        lang=language(title),
        detail=detail,
        at=row.updated_at,
        state=state,
        is_pinned=row.is_pinned,
        is_current=is_current,
    )


def last_run(conversation_id: str) -> Run | None:
    """The root run that tells how a conversation stands."""
    return _last_runs([conversation_id]).get(conversation_id)


def _with_text(user: AbstractBaseUser, query: str) -> QuerySet[Message]:
    """The conversations in which a person or the assistant said this.

    SQLite keeps JSON with escapes (``\\u5317``), PostgreSQL as it is: both are looked for.
    """
    escaped = json.dumps(query)[1:-1]
    is_said = Q(content__icontains=escaped)
    if not set(query) & {'"', "\\"}:
        # Else it would find the marks of JSON itself.
        is_said |= Q(content__icontains=query)
    return Message.objects.filter(
        is_said,
        conversation__user=user,
        role__in=[MessageRole.USER, MessageRole.ASSISTANT],
    ).values("conversation_id")


def _last_runs(conversation_ids: Sequence[str]) -> dict[str, Run]:
    """The run that is going on in each conversation, or the newest one."""
    runs = Run.objects.filter(conversation_id__in=conversation_ids, parent_run__isnull=True)
    found: dict[str, Run] = {}
    for run in runs.defer("configuration").order_by("created_at"):
        before = found.get(run.conversation_id)
        if before is None or before.status != RunStatus.RUNNING:
            found[run.conversation_id] = run
    return found


def _heading(row: Conversation, now: datetime) -> str:
    if row.is_pinned:
        return _("Pinned")
    today = timezone.localtime(now).date()
    days = (today - timezone.localtime(row.updated_at).date()).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    if days <= timedelta(days=7).days:
        return _("Last 7 days")
    return _("Earlier")
