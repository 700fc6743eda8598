"""Calls that wait for a person in the browser.

Place in the house: ``agents.runs``. The question stands in the database, so that every tab shows it
and every process can take the answer; it outlives the process that asked. Whoever owns the
conversation decides once. Waiting costs the run nothing; after an hour it counts as denied.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.loop.interfaces import Approval, ApprovalRequest
from agents.models import AuditEntry, AuditKind, Question
from agents.texts import storable

WAIT_SECONDS = 3600.0
"""How long a question may stay open."""

LOOK_SECONDS = 1.0
"""How often the database is asked for an answer that another process took."""


class BrowserApprover:
    """Asks through the database, and is told at once of answers that this process takes."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Event] = {}

    async def decide(self, request: ApprovalRequest) -> Approval:
        """The person's decision, or a denial when nobody answered in time.

        A call that was decided on before its process ended is not asked about again.
        """
        key = request.call.key
        told = self._open[key] = asyncio.Event()
        try:
            while True:
                approval = await sync_to_async(_ask)(request)
                if approval is not None:
                    return approval
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await told.wait()
                except TimeoutError:
                    continue
        finally:
            self._open.pop(key, None)

    async def answer(self, key: str, conversation_id: str, approval: Approval) -> bool:
        """Decide an open question of a conversation; ``False`` where it is not open any more."""
        is_first = await sync_to_async(store_answer)(key, conversation_id, approval)
        self.tell(key)
        return is_first

    def tell(self, key: str) -> None:
        """Look for the answer to a question now, if it is asked here."""
        told = self._open.get(key)
        if told is not None:
            told.set()


def _ask(request: ApprovalRequest) -> Approval | None:
    """The decision on a call; the question is stored where it is not yet."""
    question, _ = Question.objects.get_or_create(
        call_key=request.call.key,
        defaults={
            "run_id": request.run,
            "server": request.server,
            "tool": storable(request.tool),
            "arguments": storable(request.arguments),
        },
    )
    if question.is_allowed is None:
        if timezone.now() < question.asked_at + timedelta(seconds=WAIT_SECONDS):
            return None
        denied = Approval(is_allowed=False, reason="Nobody answered within an hour.", by="nobody")
        _decide(Question.objects.filter(pk=question.pk), denied)
        return denied
    return Approval(is_allowed=question.is_allowed, reason=question.reason, by=question.by)


@transaction.atomic
def store_answer(key: str, conversation_id: str, approval: Approval) -> bool:
    """Store a person's decision on an open question, and who took it in the audit; ``False`` where
    the question is not open any more."""
    questions = Question.objects.filter(
        call_key=key, run__conversation_id=conversation_id, run__status="running"
    )
    if not _decide(questions, approval):
        return False
    question = questions.get()
    AuditEntry.objects.create(
        who=approval.by[:150],
        kind=AuditKind.DECISION,
        subject=f"{question.server}.{question.tool}"[:300],
        after={"allowed": approval.is_allowed, "run": question.run_id},
        reason=storable(approval.reason),
    )
    return True


def _decide(questions: QuerySet[Question], approval: Approval) -> bool:
    """Store a decision where there is none yet."""
    undecided = questions.filter(is_allowed__isnull=True)
    decided = undecided.update(
        is_allowed=approval.is_allowed,
        reason=storable(approval.reason),
        by=approval.by[:200],
        decided_at=timezone.now(),
    )
    return bool(decided == 1)
