"""Pieces of the page for what happens while it is open.

Place in the house: ``agents.chat``; the hub asks for them. A fragment replaces the element with its
id, or is put at the end of ``parent`` where there is none yet. They are made by the templates of
the page itself, so that a page that was open and one that was loaded look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.template.loader import render_to_string
from django.utils import translation

from agents.chat.conversation import (
    conversation_view,
    queue_view,
    running_run,
    status_view,
    user_message_view,
)
from agents.chat.conversation_list import conversation_entry, last_run
from agents.chat.rail import rail_view, run_rail
from agents.chat.rows import RunRows, read_conversation, read_run
from agents.chat.steps import find_batch, find_step, run_view
from agents.chat.view_models import RunView
from agents.loop.events import (
    Compacted,
    CompactionStarted,
    Event,
    FallbackStarted,
    ModelAnswered,
    ModelCancelled,
    ModelRequestStarted,
    ParameterRetry,
    ProviderRetry,
    RunFinished,
    RunStarted,
    ToolCallDecided,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    ToolCallWaiting,
    TurnFinished,
    TurnStarted,
)
from agents.loop.messages import JsonObject
from agents.models import Conversation
from agents.runs.live import LiveRun

LOG = "log"

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A piece of the page. ``mode`` is ``remove``, or ``replace``: append where it is missing."""

    id: str
    html: str
    parent: str = ""
    mode: str = "replace"

    def as_json(self) -> JsonObject:
        """The fragment as the socket sends it."""
        return {"id": self.id, "html": self.html, "parent": self.parent, "mode": self.mode}


async def render_event(event: Event, live: LiveRun, language: str) -> list[JsonObject]:
    """The fragments of an event, ready for the socket."""
    if not isinstance(event, _SHOWN):
        return []
    fragments = await _in_language(language, fragments_for, event, live)
    return [fragment.as_json() for fragment in fragments]


async def render_all(conversation_id: str, lives: dict[str, LiveRun], language: str) -> JsonObject:
    """A whole conversation, as ``{"html": the log, "items": everything around it}``."""
    return await _in_language(language, whole_conversation, conversation_id, lives)


async def render_queue(conversation_id: str, language: str) -> list[JsonObject]:
    """The fragments of the messages that wait."""
    fragments = await _in_language(language, fragments_for_queue, conversation_id)
    return [fragment.as_json() for fragment in fragments]


async def _in_language(language: str, make: Callable[..., Made], *arguments: Any) -> Made:
    """Made in the thread of the database, in the language of the page that gets it."""

    def work() -> Made:
        with translation.override(language):
            return make(*arguments)

    return await sync_to_async(work)()


_CALL_EVENTS = (ToolCallStarted, ToolCallWaiting, ToolCallDecided, ToolCallProgressed)
_STEP_EVENTS = (
    TurnStarted,
    CompactionStarted,
    Compacted,
    ModelAnswered,
    ModelCancelled,
    ParameterRetry,
    ProviderRetry,
)
_SHOWN = (
    RunStarted,
    RunFinished,
    ToolCallFinished,
    FallbackStarted,
    ModelRequestStarted,
    TurnFinished,
    *_CALL_EVENTS,
    *_STEP_EVENTS,
)


def fragments_for(event: Event, live: LiveRun) -> list[Fragment]:
    """What an event changes on the page; queries the database."""
    found = read_run(event.run)
    if found is None:
        return []
    rows, attachments = found
    lives = {live.run: live}
    view = run_view(rows, lives, attachments)
    match event:
        case RunStarted():
            queue = fragments_for_queue(live.conversation)
            return [*_article(rows, view), _status(rows, lives), *queue]
        case RunFinished():
            return [*_article(rows, view), *_everything_around(rows, lives)]
        case ModelRequestStarted(turn=0, attempt=1, try_number=1):
            # A run that began: the first text need not wait until all this is rendered.
            return _everything_around(rows, lives)
        case ToolCallFinished():
            return [*_batch(view, event.result.call.key), *_around(rows, lives)]
        case ToolCallStarted() | ToolCallWaiting() | ToolCallDecided():
            changed = _batch(view, event.call.key)
            return [*changed, *_around(rows, lives), *_entry(rows, lives)]
        case ToolCallProgressed():
            return _card(view, event.call.key)
        case _ if isinstance(event, _STEP_EVENTS):
            return [*_step(view, live), *_around(rows, lives)]
    return _around(rows, lives)


def fragments_for_queue(conversation_id: str) -> list[Fragment]:
    """The messages that wait."""
    html = _html("agents/_queue.html", {"queue": queue_view(conversation_id)})
    return [Fragment(id="queue", html=html, parent="dock")]


def whole_conversation(conversation_id: str, lives: Mapping[str, LiveRun]) -> JsonObject:
    """The log and everything around it, for a page that missed something."""
    conversation = (
        Conversation.objects.select_related("assistant__provider")
        .filter(pk=conversation_id)
        .first()
    )
    if conversation is None:
        return {"html": "", "items": []}
    view = conversation_view(conversation, lives)
    items = [
        _fragment("talk-title", "agents/_title.html", {"title": conversation.title}),
        _fragment("status", "agents/_status.html", {"status": view.status}),
        _fragment("queue", "agents/_queue.html", {"queue": view.queue}),
        _fragment("live-rail-body", "agents/_rail.html", {"rail": view.rail}),
        _fragment("rail-state", "agents/_rail_state.html", {"rail": view.rail.now}),
        *_entry_of(conversation, lives),
    ]
    return {
        "html": _html("agents/_log.html", {"view": view}),
        "items": [item.as_json() for item in items],
    }


def _article(rows: RunRows, view: RunView) -> list[Fragment]:
    """A run that began or ended: its message and its article."""
    fragments = [Fragment(id="intro", html="", mode="remove")]
    if rows.run.message is not None:
        message = user_message_view(rows.run.message)
        html = _html("agents/_user_message.html", {"item": message})
        fragments.append(Fragment(id=message.dom_id, html=html, parent=LOG))
    html = _html("agents/_run.html", {"item": view})
    fragments.append(Fragment(id=view.dom_id, html=html, parent=LOG))
    return fragments


def _everything_around(rows: RunRows, lives: Mapping[str, LiveRun]) -> list[Fragment]:
    """Status, queue, rails, title and the entry in the list."""
    conversation = rows.run.conversation
    rail = rail_view(read_conversation(conversation).runs, lives)
    return [
        _status(rows, lives),
        *fragments_for_queue(conversation.pk),
        _fragment("live-rail-body", "agents/_rail.html", {"rail": rail}),
        _fragment("rail-state", "agents/_rail_state.html", {"rail": rail.now}),
        _fragment("talk-title", "agents/_title.html", {"title": conversation.title}),
        *_entry(rows, lives),
    ]


def _around(rows: RunRows, lives: Mapping[str, LiveRun]) -> list[Fragment]:
    rail = run_rail(rows, lives.get(rows.run.pk))
    return [
        _status(rows, lives),
        _fragment("rail-now", "agents/_rail_now.html", {"rail": rail}),
        _fragment("rail-state", "agents/_rail_state.html", {"rail": rail}),
    ]


def _status(rows: RunRows, lives: Mapping[str, LiveRun]) -> Fragment:
    status = status_view(running_run(rows.run.conversation_id), lives)
    return _fragment("status", "agents/_status.html", {"status": status})


def _entry(rows: RunRows, lives: Mapping[str, LiveRun]) -> list[Fragment]:
    return _entry_of(rows.run.conversation, lives)


def _entry_of(conversation: Conversation, lives: Mapping[str, LiveRun]) -> list[Fragment]:
    entry = conversation_entry(
        conversation,
        last_run(conversation.pk),
        is_current=True,
        is_waiting=any(live.waiting for live in lives.values()),
    )
    return [Fragment(id=entry.dom_id, html=_html("agents/_entry.html", {"entry": entry}))]


def _step(view: RunView, live: LiveRun) -> list[Fragment]:
    """The present turn, and the one before it, which is not the present one any more."""
    step = find_step(view, f"step-{live.run}-{live.turn}")
    if step is None:
        return []
    place = list(view.steps).index(step)
    return [
        Fragment(
            id=shown.dom_id,
            html=_html("agents/_step.html", {"step": shown}),
            parent=f"steps-{view.id}",
        )
        for shown in view.steps[max(0, place - 1) : place + 1]
    ]


def _batch(view: RunView, key: str) -> list[Fragment]:
    found = find_batch(view, key)
    if found is None:
        return []
    step, batch, _ = found
    html = _html("agents/_batch.html", {"block": batch})
    return [Fragment(id=batch.dom_id, html=html, parent=step.dom_id)]


def _card(view: RunView, key: str) -> list[Fragment]:
    found = find_batch(view, key)
    if found is None:
        return []
    _, batch, card = found
    solo = not batch.is_group
    html = _html("agents/_card.html", {"card": card, "is_solo": solo})
    return [Fragment(id=card.dom_id, html=html, parent=batch.dom_id)]


def _fragment(name: str, template: str, context: dict[str, object]) -> Fragment:
    return Fragment(id=name, html=_html(template, context))


def _html(template: str, context: dict[str, object]) -> str:
    return render_to_string(template, context).strip()
