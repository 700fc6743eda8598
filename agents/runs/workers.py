"""Which processes take runs: each of them says so every few seconds.

Place in the house: ``agents.runs``. Synchronous. Leases tell who holds a run; this tells whether
anybody would take the next one.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from agents.models import Worker

SIGN_SECONDS = 5.0
"""How often a process says that it takes runs."""

ALIVE = timedelta(seconds=20)
"""Who was silent for longer does not count."""

KEPT = timedelta(days=1)


def give_sign(owner: str, runs_at_once: int) -> int:
    """Store that this process takes runs; how many others do.

    What processes left behind that died a day ago is removed.
    """
    now = timezone.now()
    if not Worker.objects.filter(pk=owner).update(seen_at=now, runs_at_once=runs_at_once):
        Worker.objects.filter(seen_at__lt=now - KEPT).delete()
        Worker.objects.create(owner=owner, runs_at_once=runs_at_once, started_at=now, seen_at=now)
    return living_workers().exclude(pk=owner).count()


def sign_off(owner: str) -> None:
    """This process takes no more runs."""
    Worker.objects.filter(pk=owner).delete()


def living_workers() -> QuerySet[Worker]:
    """The processes that take runs now."""
    return Worker.objects.filter(seen_at__gt=timezone.now() - ALIVE)
