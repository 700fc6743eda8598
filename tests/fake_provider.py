"""A scripted OpenAI-compatible provider on a real socket, for tests.

    from tests.fake_provider import FakeProvider, call, calls, error, text

    with FakeProvider([calls(call("c1", "echo__ping", {})), text("pong")]) as provider:
        ... provider.base_url ...            # "http://127.0.0.1:<port>/v1"
    provider.requests[0].body["messages"]    # what was sent, in order; .headers in lower case

A script is a list of steps, one per chat request; the last one repeats. It may be a function
``(body, n) -> step`` (``n`` counts from 0), or a dictionary of such scripts by model name. Steps:

    text("Hello")                       a streamed answer, in several chunks, with usage
    calls(call(id, name, args), ...)    a streamed answer with calls (args: object, or raw text)
    chunks([{...}, "raw text", ...])    any chunks; ``done=False`` leaves out ``[DONE]``
    json_answer({...})                  one JSON body: a provider that ignores ``stream``
    error(429, {...}, headers={...})    an HTTP error (text body: sent as text/html)
    broken([{...}])                     the connection is cut after these chunks;
                                        ``clean=True``: ends properly, but with no finish or [DONE]
    hang(), hang([{...}])               says nothing (more) until the client goes away
    slow([{...}, ...], gate)            sends the first chunk, the others when the ``Event`` is set

``strict`` (default): a badly paired history gets a 400, as from OpenAI, and is kept in ``faults``;
leaving the block then raises ``AssertionError``, so that every test with this provider catches
pairing faults (``expect_faults=True`` turns that off). Further refusals: ``system_first_only``,
``tool_call_id_pattern``, ``known_models`` (404), ``key`` (401). ``GET /v1/models`` lists models.

Tests wait with ``provider.wait_for(lambda: provider.disconnects == 1)`` (in a thread where the test
is async: ``await asyncio.to_thread(provider.wait_for, ...)``). As a program, for a JSON list of
steps (``{"text": ..}``, ``{"calls": [{"id", "name", "arguments"}]}``, ``{"chunks": [..]}``,
``{"error": {"status", "body"}}``, ``{"broken": [..]}``, ``{"hang": true}``):

    python -m tests.fake_provider --port 0 --script steps.json
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from tests.history_faults import history_fault

Json: TypeAlias = dict[str, Any]
PATIENCE_SECONDS = 20.0
"""No step and no wait lasts longer: a test that goes wrong ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the provider does for one request. ``ending``: done, eof, cut or hang."""

    chunks: tuple[Json | str, ...] = ()
    ending: str = "done"
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None


Script: TypeAlias = "Sequence[Step] | Callable[[Json, int], Step] | dict[str, Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat request as it arrived; ``headers`` have lower-case names."""

    body: Json
    headers: dict[str, str]

    @property
    def messages(self) -> list[Json]:
        """The messages of the body."""
        return list(self.body["messages"])


def chunk(delta: Json | None = None, finish: str | None = None, **fields: Any) -> Json:
    """One well-formed chunk with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fake",
        "choices": [choice],
        **fields,
    }


def usage_chunk(input_tokens: int = 10, output_tokens: int = 5) -> Json:
    """The last chunk of a stream with ``include_usage``: no choices, the usage."""
    total = input_tokens + output_tokens
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return chunk(choices=[], usage={**usage, "total_tokens": total})


def call(call_id: str, name: str, arguments: Json | str | None = None) -> Json:
    """A tool call for ``calls``; arguments: an object is written as JSON, text stays as it is."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "name": name, "arguments": written}


def text(content: str, *, finish: str = "stop", **delta: Any) -> Step:
    """An answer in text; further fields (``reasoning_content="..."``) go into the first delta."""
    middle = (len(content) + 1) // 2
    pieces = [piece for piece in (content[:middle], content[middle:]) if piece]
    return chunks(
        [
            chunk({"role": "assistant", "content": "", **delta}),
            *(chunk({"content": piece}) for piece in pieces),
            chunk(finish=finish),
            usage_chunk(),
        ]
    )


def calls(*wanted: Json, content: str = "", finish: str = "tool_calls", **delta: Any) -> Step:
    """An answer with tool calls in the standard shape: id and name first, arguments in pieces."""
    sent = [chunk({"role": "assistant", "content": content or None, **delta})]
    for index, item in enumerate(wanted):
        head = {"name": item["name"], "arguments": ""}
        sent.append(_call_chunk({"index": index, "id": item["id"], "function": head}))
        for piece in re.findall(r"(?s).{1,12}", item["arguments"]):
            sent.append(_call_chunk({"index": index, "function": {"arguments": piece}}))
    return chunks([*sent, chunk(finish=finish), usage_chunk()])


def chunks(sent: Sequence[Json | str], *, done: bool = True) -> Step:
    """These chunks as they are; text goes behind ``data:`` untouched, lines of a stream alone."""
    return Step(chunks=tuple(sent), ending="done" if done else "eof")


def json_answer(body: Any) -> Step:
    """One JSON body with status 200."""
    return Step(body=body, ending="body")


def error(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Step:
    """An HTTP error; without a body one in OpenAI's shape."""
    if body is None:
        body = {"error": {"message": f"fake error {status}", "type": "fake", "code": None}}
    return Step(status=status, body=body, headers=headers or {}, ending="body")


def broken(after: Sequence[Json | str] = (), *, clean: bool = False) -> Step:
    """A stream that breaks after these chunks."""
    return Step(chunks=tuple(after), ending="eof" if clean else "cut")


def hang(after: Sequence[Json | str] = ()) -> Step:
    """A stream that stops after these chunks without an end."""
    return Step(chunks=tuple(after), ending="hang")


def slow(sent: Sequence[Json | str], gate: threading.Event) -> Step:
    """The first chunk at once, the others when the gate is opened."""
    return Step(chunks=tuple(sent), gate=gate)


def _call_chunk(delta_call: Json) -> Json:
    return chunk({"tool_calls": [{"type": "function", **delta_call}]})


class FakeProvider:
    """The server; a context manager. See the module's docstring for its options."""

    def __init__(
        self,
        script: Script,
        *,
        strict: bool = True,
        expect_faults: bool = False,
        system_first_only: bool = False,
        tool_call_id_pattern: str = "",
        known_models: Sequence[str] = (),
        key: str = "",
        port: int = 0,
    ) -> None:
        self.script = script
        self.strict = strict
        self.expect_faults = expect_faults
        self.system_first_only = system_first_only
        self.tool_call_id_pattern = tool_call_id_pattern
        self.known_models = tuple(known_models)
        self.key = key
        self.requests: list[Request] = []
        self.faults: list[str] = []
        self.disconnects = 0
        self.connections = 0
        self.closing = threading.Event()
        self._changed = threading.Condition()
        self._counts: dict[str, int] = {}
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What an OpenAI client calls ``base_url``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> FakeProvider:
        """Begin to answer."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close the port and every connection."""
        self.closing.set()
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)

    def __enter__(self) -> FakeProvider:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if kind is None and self.faults and not self.expect_faults:
            raise AssertionError(f"the provider refused messages: {self.faults}")

    def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE_SECONDS) -> None:
        """Wait (in a thread, or briefly in a test) until it holds. Raises ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError("the fake provider did not see what the test waits for")

    def note(self, **added: Any) -> None:
        """Record something that happened; used by the server's threads."""
        with self._changed:
            if "request" in added:
                self.requests.append(added["request"])
            if "fault" in added:
                self.faults.append(added["fault"])
            self.disconnects += added.get("disconnects", 0)
            self.connections += added.get("connections", 0)
            self._changed.notify_all()

    def next_step(self, body: Json) -> Step:
        """The step for this request, in the order of arrival."""
        with self._changed:
            per_model = isinstance(self.script, dict)
            model = str(body.get("model")) if per_model else ""
            script = self.script[model] if isinstance(self.script, dict) else self.script
            count = self._counts.get(model, 0)
            self._counts[model] = count + 1
        return script(body, count) if callable(script) else script[min(count, len(script) - 1)]

    def refusal(self, body: Json, headers: dict[str, str]) -> Step | None:
        """The error for a request that this provider does not take."""
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return _refused(401, "Incorrect API key provided.", "invalid_api_key")
        if self.known_models and body.get("model") not in self.known_models:
            return _refused(
                404, f"The model {body.get('model')!r} does not exist.", "model_not_found"
            )
        fault = history_fault(
            body.get("messages") or [],
            id_pattern=self.tool_call_id_pattern,
            system_first=self.system_first_only,
        )
        if fault and self.strict:
            self.note(fault=fault)
            return _refused(400, fault, None)
        return None


def _refused(status: int, message: str, code: str | None) -> Step:
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return error(status, {"error": body})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    disable_nagle_algorithm = True

    def __init__(self, address: tuple[str, int], provider: FakeProvider) -> None:
        super().__init__(address, _Answerer)
        self.provider = provider
        self.connections: set[socket.socket] = set()

    def close_connections(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Answerer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)
        self.server.provider.note(connections=1)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read ``requests``."""

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.server.provider.note(disconnects=1)

    def do_GET(self) -> None:
        """``/v1/models``."""
        names = self.server.provider.known_models or ("fake",)
        listed = [{"id": name, "object": "model"} for name in names]
        self._send_body(200, {"object": "list", "data": listed}, {})

    def do_POST(self) -> None:
        """``/v1/chat/completions``."""
        provider = self.server.provider
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        headers = {name.lower(): value for name, value in self.headers.items()}
        provider.note(request=Request(body=body, headers=headers))
        if not self.path.endswith("/chat/completions"):
            step = _refused(404, f"no such path: {self.path}", None)
        else:
            step = provider.refusal(body, headers) or provider.next_step(body)
        if step.ending == "body":
            self._send_body(step.status, step.body, step.headers)
        else:
            self._stream(step)

    def _send_body(self, status: int, body: Any, headers: dict[str, str]) -> None:
        is_text = isinstance(body, str)
        content = (body if is_text else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if is_text else "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, step: Step) -> None:
        self.send_response(step.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for position, item in enumerate(step.chunks):
            if position == 1 and step.gate is not None and not self._wait(step.gate):
                return
            self._send_event(item if isinstance(item, str) else json.dumps(item))
        if step.ending == "done":
            self._send_event("[DONE]")
        if step.ending == "hang":
            self._wait(threading.Event())
        if step.ending in ("cut", "hang"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, line: str) -> None:
        is_stream = line.startswith(("data:", "event:", ":"))
        content = f"{'' if is_stream else 'data: '}{line}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

    def _wait(self, gate: threading.Event) -> bool:
        """Whether the gate was opened; else the client went away, or the patience ended."""
        provider = self.server.provider
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and not provider.closing.is_set():
            if gate.wait(0.01):
                return True
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                provider.note(disconnects=1)
                break
        self.close_connection = True
        return False


def steps_from_json(values: list[Json]) -> Iterator[Step]:
    """The steps of a script file. Raises ``ValueError`` for an unknown one."""
    for value in values:
        match value:
            case {"text": str(content)}:
                yield text(content)
            case {"calls": list(wanted)}:
                yield calls(*(call(c["id"], c["name"], c.get("arguments")) for c in wanted))
            case {"chunks": list(sent)}:
                yield chunks(sent, done=value.get("done", True))
            case {"error": {"status": int(status), **rest}}:
                yield error(status, rest.get("body"), rest.get("headers"))
            case {"broken": list(after)}:
                yield broken(after, clean=value.get("clean", False))
            case {"hang": True}:
                yield hang()
            case _:
                raise ValueError(f"expected a step like {{'text': 'Hello'}}, got {value!r}")


def main() -> None:
    """Serve a script file until the process is ended; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--lenient", action="store_true", help="take badly paired histories")
    options = parser.parse_args()
    script = list(steps_from_json(json.loads(options.script.read_text())))
    with FakeProvider(script, strict=not options.lenient, port=options.port) as provider:
        print(provider.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
