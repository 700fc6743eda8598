"""One open connection to an MCP server.

Place in the house: under ``pool``, which loads this module at the first connect, for it imports
``mcp``. One owner task enters the SDK's session and leaves it; every task of the same loop may
call. A connection is used once: when it is broken the pool opens another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits, OnProgress, ToolSpec
from agents.loop.messages import JsonObject
from agents.loop.results import Outcome, ToolReply
from agents.mcp_client.config import ResolvedConfig
from agents.mcp_client.faults import Fault, describe_opening, fault_from, one_line
from agents.mcp_client.limits import CallClock, no_answer_text
from agents.mcp_client.listing import fetch_tools
from agents.mcp_client.results import reply_from_result
from agents.mcp_client.transports import ServerTransport
from agents.mcp_client.wire import WatchedRead, WatchedWrite, WireWatch, raw_result
from agents.mcp_client.wire_log import WireLog

RELISTEN_SECONDS = 30.0
CLIENT = types.Implementation(name="toolloop", version="0.1.0")

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class McpConnection:
    """A connection: opened once, then listed and called, then closed.

    ``protocol`` is the negotiated version. ``is_usable`` turns false when the server is gone or
    should be asked over a new connection; calls that are under way may still end well.
    """

    def __init__(
        self, resolved: ResolvedConfig, *, connect_seconds: float, log: WireLog | None = None
    ) -> None:
        self.protocol = ""
        self.fault = ""
        self._resolved = resolved
        self._server = resolved.config.server_id
        self._connect_seconds = connect_seconds
        self._watch = WireWatch(
            on_list_changed=self.forget_listing,
            on_end=self._note_end,
            log=log or WireLog(),
            scrub=resolved.scrub,
        )
        self._transport = ServerTransport(
            resolved,
            self._watch,
            on_fault=self._note_fault,
            on_channel_change=self.forget_listing,
        )
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._session: ClientSession | None = None
        self._is_over = False
        self._is_subscribed = False
        self._listing: tuple[ToolSpec, ...] | None = None
        self._list_lock = asyncio.Lock()
        self._changes = 0
        self._calls_open = 0

    @property
    def is_usable(self) -> bool:
        """Whether a new call may be sent here."""
        is_open = self._session is not None and not self._is_over and not self.fault
        return is_open and self._transport.is_alive

    @property
    def calls_open(self) -> int:
        """How many calls wait for their answer."""
        return self._calls_open

    @property
    def stderr_tail(self) -> str:
        """The last lines of the server's stderr, without secrets."""
        return self._resolved.scrub(self._transport.stderr_tail)

    async def open(self) -> None:
        """Connect and agree on a protocol. Raises ``ServerUnavailable`` within the limit.

        A failed opening still has to be closed.
        """
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self._server}")
        try:
            async with asyncio.timeout(self._connect_seconds):
                await asyncio.shield(self._ready)
        except TimeoutError:
            reason = f"no answer within {self._connect_seconds:g} s: is this an MCP server?"
            words = self._transport.describe_words()
            raise self._unavailable("; ".join(part for part in (reason, words) if part)) from None

    async def close(self) -> None:
        """Leave the session; end the process. Bounded in time; safe to call twice."""
        self._leave.set()
        if self._owner is None:
            return
        if not self._ready.done():
            self._owner.cancel()
        done, _ = await asyncio.wait({self._owner}, timeout=6)
        if not done:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=4)

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        """All tools, from memory as long as the server would have told of a change.

        Raises ``ServerUnavailable``.
        """
        async with self._list_lock:
            if self._listing is not None and self._hears_changes():
                return self._listing
            changes = self._changes
            self._calls_open += 1
            try:
                async with asyncio.timeout(self._connect_seconds):
                    tools = await self._guarded(self._fetch_tools())
            except TimeoutError:
                raise self._unavailable(
                    f"tools/list was not answered within {self._connect_seconds:g} s"
                ) from None
            except Fault as fault:
                raise self._unavailable(await self._explained(fault)) from None
            finally:
                self._calls_open -= 1
                self._leave_when_drained()
            if changes == self._changes:
                self._listing = tools
            return tools

    async def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> ToolReply:
        """Send one call, once. Raises nothing but ``CancelledError``; the server is told of it."""
        self._calls_open += 1
        clock = CallClock(limits)
        try:
            async with clock:
                return await self._guarded(self._send_call(spec, arguments, clock, on_progress))
        except TimeoutError:
            return ToolReply(outcome=Outcome.TIMEOUT, error=no_answer_text(clock.seconds))
        except Fault as fault:
            return await self._reply_from_fault(fault)
        finally:
            self._calls_open -= 1
            self._leave_when_drained()

    async def _send_call(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        clock: CallClock,
        on_progress: OnProgress | None,
    ) -> ToolReply:
        async def note_progress(progress: float, total: float | None, message: str | None) -> None:
            clock.note_progress()
            if on_progress is not None and clock.is_running:
                await on_progress(progress, total, message or "")

        assert self._session is not None
        params = types.CallToolRequestParams(name=spec.name, arguments=arguments)
        # Not session.call_tool: it refuses results that do not fit the server's own outputSchema.
        result = await self._session.send_request(
            types.CallToolRequest(params=params),
            types.CallToolResult,
            progress_callback=note_progress,
        )
        return reply_from_result(raw_result(result))

    async def _guarded(self, awaitable: Awaitable[_T]) -> _T:
        """What the SDK answers; whatever it raises becomes a ``Fault``, once."""
        task = asyncio.current_task()
        asked = task.cancelling() if task else 0
        try:
            return await awaitable
        except asyncio.CancelledError:
            if task is None or task.cancelling() > asked:
                raise
            # A dropped connection cancels its callers; nobody asked for it.
            self._is_over = True
            reason = self.fault or "the connection was dropped"
            raise Fault(Outcome.SERVER_UNAVAILABLE, reason, is_hang_up=True) from None
        except Exception as error:
            # Whatever a library makes of a server's answer, a tool call only has a result.
            raise fault_from(error) from error

    async def _own(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                read, write = await stack.enter_async_context(self._transport.streams())
                session = ClientSession(
                    WatchedRead(read, self._watch),
                    WatchedWrite(write, self._watch),
                    client_info=CLIENT,
                )
                await stack.enter_async_context(session)
                await _agree_on_protocol(session, self._connect_seconds * 0.4)
                await stack.enter_async_context(self._listening(session))
                self._session = session
                self.protocol = session.protocol_version or ""
                if not self._ready.done():
                    self._ready.set_result(None)
                await self._leave.wait()
        except asyncio.CancelledError:
            await self._note_failure(None)
        except Exception as error:
            # Anything may come out of a broken transport; it is told to whoever waits.
            await self._note_failure(error)
        finally:
            self._is_over = True
            if not self._ready.done():
                self._ready.set_exception(self._unavailable(self.fault or "closed while opening"))
            if not self._ready.cancelled():
                self._ready.exception()

    async def _note_failure(self, error: Exception | None) -> None:
        reason = self.fault or (describe_opening(error) if error else "the connection was dropped")
        ending = await self._transport.describe_end()
        self.fault = "; ".join(part for part in (reason, ending) if part)

    @asynccontextmanager
    async def _listening(self, session: ClientSession) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            tools = session.server_capabilities.tools if session.server_capabilities else None
            if (
                tools
                and tools.list_changed
                and session.protocol_version in MODERN_PROTOCOL_VERSIONS
            ):
                group.start_soon(self._follow_changes, session)
            yield
            group.cancel_scope.cancel()

    async def _follow_changes(self, session: ClientSession) -> None:
        while True:
            try:
                async with listen(session, tools_list_changed=True) as subscription:
                    self.forget_listing()
                    self._is_subscribed = bool(subscription.honored.tools_list_changed)
                    async for _event in subscription:
                        self.forget_listing()
            except SubscriptionLost:
                pass
            except MCPError as error:
                _log.debug("server %s does not tell of changes: %s", self._server, error.message)
                return
            finally:
                self._is_subscribed = False
                self.forget_listing()
            await asyncio.sleep(RELISTEN_SECONDS)

    def _hears_changes(self) -> bool:
        capabilities = self._session.server_capabilities if self._session else None
        if (
            capabilities is None
            or capabilities.tools is None
            or not capabilities.tools.list_changed
        ):
            return False
        if self.protocol in MODERN_PROTOCOL_VERSIONS:
            return self._is_subscribed
        return self._transport.carries_notices

    async def _fetch_tools(self) -> tuple[ToolSpec, ...]:
        assert self._session is not None
        return await fetch_tools(self._session, self._server)

    def forget_listing(self) -> None:
        """Have the next listing ask the server anew."""
        self._changes += 1
        self._listing = None

    def _note_end(self) -> None:
        self._is_over = True
        self._leave.set()

    def _note_fault(self, reason: str) -> None:
        self.fault = self.fault or reason
        if self._resolved.config.transport == "sse":
            self._note_end()
        else:
            self._leave_when_drained()

    def _leave_when_drained(self) -> None:
        if self.fault and self._calls_open == 0 and self._ready.done():
            self._leave.set()

    def _unavailable(self, reason: str) -> ServerUnavailable:
        return ServerUnavailable(self._server, self._resolved.scrub(one_line(reason)))

    async def _explained(self, fault: Fault) -> str:
        if not fault.is_hang_up:
            return fault.reason
        self._note_end()
        ending = await self._transport.describe_end()
        if not ending and self._owner is not None and self._owner is not asyncio.current_task():
            # What broke the connection comes out where the owner leaves it.
            await asyncio.wait({self._owner}, timeout=0.5)
            ending = self.fault
        self.fault = self.fault or ending or fault.reason
        return "; ".join(part for part in (fault.reason, ending) if part)

    async def _reply_from_fault(self, fault: Fault) -> ToolReply:
        reason = self._resolved.scrub(one_line(await self._explained(fault)))
        if fault.outcome is Outcome.SERVER_UNAVAILABLE:
            reason = f"server {self._server}: {reason}"
        return ToolReply(outcome=fault.outcome, error=reason, rpc_code=fault.code)


async def _agree_on_protocol(session: ClientSession, probe_seconds: float) -> None:
    """Ask with the new era's question; whoever does not answer it gets the old era's handshake."""
    if await _is_modern(session, probe_seconds):
        return
    try:
        await session.initialize()
    except MCPError as error:
        # A slow starter may have answered the question too late, and is modern after all.
        if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
            raise
        if not await _is_modern(session, probe_seconds):
            raise


async def _is_modern(session: ClientSession, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            raw = await session.send_discover(LATEST_MODERN_VERSION)
    except (TimeoutError, MCPError):
        return False
    versions = raw.get("supportedVersions")
    if not isinstance(versions, list) or LATEST_MODERN_VERSION not in versions:
        return False
    session.adopt(types.DiscoverResult.model_validate(raw))
    return True
