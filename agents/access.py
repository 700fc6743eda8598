"""Who may read what: the only place that decides it.

Place in the house: ``agents``. Views and consumers ask here and never filter by user themselves.
"""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model, QuerySet

from agents.models import Assistant, Conversation, Run

TraceRow = TypeVar("TraceRow", bound=Model)
"""A table of traces, which this app does not know: its column ``user`` holds the key as text."""


def readable_conversations(user: AbstractBaseUser) -> QuerySet[Conversation]:
    """The conversations of a user; none for somebody who is not logged in."""
    if not user.is_authenticated:
        return Conversation.objects.none()
    return Conversation.objects.filter(user=user)


def readable_runs(user: AbstractBaseUser) -> QuerySet[Run]:
    """The runs in a user's conversations, and every run for a superuser (an operator)."""
    if not user.is_authenticated:
        return Run.objects.none()
    if getattr(user, "is_superuser", False):
        return Run.objects.all()
    return Run.objects.filter(conversation__user=user)


def readable_traces(user: AbstractBaseUser, traces: QuerySet[TraceRow]) -> QuerySet[TraceRow]:
    """Of these traces the ones of a user's own runs, and every one for a superuser; a trace stays
    readable when its conversation is gone. Named in ``TOOLLOOP_TRACE_ACCESS``."""
    if not user.is_authenticated:
        return traces.none()
    if getattr(user, "is_superuser", False):
        return traces
    return traces.filter(user=str(user.pk))


def usable_assistants(user: AbstractBaseUser) -> QuerySet[Assistant]:
    """The assistants that a user may talk to; system assistants are nobody's partner."""
    if not user.is_authenticated:
        return Assistant.objects.none()
    return Assistant.objects.filter(is_system=False)
