"""A person without a browser: logs in over HTTP and holds the socket of a conversation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from bench.sockets import Socket

Message = dict[str, Any]

WAIT_SECONDS = 30.0


@dataclass(slots=True, kw_only=True)
class Page:
    """An open conversation: its socket, everything that came over it, and how to act on it."""

    person: Person
    conversation: str
    socket: Socket
    got: list[Message] = field(default_factory=list)
    _reader: asyncio.Task[None] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        """Take what comes until the socket ends."""
        try:
            while True:
                self.got.append(await self.socket.receive())
                self._news.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            self._news.set()

    async def wait_for(
        self, condition: Callable[[], object], what: str, seconds: float = WAIT_SECONDS
    ) -> None:
        """Wait until the condition holds. Raises ``AssertionError`` that says what did not come."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            last = [str(message)[:300] for message in self.got[-4:]]
            raise AssertionError(f"{what} did not come; last: {last}") from None

    async def say(self, text: str) -> None:
        """Send a message."""
        await self.socket.send({"type": "send", "text": text, "token": "t"})
        await self.wait_for(lambda: self.of("accepted"), "the acceptance of a message")

    def of(self, kind: str) -> list[Message]:
        """The messages of a type."""
        return [message for message in self.got if message.get("type") == kind]

    def live_text(self) -> str:
        """The text of the answer that is being written, put together as a page does."""
        text = ""
        for delta in self.of("delta"):
            text = text[: delta["at"]] + delta["text"]
        return text

    def shows(self, words: str) -> bool:
        """Whether any piece of HTML that came holds these words."""
        return any(words in html for html in self.pieces())

    def pieces(self) -> list[str]:
        """All HTML that came, in order."""
        found: list[str] = []
        for message in self.got:
            found += [str(message.get("html") or "")]
            found += [str(item.get("html") or "") for item in message.get("items") or ()]
        return found

    def last(self, element: str) -> str:
        """The HTML of an element as it was sent last, ``""`` where it never was."""
        items = [item for message in self.got for item in message.get("items") or ()]
        return next((str(i["html"]) for i in reversed(items) if i.get("id") == element), "")

    async def close(self) -> None:
        """Close the tab."""
        self.socket.close()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        await self.socket.wait_closed()


class Person:
    """Someone who is logged in at ``url``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx2.AsyncClient(base_url=url, follow_redirects=True, timeout=20)
        self._pages: list[Page] = []

    async def log_in(self, password: str, name: str = "operator") -> None:
        """Fill in the form."""
        form = await self.client.get("/login/")
        fields = {"username": name, "password": password, **_token(form.text)}
        page = await self.client.post("/login/", data=fields, headers={"Referer": self.url})
        assert 'name="username"' not in page.text, "the log-in failed"

    async def start_conversation(self) -> str:
        """Choose the first assistant; the conversation's id."""
        page = await self.client.get("/c/new/")
        assistant = re.search(r'name="assistant" value="(\d+)"', page.text)
        assert assistant is not None
        fields = {"assistant": assistant[1], **_token(page.text)}
        made = await self.client.post("/c/new/", data=fields, headers={"Referer": self.url})
        found = re.search(r"/c/([0-9a-f]{32})/", str(made.url))
        assert found is not None, made.url
        return found[1]

    async def open(self, conversation: str) -> Page:
        """Open a tab on a conversation: load the page and connect its socket."""
        html = (await self.client.get(f"/c/{conversation}/")).text
        seq = re.search(r'data-seq="(\d+)"', html)
        assert seq is not None
        place = urlsplit(self.url)
        cookie = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        path = f"/ws/c/{conversation}/"
        socket = await Socket.open(str(place.hostname), place.port or 80, path, cookie)
        page = Page(person=self, conversation=conversation, socket=socket)
        page._reader = asyncio.create_task(page.read())
        self._pages.append(page)
        await socket.send({"type": "hello", "seq": int(seq[1])})
        return page

    async def html(self, conversation: str) -> str:
        """The page of a conversation as it is loaded anew."""
        return (await self.client.get(f"/c/{conversation}/")).text

    async def close(self) -> None:
        """Close everything."""
        for page in self._pages:
            await page.close()
        await self.client.aclose()


def _token(html: str) -> dict[str, str]:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', html)
    assert found is not None
    return {"csrfmiddlewaretoken": found[1]}
