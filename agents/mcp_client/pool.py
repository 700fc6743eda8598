"""The servers of this process: connections that are opened when needed and stay open.

Place in the house: the way into ``agents.mcp_client``; one pool per process and event loop. A
connection is keyed by server, configuration and credential, so that one user's token never serves
another.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits, OnProgress, ServerListing, ToolSpec
from agents.loop.messages import JsonObject
from agents.loop.results import Outcome, ToolReply
from agents.mcp_client.config import ServerConfig, resolve_config
from agents.mcp_client.wire_log import WireLog, WireMessage

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
CLOSE_SECONDS = 8.0


class Connection(Protocol):
    """One open way to a server; MCP servers and Python modules have one each."""

    protocol: str
    fault: str

    @property
    def is_usable(self) -> bool:
        """Whether a new call may be sent here."""
        ...

    @property
    def calls_open(self) -> int:
        """How many calls wait for their answer."""
        ...

    @property
    def stderr_tail(self) -> str:
        """The last lines that a child process wrote to stderr."""
        ...

    async def open(self) -> None:
        """Connect. Raises ``ServerUnavailable`` within the connect limit."""
        ...

    async def close(self) -> None:
        """End it, bounded in time."""
        ...

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        """All tools. Raises ``ServerUnavailable``."""
        ...

    def forget_listing(self) -> None:
        """Have the next listing ask the server anew."""
        ...

    async def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> ToolReply:
        """Send one call, once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """How a server stands, for operators.

    ``state`` is ``new``, ``opening``, ``open``, ``failed`` (``retry_in_seconds`` until the next
    try) or ``closed``. ``stderr_tail`` is at most 4 KB, of the newest connection. ``messages`` are
    the last that passed; whole ones are kept for ``record_seconds`` more.
    """

    server_id: str
    transport: str
    state: str
    protocol: str = ""
    last_error: str = ""
    retry_in_seconds: float = 0.0
    stderr_tail: str = ""
    messages: tuple[WireMessage, ...] = ()
    record_seconds: float = 0.0


class ServerPool:
    """All connections of this process and event loop.

    ``connect_seconds`` bounds each opening and each listing.
    """

    def __init__(
        self, *, connect_seconds: float = 20.0, first_delay_seconds: float = FIRST_DELAY_SECONDS
    ) -> None:
        self._connect_seconds = connect_seconds
        self._first_delay_seconds = first_delay_seconds
        self._slots: dict[tuple[str, str, str], _Slot] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def servers(self, configs: Mapping[str, ServerConfig]) -> PooledServers:
        """The servers of one run by their ``server_id``. Nothing is opened before it is used."""
        for config in configs.values():
            self._drop_outdated(config)
        return PooledServers(self, configs)

    def statuses(self) -> list[ServerStatus]:
        """How every server that was ever used stands."""
        return [slot.status() for slot in self._slots.values()]

    def record(self, config: ServerConfig) -> None:
        """Keep the whole messages of a server for a while. Raises ``ServerUnavailable`` once
        closed."""
        self.slot(config).log.record()

    async def close(self) -> None:
        """End all connections and child processes, all at once and within a few seconds."""
        self._is_closed = True
        openings = [opening for slot in self._slots.values() if (opening := slot.retire())]
        if openings:
            await asyncio.wait(openings, timeout=CLOSE_SECONDS)
        if self._ending:
            await asyncio.wait(self._ending, timeout=CLOSE_SECONDS)

    def slot(self, config: ServerConfig) -> _Slot:
        """Where one configuration's connection is. Raises ``ServerUnavailable`` once closed."""
        if self._is_closed:
            raise ServerUnavailable(config.server_id, "the application is shutting down")
        key = _key_of(config)
        if key not in self._slots:
            self._slots[key] = _Slot(self, config)
        return self._slots[key]

    def ask_anew(self, config: ServerConfig) -> None:
        """Have the next listing of a server come from the server itself, and at once: open
        connections stay, what was remembered is forgotten, a failed one need not wait."""
        slot = self._slots.get(_key_of(config))
        if slot is not None:
            slot.ask_anew()

    def end(self, connection: Connection) -> None:
        """End a connection in the background; ``close`` waits for it."""
        task = asyncio.create_task(connection.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def connect(self, config: ServerConfig, log: WireLog) -> Connection:
        """A connection to be opened. Raises ``ServerUnavailable`` for a bad configuration."""
        if config.refusal:
            raise ServerUnavailable(config.server_id, config.refusal)
        resolved = resolve_config(config)
        if config.transport == "python":
            from agents.mcp_client.python_servers import PythonConnection  # late: pydantic is slow

            return PythonConnection(config, connect_seconds=self._connect_seconds)
        if config.transport not in ("stdio", "http", "sse"):
            raise ServerUnavailable(
                config.server_id,
                f"transport must be stdio, http, sse or python, got {config.transport!r}",
            )
        # Late and in a thread: importing mcp takes a second, which migrate and the admin need not
        # pay, and which would hold up every run of this process.
        module = await asyncio.to_thread(_import_connection)
        connection: Connection = module.McpConnection(
            resolved, connect_seconds=self._connect_seconds, log=log
        )
        return connection

    def delay_after(self, failures: int) -> float:
        """Seconds until the next try after so many failures in a row."""
        return float(min(LONGEST_DELAY_SECONDS, self._first_delay_seconds * 2 ** (failures - 1)))

    def _drop_outdated(self, config: ServerConfig) -> None:
        key = _key_of(config)
        for other, slot in list(self._slots.items()):
            is_same = (other[0], other[2]) == (key[0], key[2])
            if is_same and other != key and slot.is_idle:
                slot.retire()
                del self._slots[other]


class PooledServers:
    """The servers of one run: ``ToolCaller`` for the loop."""

    def __init__(self, pool: ServerPool, configs: Mapping[str, ServerConfig]) -> None:
        self._pool = pool
        self._configs = dict(configs)

    async def list_tools(self, server: str) -> ServerListing:
        """Every tool of a server. Raises ``ServerUnavailable``, within the connect limit."""
        config = self._config(server)
        slot = self._pool.slot(config)
        was_open = slot.is_open
        connection = await slot.connection()
        try:
            tools = await connection.list_tools()
        except ServerUnavailable as error:
            slot.note_failure(connection, error)
            if not was_open or connection.is_usable:
                raise
            # It had been open for long and was gone: listing again on a new one does no harm.
            connection = await slot.connection()
            tools = await connection.list_tools()
        return ServerListing(
            server=server,
            tools=_with_samples(tools, config),
            protocol=connection.protocol,
            limits=config.limits,
        )

    async def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> ToolReply:
        """Send one call, once. Never raises but ``CancelledError``; the server is told of it."""
        try:
            slot = self._pool.slot(self._config(spec.server))
            connection = await slot.connection()
        except ServerUnavailable as error:
            return ToolReply(outcome=Outcome.SERVER_UNAVAILABLE, error=str(error))
        reply = await connection.call_tool(spec, arguments, limits=limits, on_progress=on_progress)
        if reply.outcome is Outcome.SERVER_UNAVAILABLE:
            slot.last_error = reply.error
        return reply

    def _config(self, server: str) -> ServerConfig:
        if server not in self._configs:
            known = ", ".join(sorted(self._configs)) or "none"
            raise ServerUnavailable(server, f"it is not configured for this run (known: {known})")
        return self._configs[server]


class _Slot:
    """The place of one connection: opens it, shares one opening, waits after failures."""

    def __init__(self, pool: ServerPool, config: ServerConfig) -> None:
        self.last_error = ""
        self.log = WireLog()
        self._stderr_tail = ""
        self._pool = pool
        self._config = config
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._failures = 0
        self._next_try = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything here."""
        return self._opening is None and (
            self._connection is None or self._connection.calls_open == 0
        )

    @property
    def is_open(self) -> bool:
        """Whether there is a usable connection."""
        return self._connection is not None and self._connection.is_usable

    async def connection(self) -> Connection:
        """A usable connection, opened if need be; many callers share one opening.

        Raises ``ServerUnavailable``: at once while a failed server is given time to recover.
        """
        if self._connection is not None and self._connection.is_usable:
            return self._connection
        if self._opening is None:
            self._let_go()
            wait = self._next_try - asyncio.get_running_loop().time()
            if wait > 0:
                raise ServerUnavailable(
                    self._config.server_id, f"{self.last_error} (next try in {wait:.1f} s)"
                )
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_look_at_error)
        opening = self._opening
        await asyncio.wait({opening})
        if opening.cancelled():
            raise ServerUnavailable(self._config.server_id, "the application is shutting down")
        return opening.result()

    def ask_anew(self) -> None:
        """Forget what was listed, and the wait after a failure."""
        self._next_try = 0.0
        if self._connection is not None:
            self._connection.forget_listing()

    def note_failure(self, connection: Connection, error: ServerUnavailable) -> None:
        """Remember why a connection could not be used."""
        self.last_error = error.reason
        if connection is self._connection and not connection.is_usable:
            self._let_go()

    def retire(self) -> asyncio.Task[Connection] | None:
        """End the connection in the background; gives the opening that was cancelled."""
        opening = self._opening
        if opening is not None:
            opening.cancel()
        if self._connection is not None:
            self._pool.end(self._connection)
            self._connection = None
        return opening

    def status(self) -> ServerStatus:
        """How it stands."""
        connection = self._connection
        wait = 0.0
        if self._opening is not None:
            state = "opening"
        elif connection is not None and connection.is_usable:
            state = "open"
        elif self.last_error:
            state = "failed"
            wait = max(0.0, self._next_try - asyncio.get_running_loop().time())
        else:
            state = "closed" if connection is not None else "new"
        return ServerStatus(
            server_id=self._config.server_id,
            transport=self._config.transport,
            state=state,
            protocol=connection.protocol if connection else "",
            last_error=self.last_error,
            retry_in_seconds=wait,
            stderr_tail=connection.stderr_tail if connection else self._stderr_tail,
            messages=self.log.messages(),
            record_seconds=self.log.seconds_left,
        )

    def _let_go(self) -> None:
        """Part with a broken connection: it worked once, so the next may be opened at once."""
        connection = self._connection
        if connection is None:
            return
        self._connection = None
        self._stderr_tail = connection.stderr_tail
        self.last_error = connection.fault or self.last_error
        self._pool.end(connection)

    async def _open(self) -> Connection:
        connection: Connection | None = None
        try:
            connection = await self._pool.connect(self._config, self.log)
            await connection.open()
        except ServerUnavailable as error:
            self.last_error = error.reason
            self._note_failed()
            if connection is not None:
                self._stderr_tail = connection.stderr_tail
                self._pool.end(connection)
            raise
        except asyncio.CancelledError:
            if connection is not None:
                self._pool.end(connection)
            raise
        finally:
            self._opening = None
        self._connection = connection
        self._failures = 0
        self.last_error = ""
        return connection

    def _note_failed(self) -> None:
        self._failures += 1
        delay = self._pool.delay_after(self._failures)
        self._next_try = asyncio.get_running_loop().time() + delay


def _look_at_error(opening: asyncio.Task[Connection]) -> None:
    # All who waited may have been cancelled; asyncio complains of errors that nobody saw.
    if not opening.cancelled():
        opening.exception()


def _import_connection() -> ModuleType:
    return importlib.import_module("agents.mcp_client.connection")


def _with_samples(tools: tuple[ToolSpec, ...], config: ServerConfig) -> tuple[ToolSpec, ...]:
    if not config.samples:
        return tools
    return tuple(replace(tool, samples=config.samples.get(tool.name, ())) for tool in tools)


def _key_of(config: ServerConfig) -> tuple[str, str, str]:
    return (config.server_id, config.fingerprint, config.credential)
