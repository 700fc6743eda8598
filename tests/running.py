"""Whole runs for tests: a bundle, a message, and everything that came of it.

``Runner`` (fixture ``runner``) imports bundles and runs assistants through the commands that people
use, against real servers and a real HTTP provider::

    def test_something(runner):
        with FakeProvider([calls(call("c1", "echo__ping")), text("done")]) as provider:
            runner.configure(provider, servers=[stdio_entry("echo")])
            ran = runner.run("hello")
        assert ran.finished["answer"] == "done"
        assert provider.requests[1].messages[-1]["content"] == "pong"
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command

from agents.models import Conversation, Message
from tests.fake_provider import FakeProvider

Json = dict[str, Any]


@dataclass
class Ran:
    """What one call of ``run_assistant`` left behind."""

    events: list[Json]
    code: int
    stderr: str = ""

    def of(self, name: str) -> list[Json]:
        """The events with this name."""
        return [event for event in self.events if event["event"] == name]

    @property
    def finished(self) -> Json:
        """The last ``run_finished``: the root's."""
        return self.of("run_finished")[-1]

    @property
    def outcomes(self) -> list[str]:
        """The outcome of every call, in the order in which the calls were started."""
        ended = {event["key"]: event["outcome"] for event in self.of("tool_call_finished")}
        return [ended[event["key"]] for event in self.of("tool_call_started")]

    @property
    def conversation(self) -> str:
        """The conversation's id."""
        return str(self.of("run_started")[0]["conversation"])

    def stored(self) -> list[Message]:
        """The conversation as it is stored, from the root to the leaf."""
        return stored_path(self.conversation)


@dataclass
class Runner:
    """Imports bundles and runs assistants. ``folder`` is for files of this test."""

    folder: Path
    bundle: Json = field(default_factory=dict)

    def configure(
        self,
        provider: FakeProvider | str,
        *,
        servers: Sequence[Json] = (),
        use: Sequence[Any] | None = None,
        assistant: Json | None = None,
        provider_fields: Json | None = None,
        **bundle: Any,
    ) -> None:
        """Import a bundle with the provider ``main``, these servers and the assistant ``helper``.

        ``use`` is the assistant's ``mcp.servers`` (all servers by default); ``assistant`` adds to
        or replaces fields of the assistant, ``provider_fields`` of the provider, ``bundle``
        top-level keys.
        """
        url = provider if isinstance(provider, str) else provider.base_url
        given = dict(assistant or {})
        mcp = {"servers": [server["server_id"] for server in servers] if use is None else list(use)}
        mcp.update(given.pop("mcp", {}))
        self.import_bundle(
            {
                "version": 1,
                "providers": [
                    {
                        "id": "main",
                        "base_url": url,
                        "default_model": "m1",
                        "max_retries": 0,
                        **(provider_fields or {}),
                    }
                ],
                "servers": list(servers),
                "assistants": [
                    {"id": "helper", "name": "Helper", "provider": "main", "mcp": mcp, **given}
                ],
                **bundle,
            }
        )

    def import_bundle(self, bundle: Json) -> str:
        """Import a bundle; what the command wrote on standard error."""
        self.bundle = bundle
        path = self.folder / "bundle.json"
        path.write_text(json.dumps(bundle), encoding="utf-8")
        stderr = StringIO()
        call_command("import_config", str(path), stdout=StringIO(), stderr=stderr)
        return stderr.getvalue()

    def run(self, *messages: str, assistant: str = "helper", **options: Any) -> Ran:
        """Run the messages one after the other; events, exit code and standard error."""
        stdout, stderr = StringIO(), StringIO()
        code = 0
        try:
            wanted = [part for message in messages for part in ("--message", message)]
            call_command(
                "run_assistant",
                assistant,
                *wanted,
                "--json",
                stdout=stdout,
                stderr=stderr,
                **options,
            )
        except SystemExit as end:
            code = int(end.code or 0)
        except CommandError as error:
            code = error.returncode
            stderr.write(str(error))
        events = [json.loads(line) for line in stdout.getvalue().splitlines()]
        return Ran(events=events, code=code, stderr=stderr.getvalue())

    def run_and_stop(self, *messages: str, when: Callable[[], object], **options: Any) -> Ran:
        """Like ``run``, stopped by SIGINT as soon as ``when()`` returns (it waits in a thread)."""

        def stop() -> None:
            when()
            os.kill(os.getpid(), signal.SIGINT)

        stopper = threading.Thread(target=stop, daemon=True)
        stopper.start()
        try:
            return self.run(*messages, **options)
        finally:
            stopper.join(30)


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until the condition holds. Raises ``TimeoutError``."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what the test waits for did not happen")
        time.sleep(0.01)


def stored_path(conversation_id: str) -> list[Message]:
    """The messages of a conversation from the root to the leaf."""
    path: list[Message] = []
    current = Conversation.objects.get(pk=conversation_id).leaf
    while current is not None:
        path.append(current)
        current = current.parent
    return path[::-1]
