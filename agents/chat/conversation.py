"""A conversation as its page shows it: stored rows with the live runs laid over them.

Place in the house: ``agents.chat``. Used by the page, by the log that repairs it, and by the
fragments.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.chat.endings import limits_of
from agents.chat.formats import count, language
from agents.chat.intro import assistant_intro
from agents.chat.own_words import own_sentences
from agents.chat.page_models import ConversationView
from agents.chat.rail import rail_view
from agents.chat.rows import ConversationRows, RunRows, read_conversation
from agents.chat.states import run_state
from agents.chat.steps import run_view, text_of_message
from agents.chat.view_models import (
    LogItem,
    QueuedView,
    StatusView,
    UserMessageView,
)
from agents.models import Conversation, Message, Run, RunStatus
from agents.runs.lifecycle import place_in_queue
from agents.runs.live import LiveRun


def conversation_view(
    conversation: Conversation, live: Mapping[str, LiveRun], *, seq: int = 0
) -> ConversationView:
    """Everything on the page. ``live`` holds the live runs of this process by run id; ``seq`` is
    the number of the last thing that happened before the rows were read."""
    rows = read_conversation(conversation)
    title = conversation.title or _("New conversation")
    return ConversationView(
        id=conversation.pk,
        title=title,
        title_lang=language(title),
        is_pinned=conversation.is_pinned,
        intro=assistant_intro(conversation.assistant),
        items=[_item(item, rows, live) for item in rows.items],
        status=status_view(running_run(conversation.pk), live),
        queue=queue_view(conversation.pk),
        rail=rail_view(rows.runs, live),
        seq=seq,
    )


def user_message_view(message: Message) -> UserMessageView:
    """What a person said."""
    text = text_of_message(message)
    return UserMessageView(
        dom_id=f"msg-{message.pk}", text=text, lang=language(text), at=message.created_at
    )


def running_run(conversation_id: str) -> Run | None:
    """The root run that is going on in a conversation."""
    runs = Run.objects.filter(
        conversation_id=conversation_id, status=RunStatus.RUNNING, parent_run__isnull=True
    )
    return runs.first()


def queue_view(conversation_id: str) -> list[QueuedView]:
    """The messages that wait, oldest first."""
    runs = (
        Run.objects.select_related("message")
        .filter(conversation_id=conversation_id, status=RunStatus.QUEUED)
        .order_by("created_at")
    )
    is_idle = running_run(conversation_id) is None
    return [
        _queued(run, text_of_message(run.message), is_first=is_idle and not number)
        for number, run in enumerate(run for run in runs if run.message is not None)
    ]


def _queued(run: Run, text: str, *, is_first: bool) -> QueuedView:
    place = ""
    if is_first:
        before = place_in_queue(run)
        words = ngettext("%(n)d run is before it", "%(n)d runs are before it", before)
        place = words % {"n": before} if before else _("it is next")
    return QueuedView(run_id=run.pk, text=text, lang=language(text), place=place)


def status_view(run: Run | None, lives: Mapping[str, LiveRun]) -> StatusView | None:
    """What is going on, in one line; ``None`` where nothing is."""
    if run is None:
        return None
    live = lives.get(run.pk)
    child = next((live for live in lives.values() if live.parent_run and not live.finished), None)
    shown = child or live
    is_waiting = shown is not None and bool(shown.waiting) and not shown.running
    return StatusView(
        state=run_state("waiting" if is_waiting else RunStatus.RUNNING),
        strong=_turn_words(run, shown),
        text=_activity(shown, is_ours=not run.configuration.get("deciders")),
        elapsed_ms=_elapsed_ms(run, live),
        is_stopping=run.stop_requested,
    )


def _item(item: Message | RunRows, rows: ConversationRows, live: Mapping[str, LiveRun]) -> LogItem:
    if isinstance(item, RunRows):
        return run_view(item, live, rows.attachments)
    return user_message_view(item)


def _turn_words(run: Run, live: LiveRun | None) -> str:
    if live is None:
        return _("Running")
    if live.turn == "F":
        return _("Fallback")
    most = (live.limits or limits_of(run)).get("max_turn")
    if live.turn == "0" or not isinstance(most, int):
        return _("First answer")
    return _("Turn %(n)s of %(most)s") % {"n": live.turn, "most": count(most)}


def _activity(live: LiveRun | None, *, is_ours: bool) -> str:
    """What is being waited for; ``is_ours``: the person who chats decides on calls."""
    if live is None:
        return ""
    parts = []
    if running := len(live.running):
        parts.append(
            ngettext("%(n)d call running", "%(n)d calls running", running) % {"n": running}
        )
    if waiting := len(live.waiting):
        words = (
            ngettext("%(n)d waits for you", "%(n)d wait for you", waiting)
            if is_ours
            else ngettext("%(n)d waits for others", "%(n)d wait for others", waiting)
        )
        parts.append(words % {"n": waiting})
    if parts:
        return ", ".join(parts)
    back_off = next((bar for bar in live.bars if bar.kind == "W" and bar.ended_ns is None), None)
    if back_off is not None:
        return _("trying again: %(error)s") % {"error": own_sentences(back_off.label)}
    if live.is_compacting:
        return _("summing up older messages")
    if live.text:
        return _("writing")
    return _("thinking") if live.is_thinking else _("waiting for the model")


def _elapsed_ms(run: Run, live: LiveRun | None) -> int:
    now = time.time_ns()
    if live is not None and live.started_ns:
        return max(0, (now - live.started_ns) // 1_000_000)
    if run.started_at is None:
        return 0
    return max(0, round(now / 1e6 - run.started_at.timestamp() * 1000))
