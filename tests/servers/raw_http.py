"""HTTP by hand, in a thread of the test's process: statuses, bodies and drops of any kind.

``with raw_http_server(script, **rules) as server`` gives ``server.url`` and ``server.requests``.
The script is that of ``raw_server``. Rules, which may be changed while it runs:

* ``on``: the method that the next six act on; default ``tools/call``, ``*`` for every request
* ``status``, ``body``, ``content_type``: answers with these
* ``location``: redirects to this address (``status`` 307 unless given)
* ``drop``: closes the socket without an answer
* ``half``: closes the socket in the middle of an answer
* ``hang``: never answers
* ``session``: wants a session id, given at ``initialize``
* ``notices``: offers the GET stream for notices
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.raw_server import RawServer


class RawHttpServer:
    """The server: its ``url``, its ``rules`` and the (method, headers, message) it was sent."""

    def __init__(self, script: dict[str, Any], rules: dict[str, Any]) -> None:
        self.script = script
        self.rules = rules
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.sessions: set[str] = set()
        self.stopping = threading.Event()
        self.notices: queue.Queue[str] = queue.Queue()
        self.url = ""
        self.connections: list[socket.socket] = []
        self._dialog = RawServer(script, self._send_notice)

    def methods(self) -> list[str]:
        """The JSON-RPC methods that were received, in order."""
        return [str(message.get("method")) for _, _, message in self.requests if message]

    def answer(self, message: dict[str, Any]) -> str:
        """The body that answers one request; empty when nothing came."""
        box: queue.Queue[str] = queue.Queue()

        def send(answer: dict[str, Any] | str) -> None:
            text = answer if isinstance(answer, str) else json.dumps(answer)
            if isinstance(answer, dict) and "id" not in answer:
                self.notices.put(text)
            else:
                box.put(text)

        dialog = RawServer(self.script, send)
        dialog.is_changed = self._dialog.is_changed
        dialog.receive(message)
        if "id" not in message:
            return ""
        with suppress(queue.Empty):
            text = box.get(timeout=10)
            self._dialog.is_changed = dialog.is_changed
            return text
        return ""

    def _send_notice(self, message: dict[str, Any] | str) -> None:
        self.notices.put(message if isinstance(message, str) else json.dumps(message))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Threads

    def do_POST(self) -> None:
        """Answer one message by the rules."""
        raw, rules = self.server.raw, self.server.raw.rules
        size = int(self.headers.get("content-length", 0))
        message = json.loads(self.rfile.read(size) or b"{}")
        raw.requests.append(("POST", {k.lower(): v for k, v in self.headers.items()}, message))
        on = rules.get("on", "tools/call")
        if on in ("*", message.get("method")) and self._misbehave(rules):
            return
        session = self.headers.get("mcp-session-id")
        headers = {}
        if rules.get("session"):
            if message.get("method") == "initialize":
                headers["mcp-session-id"] = f"s{len(raw.sessions)}"
                raw.sessions.add(headers["mcp-session-id"])
            elif session is not None and session not in raw.sessions:
                error = {"code": -32001, "message": "Session not found"}
                body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
                self._reply(404, body, "application/json")
                return
        answer = raw.answer(message)
        if not answer:
            self._reply(202, "", "text/plain")
            return
        self._reply(200, answer, "application/json", headers)

    def do_GET(self) -> None:
        """Offer the stream of notices, where the rules say so."""
        raw = self.server.raw
        raw.requests.append(("GET", {k.lower(): v for k, v in self.headers.items()}, {}))
        if not raw.rules.get("notices"):
            self._reply(405, "", "text/plain")
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            while not raw.stopping.is_set():
                with suppress(queue.Empty):
                    notice = raw.notices.get(timeout=0.05)
                    self.wfile.write(f"event: message\ndata: {notice}\n\n".encode())

    def do_DELETE(self) -> None:
        """End the session."""
        self.server.raw.requests.append(("DELETE", {}, {}))
        self._reply(200, "", "text/plain")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _misbehave(self, rules: dict[str, Any]) -> bool:
        if rules.get("hang"):
            self.server.raw.stopping.wait(30)
            return True
        if rules.get("drop") or rules.get("half"):
            if rules.get("half"):
                self.wfile.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b'content-length: 500\r\n\r\n{"jsonrpc": '
                )
                self.wfile.flush()
            self.close_connection = True
            return True
        if "location" in rules and self.path != rules["location"]:
            self._reply(rules.get("status", 307), "", "", {"location": rules["location"]})
            return True
        if "status" in rules or "body" in rules:
            kind = rules.get("content_type", "application/json")
            self._reply(rules.get("status", 200), rules.get("body", ""), kind)
            return True
        return False

    def _reply(
        self, status: int, body: str, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        encoded = body.encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "content-type": kind}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    raw: RawHttpServer

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and remember it to be cut at the end."""
        self.raw.connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


@contextmanager
def raw_http_server(
    script: dict[str, Any] | None = None, *, port: int = 0, **rules: Any
) -> Iterator[RawHttpServer]:
    """A server on a free port of 127.0.0.1 (or on ``port``) that behaves by script and rules."""
    raw = RawHttpServer(script or {}, rules)
    listener = _Threads(("127.0.0.1", port), _Handler)
    listener.raw = raw
    raw.url = f"http://127.0.0.1:{listener.server_address[1]}/mcp"
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield raw
    finally:
        raw.stopping.set()
        listener.shutdown()
        listener.server_close()
        for connection in raw.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join(5)
