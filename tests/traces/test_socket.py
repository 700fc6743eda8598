"""The socket of a trace: who may listen, what is sent, and that it ends with the trace."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client

from agents.loop import events
from tests.traces.events import Teller, tool_call
from tests.traces.stored import store_run, tell_one_call
from traces.consumers import LOGGED_OUT, NOT_FOUND
from traces.live import forget, listen, tell_changed
from traces.models import Trace
from traces.recorder import TraceSink
from traces.routing import websocket_urlpatterns

pytestmark = pytest.mark.django_db(transaction=True)


class Session:
    """What the socket knows of a session: its key."""

    def __init__(self, key: str | None) -> None:
        self.session_key = key


def connect(user: User | AnonymousUser, trace: str) -> WebsocketCommunicator:
    """A browser's socket for a trace, with a session in which this person is logged in."""
    client = Client()
    if isinstance(user, User):
        client.force_login(user)
    socket = WebsocketCommunicator(URLRouter(websocket_urlpatterns), f"/ws/traces/{trace}/")
    socket.scope |= {"user": user, "session": Session(client.session.session_key), "headers": []}
    return socket


async def make_user(name: str, **more: Any) -> User:
    return await sync_to_async(User.objects.create_user)(name, **more)


async def close_code(socket: WebsocketCommunicator) -> int:
    await socket.connect()
    message = await socket.receive_output(5)
    assert message["type"] == "websocket.close"
    await socket.disconnect()
    return int(message["code"])


async def receive(socket: WebsocketCommunicator) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await socket.receive_from(5))
    return found


async def test_others_are_closed_with_a_code_that_says_why() -> None:
    owner, other = await make_user("mira"), await make_user("other")
    await sync_to_async(store_run)(user=owner.pk, is_ended=False)
    assert await close_code(await sync_to_async(connect)(other, "trace-r1")) == NOT_FOUND
    assert await close_code(await sync_to_async(connect)(owner, "unknown")) == NOT_FOUND
    anonymous = await sync_to_async(connect)(AnonymousUser(), "trace-r1")
    assert await close_code(anonymous) == LOGGED_OUT


async def test_of_an_ended_trace_everything_is_sent_once() -> None:
    owner = await make_user("mira")
    await sync_to_async(store_run)(user=owner.pk)
    socket = await sync_to_async(connect)(owner, "trace-r1")
    await socket.connect()
    message = await receive(socket)
    assert message["running"] is False
    assert [piece["id"] for piece in message["pieces"]] == ["verdict", "rail", "axis", "grid"]
    assert "Answered by the model" in message["pieces"][0]["html"]
    assert all(html for _id, html in message["lines"])
    assert await socket.receive_nothing(0.5)
    await socket.disconnect()


async def test_a_running_trace_is_followed_to_its_end_by_what_is_new() -> None:
    owner = await make_user("mira")
    sink = TraceSink()
    told: list[events.Event] = []
    teller = Teller(told.append)
    call = tool_call("r1:0:1:0")

    async def store() -> None:
        for event in told:
            await sink.handle(event)
        told.clear()
        await sink.flush()

    teller.start(trace="trace-r1", user=str(owner.pk))
    teller.tell(events.TurnStarted, turn=0)
    teller.start_call(call)
    await store()
    socket = await sync_to_async(connect)(owner, "trace-r1")
    await socket.connect()
    first = await receive(socket)
    assert first["running"] is True
    rows = [line[0] for line in first["lines"] if line[0].startswith("row-")]
    assert len(rows) == 3
    teller.finish_call(call)
    await store()
    message = await receive(socket)
    while not message["changed"]:
        message = await receive(socket)
    assert [f"row-{span}" for span in message["changed"]] == rows[-1:]
    assert ">done<" in dict(map(tuple, message["lines"]))[rows[-1]]
    teller.finish()
    await store()
    while message["running"]:
        message = await receive(socket)
    assert "Answered" in next(p["html"] for p in message["pieces"] if p["id"] == "verdict")
    assert await socket.receive_nothing(0.5)
    await socket.disconnect()
    await sink.close()


async def test_what_another_process_stores_is_seen_too() -> None:
    owner = await make_user("mira")
    trace = await sync_to_async(store_run)(user=owner.pk, tell=tell_one_call, is_ended=False)
    socket = await sync_to_async(connect)(owner, trace.pk)
    await socket.connect()
    assert (await receive(socket))["running"] is True
    end = {"status": "completed", "stop_reason": "answered", "end_ns": trace.start_ns + 9_000_000}
    await Trace.objects.aupdate(**end)
    async with asyncio.timeout(10):
        while (await receive(socket))["running"]:
            pass
    await socket.disconnect()


async def test_odd_messages_are_answered_and_a_session_that_ended_ends_the_socket() -> None:
    owner = await make_user("mira")
    await sync_to_async(store_run)(user=owner.pk, is_ended=False)
    socket = await sync_to_async(connect)(owner, "trace-r1")
    await socket.connect()
    await receive(socket)
    for text in ("x", "[]", "{", '{"type":"stop"}', "[" * 100_000):
        await socket.send_to(text)
        message = await receive(socket)
        while message["type"] == "trace":
            message = await receive(socket)
        assert message["code"] == "bad_message"
    await socket.send_to('{"type":"ping"}')
    while (await receive(socket))["type"] != "pong":
        pass
    socket.scope["session"].session_key = None
    await socket.send_to('{"type":"select","span":"x"}')
    message = await socket.receive_output(5)
    while message["type"] == "websocket.send":
        message = await socket.receive_output(5)
    assert message["code"] == LOGGED_OUT
    await socket.disconnect()


async def test_news_reach_who_listens_and_nobody_else() -> None:
    ear, other = listen("t1"), listen("t2")
    assert await ear.wait(0.01) is False
    await asyncio.to_thread(tell_changed, ["t1"])
    assert await ear.wait(5) is True
    assert await other.wait(0.01) is False
    forget(ear)
    tell_changed(["t1"])
    assert await ear.wait(0.05) is False
    forget(other)
