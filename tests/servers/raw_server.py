"""A small MCP server that speaks by hand, without the SDK: it starts in 50 ms and says anything.

``raw_server.py [SCRIPT]`` speaks over stdin and stdout. SCRIPT is a JSON object; every key
may be left out:

* ``tools``: what ``tools/list`` returns as ``tools``, in any shape; default ``STANDARD_TOOLS``
* ``pages``: a list of pages, each a list of tools, linked by cursors
* ``cursor``: the ``nextCursor`` of every page; ``"endless"`` for new ones for ever
* ``changed_tools``: what is listed after the tool ``change`` was called (a notice is sent then)
* ``list_changed``: whether the server declares that it tells of changes; default true
* ``results``, ``errors``: by tool, the raw ``result`` or ``error`` of a call
* ``lines``: by tool, lines to print instead of an answer; ``$ID`` stands for the request's id
* ``silent``: methods that get no answer; ``["*"]``: none does
* ``record``: a file to which every received message is appended, one JSON object a line
* ``pid_file``: a file to which the process id is appended
* ``start_delay``: seconds to wait before anything is read
* ``exit_code``: ends at once with this code, after ``stderr`` was written
* ``exit_on``: ends with code 3 when this method is received
* ``stderr``, ``noise``: text for stderr, lines for stdout, written at the start
* ``stubborn``: ignores SIGTERM and the end of stdin
* ``version``: the protocol version answered; default ``2025-11-25``
* ``modern``: speaks 2026-07-28 instead of the older handshake

Besides the standard tools it knows, unlisted: ``change`` (see above), ``environ(name)``, ``cwd``,
and ``ask(method, params)``, which asks the client something and returns its answer as text.
"""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

MODERN_VERSION = "2026-07-28"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"


def _tool(name: str, description: str, **properties: Any) -> Message:
    required = [key for key, value in properties.items() if not value.pop("optional", False)]
    schema: Message = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {"name": name, "description": description, "inputSchema": schema}


STANDARD_TOOLS: list[Message] = [
    _tool("echo", "Say it again.", message={"type": "string"}),
    {**_tool("ping", "Answer pong."), "annotations": {"readOnlyHint": True}},
    _tool("fail", "Report an error."),
    _tool(
        "slow",
        "Wait.",
        seconds={"type": "number"},
        steps={"type": "integer", "optional": True},
    ),
    _tool("big", "Return many characters.", chars={"type": "integer"}),
    _tool("img", "Return an image of 300 KB."),
    _tool("count", "Count this call in the file COUNT_FILE."),
    _tool("crash", "End the process."),
]


class RawServer:
    """The conversation of one server; ``send`` takes a message, or text to be sent as it is."""

    def __init__(self, script: Message, send: Callable[[Message | str], None]) -> None:
        self.script = script
        self.send = send
        self.is_changed = False
        self._cancelled: dict[Any, threading.Event] = {}
        self._answers: dict[Any, Message] = {}
        self._answered = threading.Event()
        self._listeners: list[Any] = []

    def receive(self, message: Message) -> None:
        """Act on one message; calls run in threads, so that a cancel can be received."""
        self._record(message)
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            self._answers[request_id] = message
            self._answered.set()
            return
        if method == self.script.get("exit_on"):
            os._exit(3)
        silent = self.script.get("silent", [])
        if method in silent or "*" in silent:
            return
        if method == "notifications/cancelled":
            self._cancelled.setdefault(message["params"]["requestId"], threading.Event()).set()
        elif method == "tools/call":
            threading.Thread(target=self._call, args=(message,), daemon=True).start()
        elif method == "subscriptions/listen" and self.script.get("modern"):
            self._listen(message)
        elif request_id is not None:
            self._answer(request_id, self._result_of(method, message.get("params") or {}))

    def _record(self, message: Message) -> None:
        path = self.script.get("record")
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")

    def _answer(self, request_id: Any, result: Message | None) -> None:
        if result is None:
            error = {"code": -32601, "message": "Method not found"}
            self.send({"jsonrpc": "2.0", "id": request_id, "error": error})
            return
        if self.script.get("modern"):
            result = {"resultType": "complete", **result}
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _result_of(self, method: str, params: Message) -> Message | None:
        capabilities = {"tools": {"listChanged": self.script.get("list_changed", True)}}
        about = {"name": "raw", "version": "1"}
        if method == "tools/list":
            hints = {"ttlMs": 0, "cacheScope": "private"} if self.script.get("modern") else {}
            return {**self._page(params.get("cursor")), **hints}
        if method == "ping":
            return {}
        if self.script.get("modern"):
            if method != "server/discover":
                return None
            return {
                "supportedVersions": [MODERN_VERSION],
                "capabilities": capabilities,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": about},
            }
        if method != "initialize":
            return None
        version = self.script.get("version", "2025-11-25")
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}

    def _page(self, cursor: str | None) -> Message:
        if self.is_changed:
            return {"tools": self.script.get("changed_tools", [])}
        tools = self.script.get("tools", STANDARD_TOOLS)
        following = self.script.get("cursor")
        if following is not None:
            number = int(cursor or 0) if following == "endless" else 0
            return {
                "tools": tools,
                "nextCursor": str(number + 1) if following == "endless" else following,
            }
        pages = self.script.get("pages")
        if pages is None:
            return {"tools": tools}
        number = int(cursor or 0)
        page: Message = {"tools": pages[number]}
        if number + 1 < len(pages):
            page["nextCursor"] = str(number + 1)
        return page

    def _listen(self, message: Message) -> None:
        self._listeners.append(message["id"])
        meta = {SUBSCRIPTION_KEY: message["id"]}
        wanted = message["params"]["notifications"]
        self.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": wanted, "_meta": meta},
            }
        )

    def _call(self, message: Message) -> None:
        params, request_id = message["params"], message["id"]
        name, arguments = params["name"], params.get("arguments") or {}
        if name in self.script.get("lines", {}):
            for line in self.script["lines"][name]:
                self.send(line.replace("$ID", json.dumps(request_id)))
            return
        if name in self.script.get("errors", {}):
            error = self.script["errors"][name]
            self.send({"jsonrpc": "2.0", "id": request_id, "error": error})
            return
        if name in self.script.get("results", {}):
            self._answer(request_id, self.script["results"][name])
            return
        result = self._run(name, arguments, params.get("_meta") or {}, request_id)
        if result is not None:
            self._answer(request_id, result)

    def _run(self, name: str, arguments: Message, meta: Message, call: Any) -> Message | None:
        match name:
            case "echo":
                return _text(str(arguments.get("message")))
            case "ping":
                return _text("pong")
            case "fail":
                return {**_text("it failed"), "isError": True}
            case "slow":
                return self._sleep(arguments, meta, call)
            case "big":
                return _text("x" * int(arguments["chars"]))
            case "img":
                return {"content": [_image()]}
            case "count":
                return _text(str(_count()))
            case "crash":
                print("the server crashes now", file=sys.stderr, flush=True)
                os._exit(1)
            case "change":
                self._change()
                return _text("changed")
            case "environ":
                return _text(os.environ.get(arguments["name"], "unset"))
            case "cwd":
                return _text(os.getcwd())
            case "ask":
                return _text(json.dumps(self._ask(arguments)))
        return {**_text(f"Unknown tool: {name}"), "isError": True}

    def _sleep(self, arguments: Message, meta: Message, call: Any) -> Message | None:
        steps = int(arguments.get("steps") or 1)
        cancelled = self._cancelled.setdefault(call, threading.Event())
        for step in range(steps):
            if cancelled.wait(float(arguments["seconds"]) / steps):
                return None
            if "progressToken" in meta and steps > 1:
                progress = {"progressToken": meta["progressToken"], "progress": step + 1}
                progress |= {"total": steps, "message": f"step {step + 1}"}
                self.send(
                    {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
                )
        return _text("slept")

    def _change(self) -> None:
        self.is_changed = True
        notice: Message = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        if not self.script.get("modern"):
            self.send(notice)
        for listener in self._listeners:
            self.send({**notice, "params": {"_meta": {SUBSCRIPTION_KEY: listener}}})

    def _ask(self, arguments: Message) -> Message:
        self._answered.clear()
        self.send({"jsonrpc": "2.0", "id": "q1", **arguments})
        self._answered.wait(5)
        return self._answers.get("q1", {"error": "no answer"})


def _text(text: str) -> Message:
    return {"content": [{"type": "text", "text": text}]}


def _image() -> Message:
    noise = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(225_000)
    data = base64.b64encode(noise).decode()
    return {"type": "image", "data": data, "mimeType": "image/png"}


def _count() -> int:
    path = os.environ["COUNT_FILE"]
    with open(path, "a", encoding="utf-8") as file:
        file.write("count\n")
    with open(path, encoding="utf-8") as file:
        return len(file.readlines())


def _prepare(script: Message) -> None:
    if script.get("pid_file"):
        with open(script["pid_file"], "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    if script.get("stderr"):
        print(script["stderr"], file=sys.stderr, flush=True)
    if "exit_code" in script:
        sys.exit(script["exit_code"])
    for line in script.get("noise", []):
        print(line, flush=True)
    if script.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(script.get("start_delay", 0))


def main() -> None:
    """Speak over stdin and stdout until stdin ends."""
    script = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    _prepare(script)
    lock = threading.Lock()

    def send(message: Message | str) -> None:
        with lock:
            print(message if isinstance(message, str) else json.dumps(message), flush=True)

    server = RawServer(script, send)
    for line in sys.stdin:
        if line.strip():
            server.receive(json.loads(line))
    while script.get("stubborn"):
        time.sleep(1)


if __name__ == "__main__":
    main()
