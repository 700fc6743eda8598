"""The socket of one trace in one browser tab.

Place in the house: ``traces``. It sends what is new while the trace goes on, and nothing after its
end. What it takes: ``select`` (the span that is shown, which is never folded), ``open`` (the rows
that the reader opened) and ``ping``.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from importlib import import_module

from asgiref.sync import sync_to_async
from channels.auth import get_user
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from django.utils import translation

from traces.access import readable_traces
from traces.live import News, forget, listen
from traces.live_pieces import Watched, fresh_pieces

LEAST_SECONDS = 0.2
"""A browser is told at most five times a second."""

LOOK_SECONDS = 1.0
"""Without news from this process the database is looked at so often; running bars grow so often."""

SHARE_OF_TIME = 5
"""Making the pieces may take this part of the time; of large traces they come less often."""

KINDS = ("select", "open", "ping")
"""What a browser may say."""

NOT_FOUND, LOGGED_OUT = 4404, 4401


def _may_read(user: AbstractBaseUser, trace_id: str) -> bool:
    return bool(readable_traces(user).filter(pk=trace_id).exists())


class TraceConsumer(AsyncWebsocketConsumer):
    """Sends the pieces of a trace that have changed to one who may read it."""

    async def connect(self) -> None:
        """Accept a reader; others are closed with a code that says why."""
        self.sender: asyncio.Task[None] | None = None
        trace_id = str(self.scope["url_route"]["kwargs"]["trace_id"])
        user = self.scope["user"]
        await self.accept()
        if not user.is_authenticated:
            await self.close(code=LOGGED_OUT)
            return
        if not await sync_to_async(_may_read)(user, trace_id):
            await self.close(code=NOT_FOUND)
            return
        self.watched = Watched(trace_id=trace_id, language=self._language())
        self.news: News = listen(trace_id)
        self.sender = asyncio.create_task(self._send_news())

    async def disconnect(self, code: int) -> None:
        """Stop sending; the run goes on."""
        if self.sender is None:
            return
        forget(self.news)
        self.sender.cancel()
        with suppress(asyncio.CancelledError):
            await self.sender

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take a message; anything that is none is told so."""
        try:
            message = json.loads(text_data or "")
        except (ValueError, RecursionError):
            message = None
        if self.sender is None:
            return
        if not isinstance(message, dict) or message.get("type") not in KINDS:
            text = "expected a JSON object of type select, open or ping"
            await self.send(json.dumps({"type": "error", "code": "bad_message", "message": text}))
            return
        if not await self._is_logged_in():
            await self.close(code=LOGGED_OUT)
            return
        if message["type"] == "ping":
            await self.send('{"type":"pong"}')
        elif message["type"] == "open":
            spans = message.get("spans")
            self.watched.open(spans if isinstance(spans, list) else [])
        else:
            self.watched.selected = str(message.get("span") or "")[:16]

    async def _send_news(self) -> None:
        """Send until the trace has ended."""
        is_running = True
        while is_running:
            began = time.monotonic()
            message = await sync_to_async(fresh_pieces)(self.watched)
            if message is None:
                await self.close(code=NOT_FOUND)
                return
            is_running = bool(message["running"])
            await self.send(json.dumps(message))
            spent = time.monotonic() - began
            pause = max(LEAST_SECONDS, spent * SHARE_OF_TIME)
            await asyncio.sleep(pause)
            await self.news.wait(max(LOOK_SECONDS - pause, 0.01))

    async def _is_logged_in(self) -> bool:
        """Whether the session that opened this socket still is this person's: read anew."""
        store = import_module(settings.SESSION_ENGINE).SessionStore
        user = await get_user({"session": store(self.scope["session"].session_key)})
        return bool(user.pk == self.scope["user"].pk)

    def _language(self) -> str:
        """The reader's language, found as it was found for the page."""
        request = HttpRequest()
        request.COOKIES = self.scope.get("cookies", {})
        headers = dict(self.scope["headers"])
        accepted = headers.get(b"accept-language", b"").decode("latin-1")
        request.META["HTTP_ACCEPT_LANGUAGE"] = accepted
        return translation.get_language_from_request(request)
