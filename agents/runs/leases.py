"""Runs whose worker died, fell silent or gave them back: who may go on, and which must end.

Place in the house: ``agents.runs``. Plain synchronous functions on the database, as ``lifecycle``,
which alone writes the status.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.db.models import Case, Exists, F, OuterRef, When
from django.utils import timezone

from agents.models import Run, RunStatus
from agents.runs import lifecycle

MAX_TAKEOVERS = 2
"""How often a run whose worker died or fell silent is taken over before it is given up."""

LOST_WORDS = "The process that worked on this run ended."


def settle_lost_runs(conversation_id: str = "") -> tuple[list[str], list[str]]:
    """Look after running runs whose lease ran out: what may go on, and what ended here.

    Returns the ids of the runs that a process may take over, and of those that were ended: stopped
    by a person meanwhile, taken over too often, or in the middle of a delegation.
    """
    lost = Run.objects.filter(
        parent_run__isnull=True, status=RunStatus.RUNNING, lease_until__lt=timezone.now()
    )
    if conversation_id:
        lost = lost.filter(conversation_id=conversation_id)
    children = Run.objects.filter(parent_run=OuterRef("pk"), status=RunStatus.RUNNING)
    resumable, ended = [], []
    for run in lost.annotate(has_child=Exists(children)).order_by("created_at"):
        is_spent = run.takeovers >= MAX_TAKEOVERS and bool(run.lease_owner)
        if run.stop_requested:
            lifecycle.cancel_lost_run(run.pk)
            ended.append(run.pk)
        elif not is_spent and not run.has_child:
            resumable.append(run.pk)
        elif lifecycle.interrupt_run(run.pk, LOST_WORDS) is not None:
            ended.append(run.pk)
    return resumable, ended


def take_over_run(run_id: str, owner: str) -> bool:
    """Take a running run that its worker lost or gave back; ``False`` where it is taken already.

    What was given back does not count as a takeover.
    """
    now = timezone.now()
    lost = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, lease_until__lt=now)
    count = Case(When(lease_owner="", then=F("takeovers")), default=F("takeovers") + 1)
    taken = lost.update(lease_owner=owner, lease_until=now + lifecycle.LEASE, takeovers=count)
    return bool(taken == 1)


def release_run(run_id: str, owner: str) -> None:
    """Give a running run back: any process may go on with it at once."""
    held = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, lease_owner=owner)
    held.update(lease_owner="", lease_until=timezone.now())


def release_dead_owners(host: str, is_alive: Callable[[int], bool]) -> None:
    """Let the leases of processes of this machine run out that are known to be dead."""
    held = Run.objects.filter(
        status__in=[RunStatus.QUEUED, RunStatus.RUNNING], lease_owner__startswith=f"{host}/"
    )
    for owner in held.values_list("lease_owner", flat=True).distinct().order_by():
        number = owner.split("/")[1]
        if number.isdigit() and not is_alive(int(number)):
            held.filter(lease_owner=owner).update(lease_until=timezone.now())


def request_stop(conversation_id: str) -> list[str]:
    """Ask for the end of the conversation's running run, whichever process has it; its id."""
    running = Run.objects.filter(
        conversation_id=conversation_id, status=RunStatus.RUNNING, parent_run__isnull=True
    )
    running.update(stop_requested=True)
    return list(running.values_list("pk", flat=True))


def stop_requests(run_ids: Collection[str]) -> list[str]:
    """Which of these runs somebody wants to end."""
    wanted = Run.objects.filter(pk__in=run_ids, stop_requested=True)
    return list(wanted.values_list("pk", flat=True))
