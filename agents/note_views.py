"""The page on which people see, change and delete what assistants remember of them.

Place in the house: ``agents``. Everybody sees their own notes alone.
"""

from __future__ import annotations

import hashlib

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from agents.access import usable_assistants
from agents.loop.prompts import MEMORY_SERVER
from agents.memory.notes import LASTING, Memory, NoteProblem
from agents.memory.recall import search_notes
from agents.models import Assistant, Note

FOUND = 20


@login_required
@require_http_methods(["GET", "POST"])
def notes(request: HttpRequest) -> HttpResponse:
    """The notes with one assistant, and one of them to be changed; POST stores it.

    ``assistant`` is a primary key, ``path`` a note's, ``q`` what to look for.
    """
    assistants = _assistants(request)
    chosen = _chosen(request, assistants)
    if chosen is None:
        return render(request, "agents/notes_page.html", {"assistants": []})
    if request.method == "POST":
        return _save(request, assistants, chosen)
    return _page(request, assistants, chosen, request.GET.get("path", ""))


@login_required
@require_POST
def delete_note(request: HttpRequest) -> HttpResponse:
    """Delete one note."""
    chosen = get_object_or_404(_assistants_of(request), pk=_number(request.POST.get("assistant")))
    note = get_object_or_404(_memory(request, chosen).notes, path=request.POST.get("path", ""))
    _memory(request, chosen).delete(note.path)
    return redirect(_address(chosen))


def _save(request: HttpRequest, assistants: list[Assistant], chosen: Assistant) -> HttpResponse:
    path, text = request.POST.get("path", "").strip(), request.POST.get("text", "")
    stored = _memory(request, chosen).notes.filter(path=path).first()
    if (stored is not None or request.POST.get("seen")) and _mark(stored) != request.POST.get(
        "seen"
    ):
        told = _("This note has changed meanwhile. Your text is below; saving again puts it there.")
        return _page(request, assistants, chosen, path, text=text, fault=told)
    try:
        _memory(request, chosen).write(path, text)
    except NoteProblem as problem:
        return _page(request, assistants, chosen, path, text=text, fault=str(problem))
    return redirect(_address(chosen, path))


def _page(
    request: HttpRequest,
    assistants: list[Assistant],
    chosen: Assistant,
    path: str,
    *,
    text: str | None = None,
    fault: str = "",
) -> HttpResponse:
    memory = _memory(request, chosen)
    rows = list(memory.notes)
    note = next((row for row in rows if row.path == path), None)
    query = request.GET.get("q", "").strip()
    context = {
        "section": "notes",
        "assistants": assistants,
        "chosen": chosen,
        "notes": sorted(rows, key=lambda row: (row.path != LASTING, row.path), reverse=False),
        "note": note,
        "path": path,
        "is_new": note is None and (path or text is not None or "new" in request.GET),
        "text": text if text is not None else (note.text if note else ""),
        "seen": _mark(note),
        "fault": fault,
        "query": query,
        "found": search_notes(memory, query, FOUND) if query else [],
        "lasting": LASTING,
    }
    status = 409 if fault else 200
    return render(request, "agents/notes_page.html", context, status=status)


def _assistants(request: HttpRequest) -> list[Assistant]:
    return list(_assistants_of(request))


def _assistants_of(request: HttpRequest):  # type: ignore[no-untyped-def]  # annotated rows
    """The assistants with which a person has notes, or may make some: those with the server."""
    person = request.user.pk
    usable = usable_assistants(request.user).filter(servers__server_id=MEMORY_SERVER)
    return (
        Assistant.objects.filter(Q(pk__in=usable.values("pk")) | Q(notes__user_id=person))
        .annotate(note_number=Count("notes", filter=Q(notes__user_id=person), distinct=True))
        .order_by("name")
        .distinct()
    )


def _chosen(request: HttpRequest, assistants: list[Assistant]) -> Assistant | None:
    wanted = _number(request.POST.get("assistant") or request.GET.get("assistant"))
    first = assistants[0] if assistants else None
    return next((row for row in assistants if row.pk == wanted), first)


def _memory(request: HttpRequest, assistant: Assistant) -> Memory:
    return Memory(user_id=request.user.pk, assistant_id=assistant.pk)


def _mark(note: Note | None) -> str:
    """What a text was when the page was made."""
    return "" if note is None else hashlib.sha256(note.text.encode()).hexdigest()[:16]


def _address(assistant: Assistant, path: str = "") -> str:
    asked = {"assistant": assistant.pk, **({"path": path} if path else {})}
    return f"{reverse('notes')}?{urlencode(asked)}"


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
