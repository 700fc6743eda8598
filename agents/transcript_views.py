"""The pages that take a conversation away as a file, and bring one in.

Place in the house: ``agents``. People export and import their own conversations; the commands do so
for everybody.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from agents.access import readable_conversations, usable_assistants
from agents.models import Assistant, Conversation
from agents.transcripts.reading import read_transcript
from agents.transcripts.records import PAGE_BYTES, TranscriptRefused
from agents.transcripts.storing import store_conversations
from agents.transcripts.writing import RunGoesOn, conversation_lines

NAME_CHARS = 60


@login_required
@require_GET
def export_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """A conversation of one's own as a file of JSON Lines."""
    rows = readable_conversations(request.user).select_related("assistant")
    row = get_object_or_404(rows, pk=conversation_id)
    try:
        text = "".join(conversation_lines(row))
    except RunGoesOn:
        told = _("A run is going on in this conversation: stop it or wait, then export.")
        back = reverse("conversation", args=[row.pk])
        return render(request, "agents/refused.html", {"text": told, "back": back}, status=409)
    response = HttpResponse(text, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{_file_name(row)}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@login_required
@require_http_methods(["GET", "POST"])
def import_conversations(request: HttpRequest) -> HttpResponse:
    """The form; on POST the conversations of a file become one's own, all or none."""
    if request.method == "GET":
        return _page(request)
    file = request.FILES.get("file")
    if file is None:
        return _page(request, _("Choose a file."))
    if file.size > PAGE_BYTES:
        told = _("The file is larger than %(n)s bytes. An operator can import it by command.")
        return _page(request, told % {"n": f"{PAGE_BYTES:,}"})
    chosen = request.POST.get("assistant", "")
    assistants = usable_assistants(request.user)
    instead = get_object_or_404(assistants, pk=_number(chosen)) if chosen else None
    try:
        records = read_transcript(file.file, most_bytes=PAGE_BYTES)
        rows = store_conversations(request.user, records, assistants, instead=instead)
    except TranscriptRefused as fault:
        return _page(request, _("%(fault)s. Nothing was imported.") % {"fault": fault}, instead)
    return redirect("conversation", rows[0].pk)


def _page(request: HttpRequest, fault: str = "", chosen: Assistant | None = None) -> HttpResponse:
    context = {
        "fault": fault,
        "assistants": usable_assistants(request.user),
        "chosen": chosen,
        "most": f"{PAGE_BYTES // 1_000_000} MB",
    }
    return render(request, "agents/import_page.html", context, status=400 if fault else 200)


def _file_name(row: Conversation) -> str:
    """ASCII only: other letters of a title are left out."""
    name = slugify(row.title)[:NAME_CHARS].strip("-")
    return f"{name or 'conversation'}-{row.pk[:8]}.jsonl"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
