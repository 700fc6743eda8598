"""Who one talks to: an assistant's name, servers and first words.

Place in the house: ``agents.chat``. Reads what was stored at the last look at the servers; nothing
is asked here.
"""

from __future__ import annotations

from django.utils.translation import get_language

from agents.chat.formats import language
from agents.chat.states import server_state
from agents.chat.view_models import AssistantIntro, ServerLine, Starter
from agents.models import Assistant, AssistantServer

TITLE_CHARS = 70


def assistant_intro(assistant: Assistant) -> AssistantIntro:
    """An assistant as the empty state shows it."""
    links = (
        assistant.server_links.select_related("server")
        .prefetch_related("server__tools")
        .order_by("position")
    )
    provider = assistant.provider
    name = assistant.name or assistant.assistant_id
    return AssistantIntro(
        id=assistant.pk,
        name=name,
        description=assistant.description,
        lang=language(name + assistant.description),
        model=assistant.model or (provider.default_model if provider is not None else ""),
        servers=[_server_line(link) for link in links],
        starters=_own_language_first(
            [found for item in assistant.starters or [] if (found := _starter(item))]
        ),
    )


def _own_language_first(starters: list[Starter]) -> list[Starter]:
    """The starters in the order given, those in the reader's language before the others."""
    own = (get_language() or "").partition("-")[0]
    return sorted(starters, key=lambda starter: (starter.lang or "en") != own)


def _server_line(link: AssistantServer) -> ServerLine:
    server = link.server
    names = {tool.name for tool in server.tools.all() if tool.vanished_at is None}
    if link.allowed_tools is not None:
        names &= set(link.allowed_tools)
    return ServerLine(
        name=server.server_id,
        tools=len(names),
        state=server_state(server.last_error, was_checked=server.checked_at is not None),
        detail=server.last_error.strip().split("\n")[0][:200],
    )


def _starter(item: object) -> Starter | None:
    """A starter from its stored form, a text or ``{"title", "text"}``; ``None`` where it is
    neither."""
    text = item.get("text") if isinstance(item, dict) else item
    title = item.get("title") if isinstance(item, dict) else ""
    if not isinstance(text, str) or not text.strip():
        return None
    shown = str(title or text)
    if len(shown) > TITLE_CHARS:
        shown = f"{shown[: TITLE_CHARS - 1]}…"
    return Starter(title=shown, text=text, lang=language(text), tells_text=shown != text)
