"""Who may read which traces: asked of the function that a setting names.

Place in the house: ``traces``. Views, fragments and sockets ask here and never filter by user
themselves. ``TOOLLOOP_TRACE_ACCESS`` is the dotted path of a function ``(user, traces) -> traces``.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from traces.models import Trace


def readable_traces(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Trace]:
    """The traces that a person may read; none for somebody who is not logged in."""
    if not user.is_authenticated:
        return Trace.objects.none()
    narrow = import_string(settings.TOOLLOOP_TRACE_ACCESS)
    found: QuerySet[Trace] = narrow(user, Trace.objects.all())
    return found
