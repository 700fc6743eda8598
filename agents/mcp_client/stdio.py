"""A server that is a child process, spoken to in lines of JSON.

Place in the house: a transport for the SDK's session; imported at the first connect. The SDK has
one too, but what it lacks is what operators need: the last words on stderr, lines that are no JSON,
lines of many megabytes, and an end of the whole process group in every case.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from agents.mcp_client.wire import Item, WireWatch

STDERR_TAIL_BYTES = 4096
LONGEST_LINE_BYTES = 64 * 1024 * 1024
STDIN_GRACE_SECONDS = 1.0
TERM_GRACE_SECONDS = 1.0
_CHUNK = 256 * 1024

_living_groups: set[int] = set()


def _kill_living_groups() -> None:
    for group in list(_living_groups):
        _signal_group(group, signal.SIGKILL)


atexit.register(_kill_living_groups)


class ChildServer:
    """One child process: started, listened to, ended with all of its group.

    ``stop`` is bounded in time: stdin is closed, then SIGTERM, then SIGKILL go to the whole
    process group.
    """

    def __init__(self, watch: WireWatch) -> None:
        self._watch = watch
        self._process: asyncio.subprocess.Process | None = None
        self._stderr_tail = bytearray()
        self._stderr_task: asyncio.Task[None] | None = None
        self._garbage = ""

    async def start(
        self, command: str, args: tuple[str, ...], *, env: Mapping[str, str], cwd: str | None
    ) -> None:
        """Start the process. Raises ``OSError`` or ``ValueError`` where that is not possible."""
        self._process = await asyncio.create_subprocess_exec(
            command,
            *args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**get_default_environment(), **env},
            cwd=cwd,
            start_new_session=True,
            limit=_CHUNK,
        )
        _living_groups.add(self._process.pid)
        self._stderr_task = asyncio.create_task(self._keep_stderr_tail())

    @property
    def stderr_tail(self) -> str:
        """The last lines that the process wrote to stderr."""
        return self._stderr_tail.decode("utf-8", "replace").strip()

    @property
    def last_garbage(self) -> str:
        """The last line on stdout that was no message, shortened."""
        return self._garbage

    @property
    def exit_code(self) -> int | None:
        """How the process ended, negative for a signal; ``None`` while it runs."""
        return self._process.returncode if self._process else None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs, also where asyncio has not heard of its end yet."""
        process = self._process
        if process is None or process.returncode is not None:
            return False
        if not hasattr(os, "waitid"):
            return True
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, process.pid, flags) is None
        except ChildProcessError:
            return False

    async def wait_for_last_words(self, seconds: float) -> None:
        """Give a process that hung up a moment to end and to say why."""
        if self._process is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._stderr_task is not None:
                    await asyncio.wait({self._stderr_task})
                await self._wait_until(lambda: self.exit_code is not None)

    async def messages(self) -> AsyncIterator[SessionMessage]:
        """The messages of the process until it hangs up; what is no message is skipped."""
        assert self._process is not None and self._process.stdout is not None
        pieces: list[bytes] = []
        size = 0
        while chunk := await self._process.stdout.read(_CHUNK):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                message = self._message_from(b"".join([*pieces, line]))
                pieces, size = [], 0
                if message is not None:
                    yield message
            pieces.append(rest)
            size += len(rest)
            if size > LONGEST_LINE_BYTES:
                self._garbage = f"a line of more than {LONGEST_LINE_BYTES // 2**20} MiB"
                return

    def write(self, message: SessionMessage) -> None:
        """Queue one message for the process. Raises ``anyio.ClosedResourceError`` when it is gone.

        It never waits: a process that does not read must not hold up a time limit or a cancel.
        """
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise anyio.ClosedResourceError
        line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        process.stdin.write(line.encode("utf-8", "replace") + b"\n")

    async def stop(self) -> None:
        """End the process and its whole group, within a few seconds whatever they do."""
        process = self._process
        if process is None:
            return
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not await self._is_gone_within(STDIN_GRACE_SECONDS):
                _signal_group(process.pid, signal.SIGTERM)
                await self._is_gone_within(TERM_GRACE_SECONDS)
        finally:
            _signal_group(process.pid, signal.SIGKILL)
            _living_groups.discard(process.pid)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._wait_until(lambda: process.returncode is not None)
        if self._stderr_task is not None:
            self._stderr_task.cancel()
            await asyncio.wait({self._stderr_task})
        # A grandchild that left the group may hold the pipes: without this they stay open and warn.
        process._transport.close()  # type: ignore[attr-defined]

    async def _is_gone_within(self, seconds: float) -> bool:
        process = self._process
        assert process is not None
        try:
            async with asyncio.timeout(seconds):
                await self._wait_until(lambda: process.returncode is not None)
                # The leader is gone; what it started gets the rest of the time.
                await self._wait_until(lambda: not _group_lives(process.pid))
        except TimeoutError:
            return False
        return True

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        # Not process.wait(): it also waits for pipes that a grandchild may hold open. And nothing
        # tells when the last process of a group is gone.
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _message_from(self, line: bytes) -> SessionMessage | None:
        if not line.strip():
            return None
        try:
            message = self._watch.message_from(json.loads(line))
        except (ValueError, RecursionError):
            message = None
        if message is None:
            self._garbage = line[:200].decode("utf-8", "replace").strip()
            return None
        return SessionMessage(message)

    async def _keep_stderr_tail(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._stderr_tail += chunk
            del self._stderr_tail[:-STDERR_TAIL_BYTES]


class _ChildWrite:
    """The outgoing stream that the SDK wants, over a child process."""

    def __init__(self, child: ChildServer) -> None:
        self._child = child

    async def send(self, item: SessionMessage, /) -> None:
        """Queue one message."""
        self._child.write(item)

    async def aclose(self) -> None:
        """Nothing: the process is ended by the transport."""

    async def __aenter__(self) -> _ChildWrite:
        return self

    async def __aexit__(self, *_error: object) -> None:
        return None


@asynccontextmanager
async def child_streams(
    child: ChildServer,
) -> AsyncIterator[tuple[anyio.abc.ObjectReceiveStream[Item], _ChildWrite]]:
    """The stream pair of a started process; on leaving, the process and its group are ended."""
    send, receive = anyio.create_memory_object_stream[Item](0)

    async def read_messages() -> None:
        async with send:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for message in child.messages():
                    await send.send(message)

    reader = asyncio.create_task(read_messages())
    try:
        yield receive, _ChildWrite(child)
    finally:
        receive.close()
        try:
            await child.stop()
        finally:
            reader.cancel()
            await asyncio.wait({reader})


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
