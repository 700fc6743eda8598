"""The files of a conversation's workspace: listed, and taken away.

Place in the house: ``agents``. People see the files of their own conversations alone.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from agents.access import readable_conversations
from agents.chat.formats import bytes_size
from agents.models import Conversation
from agents.workspace.directory import Workspace, WorkspaceProblem
from agents.workspace.places import workspace_of


@login_required
@require_GET
def conversation_files(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """The files in a conversation's workspace."""
    row = _own_or_404(request, conversation_id)
    files = [
        {"path": entry.path, "size": bytes_size(entry.bytes)}
        for entry in _workspace(row).entries()
        if entry.kind == "file" and not entry.path.startswith(".")
    ]
    return render(request, "agents/files_page.html", {"conversation": row, "files": files})


@login_required
@require_GET
def conversation_file(request: HttpRequest, conversation_id: str, path: str) -> HttpResponse:
    """One file, to be kept; nothing in it can run."""
    row = _own_or_404(request, conversation_id)
    try:
        content = _workspace(row).read(path)
    except WorkspaceProblem as problem:
        raise Http404(str(problem)) from problem
    response = HttpResponse(content, content_type="application/octet-stream")
    name = path.rpartition("/")[2]
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _own_or_404(request: HttpRequest, conversation_id: str) -> Conversation:
    rows = readable_conversations(request.user).filter(user=request.user)
    return get_object_or_404(rows, pk=conversation_id)


def _workspace(row: Conversation) -> Workspace:
    return workspace_of(user_id=row.user_id, assistant_id=row.assistant_id, conversation=row.pk)
