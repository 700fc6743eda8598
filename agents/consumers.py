"""The socket of one conversation in one browser tab.

Place in the house: ``agents``. A consumer translates: JSON to a call, and what the hub sends to the
socket. It never awaits a model; a closed tab stops nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from asgiref.sync import sync_to_async
from channels.auth import get_user
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from agents.access import may_chat, may_decide, readable_conversations
from agents.chat.accepting import MessageFault, command_fault, message_fault
from agents.chat.fragments import render_all, render_event, render_queue
from agents.loop.interfaces import Approval
from agents.loop.messages import JsonObject
from agents.models import Conversation, Question
from agents.runs import leases, lifecycle
from agents.runs.stored_messages import is_summary
from agents.runs.web_process import WebProcess, start_web_process
from agents.texts import storable

NOT_ALLOWED = _("You may not use this assistant any more. An operator decides who may.")

MAX_WAITING = 500
"""Messages that may wait for a slow browser; beyond that it is told to fetch everything anew."""

NOT_FOUND, LOGGED_OUT = 4404, 4401


class UnknownConsumer(AsyncWebsocketConsumer):
    """Closes what asked for an address that is none."""

    async def connect(self) -> None:
        """Accept, as only then the code reaches the browser, and close."""
        await self.accept()
        await self.close(code=NOT_FOUND)


class ConversationConsumer(AsyncWebsocketConsumer):
    """Sends what happens in a conversation and takes what its owner does."""

    async def connect(self) -> None:
        """Accept the owner; others are closed with a code that says why."""
        self.outbox: asyncio.Queue[str] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        self.conversation_id = self.scope["url_route"]["kwargs"]["conversation_id"]
        user = self.scope["user"]
        await self.accept()
        if not user.is_authenticated:
            await self.close(code=LOGGED_OUT)
            return
        conversation = await sync_to_async(self._find)(user)
        if conversation is None:
            await self.close(code=NOT_FOUND)
            return
        self.user_name = user.get_username()
        self.shown_queue: list[JsonObject] = []
        self.language = self._language()
        self.process: WebProcess = start_web_process(render_event, render_all)
        self.sender = asyncio.create_task(self._send_outbox())
        self.process.hub.watch(self.conversation_id, self)
        self.process.follower.watch(self.conversation_id)

    async def disconnect(self, code: int) -> None:
        """Stop sending; runs go on."""
        if self.sender is None:
            return
        self.process.hub.unwatch(self.conversation_id, self)
        self.sender.cancel()
        with suppress(asyncio.CancelledError):
            await self.sender

    def put(self, text: str) -> None:
        """Send this when the socket can take it; a browser that is far behind starts anew."""
        if self.outbox.qsize() >= MAX_WAITING:
            while not self.outbox.empty():
                self.outbox.get_nowait()
            self.process.hub.sync(self.conversation_id, self)
            return
        self.outbox.put_nowait(text)

    def end(self) -> None:
        """Send nothing any more: the process ends, and the browser connects to the next one."""
        if self.sender is not None:
            self.sender.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Carry out one message of the browser; a faulty one gets an error reply."""
        if self.sender is None:
            return
        try:
            message = storable(json.loads(text_data or ""))
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._error("bad_message", "expected a JSON object with a type")
            return
        act = self._acts().get(str(message.get("type")))
        if act is None:
            self._error("unknown_type", f"there is no message of type {message.get('type')!r:.60}")
            return
        if not await self._is_logged_in():
            await self.close(code=LOGGED_OUT)
            return
        await act(message)

    def _acts(self) -> dict[str, Callable[[dict[str, Any]], Awaitable[None]]]:
        return {
            "hello": self._hello,
            "send": self._submit,
            "stop": self._stop,
            "stop_call": self._stop_call,
            "decide": self._decide,
            "unqueue": self._unqueue,
            "place": self._tell_place,
            "ping": self._ping,
        }

    async def _is_logged_in(self) -> bool:
        """Whether the session that opened this socket still is this person's: read anew."""
        store = import_module(settings.SESSION_ENGINE).SessionStore
        user = await get_user({"session": store(self.scope["session"].session_key)})
        return bool(user.pk == self.scope["user"].pk)

    async def _hello(self, message: dict[str, Any]) -> None:
        hub = self.process.hub
        if message.get("seq") == hub.seq(self.conversation_id):
            self.put(json.dumps({"type": "current", "seq": message["seq"]}))
            return
        hub.sync(self.conversation_id, self)

    async def _submit(self, message: dict[str, Any]) -> None:
        token = message.get("token")
        with translation.override(self.language):
            fault = message_fault(message.get("text"))
        if fault is not None:
            self._error(fault.code, fault.text, token)
            return
        fault = await sync_to_async(self._store_message)(str(message["text"]))
        if fault is not None:
            self._error(fault.code, fault.text, token)
            return
        self.put(json.dumps({"type": "accepted", "token": token}))
        self._refresh_queue()

    async def _stop(self, message: dict[str, Any]) -> None:
        for run_id in await sync_to_async(leases.request_stop)(self.conversation_id):
            self.process.supervisor.stop_run(run_id)
        self.process.announce(self.conversation_id)

    async def _stop_call(self, message: dict[str, Any]) -> None:
        key = str(message.get("key"))
        lives = self.process.hub.live_runs(self.conversation_id)
        is_ours = any(call.key == key for live in lives.values() for call in live.running)
        if is_ours and self.process.open_calls.stop(key):
            return
        is_elsewhere = is_ours and not self.process.follower.broadcaster.has_run(
            self.conversation_id
        )
        if not is_elsewhere:
            self._error("not_running", _("This call is not running any more."))
        elif not self.process.ask_takers("stop_call", key=key):
            text = _("This call runs in another process: stop the whole answer instead.")
            self._error("elsewhere", text)

    async def _decide(self, message: dict[str, Any]) -> None:
        key = str(message.get("key"))
        is_theirs = await sync_to_async(self._may_decide)(key)
        if is_theirs is False:
            self._error("not_approver", _("Others decide on the calls of this assistant."))
            return
        approval = Approval(
            is_allowed=message.get("allow") is True,
            reason=str(message.get("reason") or "")[:2000],
            by=self.user_name,
        )
        answer = self.process.approver.answer
        if is_theirs is None or not await answer(key, self.conversation_id, approval):
            self._error("not_waiting", _("This call does not wait for a decision any more."))
        self.process.ask_takers("decided", key=key)

    async def _unqueue(self, message: dict[str, Any]) -> None:
        run_id = str(message.get("run"))
        text = await sync_to_async(lifecycle.remove_queued_run)(run_id, self.conversation_id)
        if text is None:
            self._error("not_queued", _("This message is being answered already."))
        elif message.get("edit") is True:
            self.put(json.dumps({"type": "edit", "text": text}))
        self._refresh_queue()

    async def _tell_place(self, message: dict[str, Any]) -> None:
        """Show the queue anew where the place in it is another one now."""
        queue = await render_queue(self.conversation_id, self.language)
        if queue != self.shown_queue:
            self.shown_queue = queue
            self._show_queue()

    async def _ping(self, message: dict[str, Any]) -> None:
        self.put('{"type":"pong"}')

    async def _send_outbox(self) -> None:
        while True:
            text = await self.outbox.get()
            await self.send(text_data=text)

    def _refresh_queue(self) -> None:
        self._show_queue()
        self.process.announce(self.conversation_id)

    def _show_queue(self) -> None:
        conversation_id = self.conversation_id
        self.process.hub.refresh(
            conversation_id, lambda language: render_queue(conversation_id, language)
        )

    def _error(self, code: str, text: Any, token: object = None) -> None:
        """``token``: of the message that is refused, if it had one."""
        with translation.override(self.language):
            reply = {"type": "error", "code": code, "message": str(text), "token": token}
            self.put(json.dumps(reply))

    def _language(self) -> str:
        """The reader's language, found as it was found for the page."""
        request = HttpRequest()
        request.COOKIES = self.scope.get("cookies", {})
        headers = dict(self.scope["headers"])
        accepted = headers.get(b"accept-language", b"").decode("latin-1")
        request.META["HTTP_ACCEPT_LANGUAGE"] = accepted
        return translation.get_language_from_request(request)

    def _find(self, user: Any) -> Conversation | None:
        return readable_conversations(user).filter(pk=self.conversation_id, user=user).first()

    def _store_message(self, text: str) -> MessageFault | None:
        """Queue a message or a command; why it is not taken, if it is not."""
        row = Conversation.objects.select_related("assistant", "leaf").get(pk=self.conversation_id)
        with translation.override(self.language):
            if not may_chat(self.scope["user"], row.assistant):
                return MessageFault(code="not_allowed", text=str(NOT_ALLOWED))
            fault = command_fault(text, is_empty=row.leaf is None or is_summary(row.leaf))
        if fault is None:
            lifecycle.submit_message(row, text)
        return fault

    def _may_decide(self, key: str) -> bool | None:
        """Whether the person may decide on a call; ``None`` where it is not asked about: it may be
        in the next moment, and then of others."""
        questions = Question.objects.select_related("run__assistant", "run__conversation")
        question = questions.filter(call_key=key, run__conversation_id=self.conversation_id).first()
        return None if question is None else may_decide(self.scope["user"], question)
