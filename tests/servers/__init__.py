"""Small MCP servers for every test.

Each offers ``echo(message)``, ``ping()``, ``fail()``, ``slow(seconds, steps=1)``, ``big(chars)``,
``img()``, ``count()`` (appends a line to the file named by the environment variable ``COUNT_FILE``)
and ``crash()``.

* ``stdio_entry("echo", **script)``: an item for a bundle's ``servers``; a server over stdio that
  starts in 50 ms and speaks 2025-11-25 (``modern=True``: 2026-07-28). The script's keys are in
  ``raw_server``; ``env``, ``cwd`` and other fields of the item go through ``entry={...}``.
* ``sdk_entry("echo")``: the same tools on the official SDK over stdio (modern; 1 s to start).
* ``with http_server() as url`` (``kind="sse"``): the official SDK over HTTP in a process of its
  own; ``http_entry("echo", url)`` is its item.
* ``raw_http.raw_http_server(script, **rules)``: HTTP by hand in a thread of this process.
* ``received(path)``: what a server with ``record=path`` was sent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def stdio_entry(
    server_id: str = "echo", *, entry: Mapping[str, Any] | None = None, **script: Any
) -> dict[str, Any]:
    """A bundle's item for the server that speaks by hand, with this script."""
    return {
        "server_id": server_id,
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-S", "-E", str(HERE / "raw_server.py"), json.dumps(script)],
        **(entry or {}),
    }


def sdk_entry(server_id: str = "echo", **entry: Any) -> dict[str, Any]:
    """A bundle's item for the standard tools on the official SDK, over stdio."""
    return {
        "server_id": server_id,
        "transport": "stdio",
        "command": sys.executable,
        "args": [str(HERE / "echo_server.py")],
        **entry,
    }


def http_entry(server_id: str, url: str, **entry: Any) -> dict[str, Any]:
    """A bundle's item for a server over HTTP; ``transport="sse"`` for the old one."""
    return {"server_id": server_id, "transport": "http", "url": url, **entry}


@contextmanager
def http_server(kind: str = "http", **environment: str) -> Iterator[str]:
    """The URL of the standard tools on the official SDK, over ``http`` or ``sse``.

    ``TOKEN=...`` makes it want that bearer token, ``PORT=...`` fixes its port.
    """
    with http_server_process(kind, **environment) as (url, _process):
        yield url


@contextmanager
def http_server_process(
    kind: str = "http", **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Like ``http_server``, with the process, for tests that end it themselves."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "sdk_server.py"), kind],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, "the server did not start; see its stderr above"
        yield url, process
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


def received(path: Path | str, method: str = "") -> list[dict[str, Any]]:
    """The messages in a record file, or those of one method."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []
    messages = [json.loads(line) for line in lines]
    return [message for message in messages if not method or message.get("method") == method]
