"""The page on which approvers decide on calls in other people's conversations.

Place in the house: ``agents``. Who may decide comes from ``agents.access``.
"""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from agents.access import is_approver, questions_to_decide, readable_runs
from agents.chat.open_questions import question_views
from agents.loop.interfaces import Approval
from agents.runs.approvals import store_answer
from agents.runs.web_process import web_process

REASON_CHARS = 2000


@login_required
@require_GET
def approvals(request: HttpRequest) -> HttpResponse:
    """The calls that wait for this person's groups, oldest first."""
    questions = questions_to_decide(request.user).select_related("run__assistant", "run__user")
    runs = readable_runs(request.user).filter(pk__in=questions.values("run"))
    context = {
        "section": "approvals",
        "questions": question_views(questions),
        "readable": set(runs.values_list("pk", flat=True)),
    }
    return render(request, "agents/approvals_page.html", context)


@login_required
@require_POST
def decide(request: HttpRequest) -> HttpResponse:
    """Allow (``allow=1``) or deny the call ``key``, with a ``reason``."""
    question = get_object_or_404(
        questions_to_decide(request.user), call_key=request.POST.get("key", "")
    )
    approval = Approval(
        is_allowed=request.POST.get("allow") == "1",
        reason=request.POST.get("reason", "")[:REASON_CHARS],
        by=request.user.get_username(),
    )
    conversation = str(question.run.conversation_id)
    if not store_answer(question.call_key, conversation, approval):
        text = _("Somebody else has decided on this call, or its run has ended.")
        context = {"text": text, "back": request.path.removesuffix("decide/")}
        return render(request, "agents/refused.html", context, status=409)
    if web_process() is not None:
        async_to_sync(_tell)(question.call_key)
    return redirect("approvals")


async def _tell(key: str) -> None:
    """Have the run that waits look at once, here or in another process."""
    process = web_process()
    if process is not None:
        process.approver.tell(key)
        process.ask_takers("decided", key=key)


def waiting_approvals(request: HttpRequest) -> dict[str, object]:
    """For every page: ``approvals`` is the number of calls that wait for this person, ``None`` for
    who is no approver. Asked only where a page shows it."""

    def count() -> int | None:
        user = getattr(request, "user", None)
        if user is None or not is_approver(user):
            return None
        return questions_to_decide(user).count()

    return {"approvals": SimpleLazyObject(lambda: _Count(count()))}


class _Count:
    """A number that may be none; a lazy object cannot stand for ``None`` itself."""

    def __init__(self, number: int | None) -> None:
        self.number = number
