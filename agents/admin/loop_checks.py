"""What the button "Check the loop" does, and what a person is shown of it.

Place in the house: ``agents.admin``. The checks are those of the command ``verify_loop``.
"""

from __future__ import annotations

from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from agents.admin.marks import StateMark
from agents.encryption import DecryptionFailed
from agents.models import Assistant
from agents.runs.loop_checks.outcomes import LoopCheck, LoopReport, Verdict
from agents.runs.loop_checks.printing import step_text
from agents.runs.loop_checks.verifying import Wish, verify_loop
from agents.texts import show_hidden

PAGE_SECONDS = 90.0
"""How long a page may be waited for."""

SHOWN_CHARS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One check; ``raw`` is what went over the wire, ``note`` tells where it was cut."""

    number: int
    title: str
    state: StateMark
    sentence: str
    hint: str
    raw: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopView:
    """The fragment: one line on all of it and the three checks; or why there are none."""

    line: str
    is_closed: bool
    checks: tuple[CheckView, ...] = ()


def check_loop(request: HttpRequest, row: Assistant) -> LoopView:
    """Ask the model of an assistant, as it is saved. Bounded in time; raises nothing of others."""
    wish = Wish(user_id=request.user.pk)
    try:
        report = async_to_sync(verify_loop)(row, wish, seconds=PAGE_SECONDS)
    except DecryptionFailed as error:
        return LoopView(line=str(error), is_closed=False)
    return LoopView(
        line=_line(report),
        is_closed=report.is_closed,
        checks=tuple(_view(check) for check in report.checks),
    )


def answer_check(
    request: HttpRequest, row: Assistant, view: LoopView, page: dict[str, object]
) -> HttpResponse:
    """The fragment for the page that asked, or a page of its own where there are no scripts."""
    context = {"loop": view, "assistant": row, **page}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "admin/agents/assistant/_loop_checks.html", context)
    return render(request, "admin/agents/assistant/loop_checks.html", context)


def _line(report: LoopReport) -> str:
    passed = sum(check.verdict is Verdict.PASSED for check in report.checks)
    facts = {
        "passed": passed,
        "provider": report.provider or _("no provider"),
        "model": report.model or _("no model"),
        "seconds": f"{report.seconds:.1f}",
    }
    text = (
        _("The loop is closed: %(passed)d of 3 checks passed (%(provider)s, %(model)s, "
          "%(seconds)s s).")
        if report.is_closed
        else _("The loop is not closed: %(passed)d of 3 checks passed (%(provider)s, %(model)s, "
               "%(seconds)s s).")
    )  # fmt: skip
    return text % facts


def _view(check: LoopCheck) -> CheckView:
    raw = show_hidden("\n\n".join(step_text(step) for step in check.exchange))
    note = ""
    if len(raw) > SHOWN_CHARS:
        note = _("The first %(shown)s of %(all)s characters are shown.") % {
            "shown": f"{SHOWN_CHARS:,}",
            "all": f"{len(raw):,}",
        }
    return CheckView(
        number=check.check,
        title=check.title,
        state=_state(check.verdict),
        sentence=show_hidden(check.sentence),
        hint=show_hidden(check.hint),
        raw=raw[:SHOWN_CHARS],
        note=note,
    )


def _state(verdict: Verdict) -> StateMark:
    match verdict:
        case Verdict.PASSED:
            return StateMark(family="ok", icon="done", word=_("passed"))
        case Verdict.FAILED:
            return StateMark(family="bad", icon="error", word=_("failed"))
        case Verdict.NOT_ASKED:
            return StateMark(family="off", icon="skipped", word=_("not asked"))
