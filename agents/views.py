"""The pages of the chat.

Place in the house: ``agents``. A view parses, calls one thing, renders; who may read what comes
from ``agents.access``.
"""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.access import may_chat, readable_conversations, usable_assistants
from agents.chat.accepting import MessageFault, command_fault, message_fault
from agents.chat.conversation import conversation_view, running_run
from agents.chat.conversation_list import conversation_groups
from agents.chat.intro import assistant_intro
from agents.chat.page_models import ConversationView
from agents.chat.view_models import EntryGroup
from agents.models import Assistant, Attachment, Conversation, Provider, Server
from agents.runs import lifecycle
from agents.runs.stored_lives import conversations_that_ask, stored_lives
from agents.runs.stored_messages import is_summary
from agents.runs.web_process import web_process
from agents.texts import is_blank, without_hidden
from agents.workspace.places import drop_workspace

SHOWN_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg"}
    | {"audio/wav", "audio/x-wav", "audio/ogg", "audio/mp4", "audio/webm", "audio/flac"}
)
"""What a browser may show of an attachment; anything else is only offered for download."""

TITLE_CHARS = 200


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The newest conversation, the result of a search, or the empty state."""
    query = request.GET.get("q", "").strip()
    newest = _own(request).order_by("-updated_at").first()
    if newest is None or query:
        return _new_page(request, query=query)
    return redirect("conversation", newest.pk)


@login_required
@require_http_methods(["GET", "POST"])
def new_conversation(request: HttpRequest) -> HttpResponse:
    """The choice of an assistant; on POST a conversation with it, with a first message if given."""
    if request.method == "GET":
        return _new_page(request)
    assistant = get_object_or_404(
        usable_assistants(request.user), pk=_number(request.POST.get("assistant"))
    )
    text = request.POST.get("text", "")
    if text and (fault := _message_fault(text)):
        return _refused(request, fault.text, reverse("new_conversation"), status=400)
    conversation = lifecycle.start_conversation(request.user, assistant)
    if text:
        _submit(conversation, text)
    return redirect("conversation", conversation.pk)


@login_required
@require_GET
def conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """The page of one conversation."""
    row = _own_or_404(request, conversation_id)
    context = {
        "section": "chat",
        "view": _view(row),
        "groups": _groups(request, current=row.pk),
    }
    return render(request, "agents/chat_page.html", context)


@login_required
@require_GET
def log(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """The messages alone, for a page that missed something."""
    row = _own_or_404(request, conversation_id)
    return render(request, "agents/_log.html", {"view": _view(row)})


@login_required
@require_GET
def conversation_list(request: HttpRequest) -> HttpResponse:
    """The list of conversations alone, narrowed by ``q``."""
    query = request.GET.get("q", "").strip()
    current = request.GET.get("current", "")
    groups = _groups(request, query=query, current=current)
    return render(request, "agents/_list.html", {"groups": groups, "query": query})


@login_required
@require_POST
def send_message(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Queue a message; the way without scripts and sockets."""
    row = _own_or_404(request, conversation_id)
    text = request.POST.get("text", "")
    back = reverse("conversation", args=[row.pk])
    if fault := _message_fault(text, row):
        return _refused(request, fault.text, back, status=400)
    if not may_chat(request.user, row.assistant):
        told = _("You may not use this assistant any more. An operator decides who may.")
        return _refused(request, told, back, status=403)
    _submit(row, text)
    return redirect("conversation", row.pk)


@login_required
@require_POST
def rename_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Give a conversation another title; an empty one is not taken."""
    row = _own_or_404(request, conversation_id)
    title = " ".join(without_hidden(request.POST.get("title", "")).split())[:TITLE_CHARS]
    if not is_blank(title):
        _own(request).filter(pk=row.pk).update(title=title)
        _announce(row.pk)
    return redirect("conversation", row.pk)


@login_required
@require_POST
def pin_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Pin a conversation (``pinned=1``) or let it go."""
    row = _own_or_404(request, conversation_id)
    _own(request).filter(pk=row.pk).update(is_pinned=request.POST.get("pinned") == "1")
    return redirect("conversation", row.pk)


@login_required
@require_POST
def delete_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Delete a conversation with everything in it, unless a run is going on."""
    row = _own_or_404(request, conversation_id)
    if running_run(row.pk) is not None:
        text = _("A run is going on in this conversation: stop it first, then delete.")
        return _refused(request, text, reverse("conversation", args=[row.pk]), status=409)
    drop_workspace(row)
    row.delete()
    return redirect("home")


@login_required
@require_GET
def attachment(request: HttpRequest, message_id: str, position: int) -> HttpResponse:
    """A picture or sound that a tool returned; nothing in it can run."""
    found = Attachment.objects.filter(
        message_id=message_id,
        position=position,
        message__conversation__in=_own(request),
    ).first()
    if found is None:
        raise Http404("no such attachment")
    is_shown = found.mime_type in SHOWN_TYPES
    kind = found.mime_type if is_shown else "application/octet-stream"
    response = HttpResponse(bytes(found.content), content_type=kind)
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, max-age=86400, immutable"
    if not is_shown:
        response["Content-Disposition"] = f'attachment; filename="attachment-{position}"'
    return response


def _refused(request: HttpRequest, text: str, back: str, *, status: int) -> HttpResponse:
    """A page that says why something was not done."""
    return render(request, "agents/refused.html", {"text": text, "back": back}, status=status)


def _own(request: HttpRequest) -> QuerySet[Conversation]:
    """The conversations of the person themselves, for operators too."""
    return readable_conversations(request.user).filter(user=request.user)


def _own_or_404(request: HttpRequest, conversation_id: str) -> Conversation:
    rows = _own(request).select_related("assistant__provider")
    return get_object_or_404(rows, pk=conversation_id)


def _view(row: Conversation) -> ConversationView:
    """The conversation with what is going on in this process; the number is read first, so that
    nothing that happens meanwhile is taken for shown."""
    process = web_process()
    if process is None:
        return conversation_view(row, stored_lives(row.pk))
    seq = process.hub.seq(row.pk) if process.follower.follows(row.pk) else 0
    lives = process.hub.live_runs(row.pk) or stored_lives(row.pk)
    return conversation_view(row, lives, seq=seq)


def _groups(request: HttpRequest, *, query: str = "", current: str = "") -> list[EntryGroup]:
    """The list of conversations, with those that wait for their owner marked."""
    asking = conversations_that_ask(request.user)
    return conversation_groups(
        request.user, query=query, current=current, waits_for_person=asking.__contains__
    )


def _new_page(request: HttpRequest, *, query: str = "") -> HttpResponse:
    assistants = list(usable_assistants(request.user).select_related("provider"))
    wanted = _number(request.GET.get("assistant"))
    chosen = next((a for a in assistants if a.pk == wanted), assistants[0] if assistants else None)
    context = {
        "section": "chat",
        "view": None,
        "groups": _groups(request, query=query),
        "query": query,
        "assistants": assistants,
        "intro": assistant_intro(chosen) if chosen is not None else None,
        "checklist": _checklist() if chosen is None else [],
    }
    return render(request, "agents/chat_page.html", context)


def _checklist() -> list[dict[str, object]]:
    """What an operator still has to set up, with links into the admin."""
    steps = (
        (_("A provider: where the model answers"), Provider.objects.exists(), "provider"),
        (_("A server: which tools there are"), Server.objects.exists(), "server"),
        (
            _("An assistant: who uses which tools"),
            Assistant.objects.filter(is_system=False).exists(),
            "assistant",
        ),
    )
    return [
        {"title": title, "is_done": is_done, "url": reverse(f"admin:agents_{model}_changelist")}
        for title, is_done, model in steps
    ]


def _message_fault(text: str, conversation: Conversation | None = None) -> MessageFault | None:
    leaf = conversation.leaf if conversation is not None else None
    is_empty = leaf is None or is_summary(leaf)
    return message_fault(text) or command_fault(text, is_empty=is_empty)


def _submit(conversation: Conversation, text: str) -> None:
    """Queue a message and have the process look for it at once."""
    lifecycle.submit_message(conversation, text)
    _announce(conversation.pk)


def _announce(conversation_id: str) -> None:
    """Have this process and others look at what changed."""
    if web_process() is not None:
        async_to_sync(_announce_on_loop)(conversation_id)


async def _announce_on_loop(conversation_id: str) -> None:
    process = web_process()
    if process is not None:
        process.announce(conversation_id)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else 0
