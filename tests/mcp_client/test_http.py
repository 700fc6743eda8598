"""Servers over HTTP: both transports and eras, and every way in which HTTP can fail."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits
from agents.loop.results import Outcome, PartKind
from agents.mcp_client.http import is_loopback
from agents.mcp_client.pool import ServerPool
from tests.mcp_client.calling import Server, text_of, until
from tests.servers import http_entry, http_server, http_server_process
from tests.servers.raw_http import raw_http_server

QUICK = CallLimits(idle_seconds=0.4, hard_seconds=5)
HTML = "<html><body>Sign in</body></html>"


async def test_the_sdks_server_over_http_serves_every_kind_of_result(pool: ServerPool) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str) -> None:
        seen.append(progress)

    with http_server() as url:
        server = Server(pool, http_entry("docs", url))
        listing = await server.caller.list_tools("docs")
        assert listing.protocol == "2026-07-28"
        assert text_of(await server.call("echo", {"message": "hi"})) == "hi"
        assert (await server.call("fail")).outcome is Outcome.TOOL_ERROR
        assert (await server.call("img")).parts[0].kind is PartKind.IMAGE
        assert len(text_of(await server.call("big", {"chars": 2_000_000}))) == 2_000_000
        reply = await server.call("slow", {"seconds": 0.6, "steps": 3}, on_progress=note)
        assert (text_of(reply), seen) == ("slept", [1, 2, 3])
        late = await server.call("slow", {"seconds": 60}, limits=QUICK)
        assert late.outcome is Outcome.TIMEOUT
        assert text_of(await server.call("ping")) == "pong"


async def test_a_change_over_http_is_seen_by_the_next_list(pool: ServerPool) -> None:
    with http_server() as url:
        server = Server(pool, http_entry("docs", url))
        assert "added" not in await server.names()
        await server.call("change")
        assert "added" in await server.names()


async def test_the_old_sse_transport_works_and_is_warned_of_once(
    pool: ServerPool, caplog: pytest.LogCaptureFixture
) -> None:
    with http_server("sse") as url:
        server = Server(pool, http_entry("old-one", url, transport="sse"))
        assert "echo" in await server.names()
        assert text_of(await server.call("echo", {"message": "hi"})) == "hi"
        again = Server(pool, http_entry("old-one", url, transport="sse"), credential="x")
        await again.names()
    assert caplog.text.count("old-one uses the old SSE transport") == 1


async def test_a_dropped_sse_connection_is_a_result(pool: ServerPool) -> None:
    with http_server_process("sse") as (url, process):
        server = Server(pool, http_entry("old", url, transport="sse"))
        await server.names()
        call = asyncio.create_task(server.call("slow", {"seconds": 60}))
        await asyncio.sleep(0)
        await server.call("ping")
        process.kill()
        assert (await call).outcome is Outcome.SERVER_UNAVAILABLE


async def test_the_credentials_are_sent_and_their_refusal_is_named(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_TOKEN", "right-token")
    with http_server(TOKEN="right-token") as url:
        headers = {"Authorization": "Bearer $ENV.DOCS_TOKEN"}
        assert "echo" in await Server(pool, http_entry("docs", url, headers=headers)).names()
        wrong = {"Authorization": "Bearer wrong-token"}
        with pytest.raises(ServerUnavailable, match="check header Authorization") as caught:
            await Server(pool, http_entry("docs", url, headers=wrong)).names()
    assert "wrong-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "outcome", "said"),
    [
        ({"status": 401, "body": "no"}, Outcome.SERVER_UNAVAILABLE, "check header Authorization"),
        ({"status": 403, "body": HTML}, Outcome.SERVER_UNAVAILABLE, "check header Authorization"),
        ({"status": 401, "body": '{"error":"invalid_token"}'}, Outcome.SERVER_UNAVAILABLE, "401"),
        ({"status": 404, "body": HTML}, Outcome.SERVER_UNAVAILABLE, "HTTP 404"),
        ({"status": 500, "body": "Traceback"}, Outcome.SERVER_UNAVAILABLE, "HTTP 500"),
        ({"status": 502, "body": HTML}, Outcome.SERVER_UNAVAILABLE, "HTTP 502"),
        ({"status": 429, "body": ""}, Outcome.SERVER_UNAVAILABLE, "HTTP 429"),
        (
            {"body": HTML, "content_type": "text/html; charset=utf-8"},
            Outcome.SERVER_UNAVAILABLE,
            "text/html instead of JSON",
        ),
        ({"body": HTML}, Outcome.PROTOCOL_ERROR, "no JSON"),
        ({"body": ""}, Outcome.PROTOCOL_ERROR, "no JSON"),
        ({"body": "[]"}, Outcome.PROTOCOL_ERROR, "no JSON"),
        ({"body": '{"jsonrpc":"2.0","id":1,"result":7}'}, Outcome.PROTOCOL_ERROR, "no JSON-RPC"),
        ({"body": "{}"}, Outcome.PROTOCOL_ERROR, "no JSON-RPC"),
        (
            {"status": 400, "body": '{"error":{"code":-32602,"message":"bad"}}'},
            Outcome.PROTOCOL_ERROR,
            "bad",
        ),
        ({"drop": True}, Outcome.SERVER_UNAVAILABLE, "broke"),
        ({"half": True}, Outcome.SERVER_UNAVAILABLE, "broke"),
        ({"status": 202}, Outcome.PROTOCOL_ERROR, "202"),
        ({"hang": True}, Outcome.TIMEOUT, "No answer within 0.4 s"),
        (
            {"location": "http://127.0.0.1:1/elsewhere"},
            Outcome.PROTOCOL_ERROR,
            "Redirect to http://127.0.0.1:1/elsewhere",
        ),
    ],
)
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_an_http_failure_in_a_call_is_a_result_in_one_line(
    pool: ServerPool, rules: dict[str, Any], outcome: Outcome, said: str, modern: bool
) -> None:
    with raw_http_server({"modern": modern}) as raw:
        server = Server(pool, http_entry("docs", raw.url))
        assert "echo" in await server.names()
        raw.rules.update(rules)
        reply = await server.call("ping", limits=QUICK)
        assert (reply.outcome, said in reply.error) == (outcome, True), reply.error
        assert "\n" not in reply.error
        assert raw.methods().count("tools/call") == 1
        raw.rules.clear()
        assert text_of(await server.call("ping")) == "pong"


async def test_one_broken_call_does_not_hurt_the_others(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
        slow = asyncio.create_task(server.call("slow", {"seconds": 0.5}))
        await until(lambda: "tools/call" in raw.methods())
        raw.rules.update({"drop": True})
        assert (await server.call("ping")).outcome is Outcome.SERVER_UNAVAILABLE
        assert text_of(await slow) == "slept"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"status": 401}, "check header Authorization"),
        ({"status": 404, "body": HTML}, "HTTP 404"),
        ({"status": 500}, "HTTP 500"),
        ({"body": HTML, "content_type": "text/html"}, "text/html instead of JSON"),
        ({"body": "nonsense"}, "no JSON"),
        ({"drop": True}, "broke"),
        ({"location": "http://example.invalid/mcp?token=abc"}, "http://example.invalid/mcp"),
    ],
)
async def test_an_http_failure_while_connecting_is_named(
    pool: ServerPool, rules: dict[str, Any], said: str
) -> None:
    with raw_http_server(on="*", **rules) as raw, pytest.raises(ServerUnavailable) as caught:
        await Server(pool, http_entry("docs", raw.url)).names()
    assert said in caught.value.reason
    assert "token=abc" not in caught.value.reason


async def test_a_refused_connection_says_where(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        url = raw.url
    with pytest.raises(ServerUnavailable, match=r"cannot connect to 127\.0\.0\.1:\d+"):
        await Server(pool, http_entry("docs", url)).names()
    with pytest.raises(ServerUnavailable, match="cannot connect"):
        await Server(pool, http_entry("old", url, transport="sse")).names()


async def test_a_hung_server_ends_at_the_connect_limit() -> None:
    pool = ServerPool(connect_seconds=0.6)
    try:
        with raw_http_server(on="*", hang=True) as raw:
            began = time.monotonic()
            with pytest.raises(ServerUnavailable, match=r"no answer within 0\.6 s"):
                await Server(pool, http_entry("docs", raw.url)).names()
            assert time.monotonic() - began < 2
    finally:
        await pool.close()


async def test_calls_of_a_hung_server_time_out_together(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
        raw.rules.update({"on": "*", "hang": True})
        began = time.monotonic()
        replies = await asyncio.gather(*(server.call("ping", limits=QUICK) for _ in range(5)))
        assert {reply.outcome for reply in replies} == {Outcome.TIMEOUT}
        assert time.monotonic() - began < 1.5
        assert "notifications/cancelled" in raw.methods()


async def test_a_redirect_within_the_origin_is_followed(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        raw.rules.update({"on": "tools/call", "location": "/mcp/"})
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()

        assert text_of(await server.call("ping")) == "pong"
        assert raw.methods().count("tools/call") == 2


async def test_a_restarted_server_is_found_again(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        port = int(raw.url.rpartition(":")[2].partition("/")[0])
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
    reply = await server.call("ping")
    assert (reply.outcome, "cannot connect" in reply.error) == (Outcome.SERVER_UNAVAILABLE, True)
    with raw_http_server(port=port) as raw:
        assert text_of(await server.call("ping")) == "pong"
        assert raw.methods().count("tools/call") == 1


async def test_a_lost_session_is_opened_anew(pool: ServerPool) -> None:
    with raw_http_server(session=True) as raw:
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
        raw.sessions.clear()
        reply = await server.call("ping")
        assert (reply.outcome, "session" in reply.error) == (Outcome.SERVER_UNAVAILABLE, True)
        assert text_of(await server.call("ping")) == "pong"
        raw.sessions.clear()
        assert "echo" in await server.names()


async def test_an_older_server_over_http_tells_of_changes_on_its_stream(pool: ServerPool) -> None:
    new = {"name": "new", "inputSchema": {"type": "object"}}
    with raw_http_server({"changed_tools": [new]}, session=True, notices=True) as raw:
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
        await until(lambda: any(kind == "GET" for kind, _, _ in raw.requests))
        await server.call("ping")
        await server.names()
        asked = raw.methods().count("tools/list")
        await server.names()
        assert raw.methods().count("tools/list") == asked
        await server.call("change")
        await until(raw.notices.empty)
        assert await _names_in_time(server) == ["new"]


async def test_an_older_server_without_a_stream_is_asked_every_time(pool: ServerPool) -> None:
    with raw_http_server() as raw:
        server = Server(pool, http_entry("docs", raw.url))
        await server.names()
        await server.names()
        assert raw.methods().count("tools/list") == 2


async def test_arguments_that_a_tool_wants_in_headers_are_sent_there(pool: ServerPool) -> None:
    region = {"type": "string", "x-mcp-header": "Region"}
    good = {"name": "ping", "inputSchema": {"type": "object", "properties": {"region": region}}}
    bad_region = {"type": "string", "x-mcp-header": "not a header"}
    bad = {"name": "bad", "inputSchema": {"type": "object", "properties": {"r": bad_region}}}
    with raw_http_server({"modern": True, "tools": [good, bad]}) as raw:
        server = Server(pool, http_entry("docs", raw.url))
        tools = await server.tools()
        assert [bool(tool.invalid_reason) for tool in tools] == [False, True]
        await server.call("ping", {"region": "eu"})
        headers = next(h for _, h, message in raw.requests if message["method"] == "tools/call")
    assert headers["mcp-param-region"] == "eu"


@pytest.mark.parametrize("url", ["", "no url", "ftp://127.0.0.1/x", "http://"])
async def test_an_address_that_is_none_is_named(pool: ServerPool, url: str) -> None:
    with pytest.raises(ServerUnavailable, match="check url"):
        await Server(pool, http_entry("docs", url)).names()


async def test_proxies_are_never_asked_for_loopback(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with raw_http_server() as raw:
        assert "echo" in await Server(pool, http_entry("docs", raw.url)).names()


def test_loopback_hosts_are_known_by_name_and_number() -> None:
    hosts = ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]
    assert all(is_loopback(host) for host in hosts)
    assert not any(is_loopback(host) for host in ["example.org", "10.0.0.1", "::2", ""])


async def _names_in_time(server: Server) -> list[str]:
    names: list[str] = []
    for _ in range(250):
        names = await server.names()
        if names == ["new"]:
            break
        await asyncio.sleep(0.02)
    return names
