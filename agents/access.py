"""Who may do and read what: the only place that decides it.

Place in the house: ``agents``. Views and consumers ask here and never filter by user themselves.
A superuser (an operator) may do everything but read other people's conversations.
"""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model, Q, QuerySet

from agents.models import Assistant, Conversation, Question, Run, RunStatus

TraceRow = TypeVar("TraceRow", bound=Model)
"""A table of traces, which this app does not know: its column ``user`` holds the key as text, and
``assistant`` the assistant's id."""

ALL_TRACES = "traces.view_trace"
"""The permission to read every trace."""


def readable_conversations(user: AbstractBaseUser) -> QuerySet[Conversation]:
    """The conversations of a user; none for somebody who is not logged in."""
    if not user.is_authenticated:
        return Conversation.objects.none()
    return Conversation.objects.filter(user=user)


def readable_runs(user: AbstractBaseUser) -> QuerySet[Run]:
    """The runs in a user's conversations, those of assistants whose traces the user's groups may
    read, and every run for who may read all traces."""
    if not user.is_authenticated:
        return Run.objects.none()
    if _reads_all(user):
        return Run.objects.all()
    theirs = Q(assistant__in=_assistants_by_traces(user).values("pk"))
    return Run.objects.filter(Q(conversation__user=user) | theirs)


def readable_traces(user: AbstractBaseUser, traces: QuerySet[TraceRow]) -> QuerySet[TraceRow]:
    """Of these traces the ones of a user's own runs, those of assistants whose traces the user's
    groups may read, and all for a superuser or who has the permission ``traces.view_trace``. A
    trace stays readable when its conversation is gone. Named in ``TOOLLOOP_TRACE_ACCESS``."""
    if not user.is_authenticated:
        return traces.none()
    if _reads_all(user):
        return traces
    # As values: the table of traces may be in another database, and one plain filter keeps its
    # index.
    theirs = list(_assistants_by_traces(user).values_list("assistant_id", flat=True))
    own = Q(user=str(user.pk))
    return traces.filter(own | Q(assistant__in=theirs)) if theirs else traces.filter(own)


def usable_assistants(user: AbstractBaseUser) -> QuerySet[Assistant]:
    """The assistants that a user may talk to: those without groups, and those of the user's groups.
    System assistants are nobody's partner."""
    if not user.is_authenticated:
        return Assistant.objects.none()
    rows = Assistant.objects.filter(is_system=False)
    if _is_superuser(user):
        return rows
    mine = Assistant.objects.filter(groups__in=_groups(user)).values("pk")
    return rows.filter(Q(groups__isnull=True) | Q(pk__in=mine)).distinct()


def may_chat(user: AbstractBaseUser, assistant: Assistant | None) -> bool:
    """Whether a user may send an assistant a message now; an old conversation gives no right."""
    return assistant is not None and usable_assistants(user).filter(pk=assistant.pk).exists()


def may_decide(user: AbstractBaseUser, question: Question) -> bool:
    """Whether a user may allow or deny a call: the person whose conversation it is, or, where the
    assistant has groups of approvers, their members alone (and a superuser)."""
    if not user.is_authenticated:
        return False
    assistant = question.run.assistant
    groups = assistant.approver_groups.all() if assistant is not None else ()
    if not groups:
        return bool(question.run.conversation.user_id == user.pk)
    return _is_superuser(user) or groups.filter(pk__in=_groups(user)).exists()


def questions_to_decide(user: AbstractBaseUser) -> QuerySet[Question]:
    """The open questions of assistants with groups of approvers that a user may decide."""
    if not user.is_authenticated:
        return Question.objects.none()
    open_ones = Question.objects.filter(
        is_allowed__isnull=True,
        run__status=RunStatus.RUNNING,
        run__assistant__approver_groups__isnull=False,
    )
    if not _is_superuser(user):
        open_ones = open_ones.filter(run__assistant__approver_groups__in=_groups(user))
    return open_ones.distinct().order_by("asked_at")


def is_approver(user: AbstractBaseUser) -> bool:
    """Whether a user is in any assistant's groups of approvers, or may be asked as a superuser."""
    if not user.is_authenticated:
        return False
    named = Assistant.objects.filter(approver_groups__isnull=False)
    return bool(
        named.exists()
        if _is_superuser(user)
        else named.filter(approver_groups__in=_groups(user)).exists()
    )


def _is_superuser(user: AbstractBaseUser) -> bool:
    return bool(getattr(user, "is_superuser", False))


def _reads_all(user: AbstractBaseUser) -> bool:
    return _is_superuser(user) or bool(user.has_perm(ALL_TRACES))  # type: ignore[attr-defined]


def _groups(user: AbstractBaseUser) -> QuerySet[Model]:
    return user.groups.values("pk")  # type: ignore[attr-defined,no-any-return]


def _assistants_by_traces(user: AbstractBaseUser) -> QuerySet[Assistant]:
    return Assistant.objects.filter(trace_groups__in=_groups(user)).distinct()
