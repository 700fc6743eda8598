"""Python modules as servers: their functions are tools of this process.

Place in the house: a kind of ``pool.Connection``; imported at the first use. Async functions are
awaited, sync ones run in a thread of their own that is abandoned at the limit and never holds up
the exit.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pydantic_core

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits, OnProgress, ToolSpec
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.results import ContentPart, Outcome, PartKind, ToolReply
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.limits import no_answer_text
from agents.mcp_client.python_schema import BadArguments, PythonTool, tools_of_module
from agents.mcp_client.results import clean_json, clean_text
from agents.python_tools import AT_THREAD_END

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
_GRACE_SECONDS = 0.5

_T = TypeVar("_T")


class PythonConnection:
    """The tools of one module. It is imported once and listed once per process."""

    def __init__(self, config: ServerConfig, *, connect_seconds: float) -> None:
        self.protocol = "python"
        self.fault = ""
        self.stderr_tail = ""
        self._config = config
        self._connect_seconds = connect_seconds
        self._tools: tuple[PythonTool, ...] | None = None
        self._calls_open = 0

    @property
    def is_usable(self) -> bool:
        """Whether the module has been imported."""
        return self._tools is not None

    @property
    def calls_open(self) -> int:
        """How many calls wait for their answer."""
        return self._calls_open

    async def open(self) -> None:
        """Import the module. Raises ``ServerUnavailable`` that says what is wrong with it."""
        name = self._config.module
        server = self._config.server_id
        if not name:
            raise ServerUnavailable(server, "module is empty: name a Python module, like my.tools")
        work = _start_thread(lambda: tools_of_module(server, importlib.import_module(name)))
        done, _ = await asyncio.wait({work}, timeout=self._connect_seconds)
        if not done:
            raise ServerUnavailable(
                server, f"module {name} was not imported within {self._connect_seconds:g} s"
            )
        error = work.exception()
        if isinstance(error, ModuleNotFoundError) and (error.name or "") in _parents(name):
            raise ServerUnavailable(server, f"there is no module {name}: check its dotted path")
        if error is not None:
            said = f"{type(error).__name__}: {error}"
            raise ServerUnavailable(server, f"module {name} failed while it was imported: {said}")
        self._tools = work.result()

    async def close(self) -> None:
        """Nothing to end: threads that still run are daemons."""
        self._tools = None

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the module in the order of their definition."""
        return tuple(tool.spec for tool in self._tools or ())

    def forget_listing(self) -> None:
        """Nothing to forget: a module lists what it defines."""

    async def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> ToolReply:
        """Call one function, once. Its exception is a ``tool_error`` with type and text."""
        tool = next((tool for tool in self._tools or () if tool.spec.name == spec.name), None)
        if tool is None:
            reason = f"module {self._config.module} has no tool {spec.name}"
            return ToolReply(
                outcome=Outcome.PROTOCOL_ERROR, error=reason, rpc_code=METHOD_NOT_FOUND
            )
        try:
            positional, named = tool.bind(arguments)
        except BadArguments as error:
            return ToolReply(
                outcome=Outcome.PROTOCOL_ERROR, error=str(error), rpc_code=INVALID_PARAMS
            )
        self._calls_open += 1
        try:
            seconds = min(limits.idle_seconds, limits.hard_seconds)
            return await _reply_of(tool, lambda: tool.function(*positional, **named), seconds)
        finally:
            self._calls_open -= 1


async def _reply_of(tool: PythonTool, call: Callable[[], Any], seconds: float) -> ToolReply:
    work: asyncio.Future[Any]
    work = asyncio.create_task(_guarded(call)) if tool.is_async else _start_thread(call)
    try:
        done, _ = await asyncio.wait({work}, timeout=seconds)
    except asyncio.CancelledError:
        await _abandon(work)
        raise
    if not done:
        await _abandon(work)
        return ToolReply(outcome=Outcome.TIMEOUT, error=no_answer_text(seconds))
    if work.cancelled():
        return ToolReply(outcome=Outcome.TOOL_ERROR, error="CancelledError: it cancelled itself")
    error = work.exception()
    if error is not None:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return ToolReply(outcome=Outcome.TOOL_ERROR, error=clean_text(said))
    return reply_from_value(work.result())


async def _abandon(work: asyncio.Future[Any]) -> None:
    """Cancel what can be cancelled; what does not care is left behind."""
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    work.cancel()
    await asyncio.wait({work}, timeout=_GRACE_SECONDS)


def reply_from_value(value: object) -> ToolReply:
    """The reply for what a function returned.

    Text as it is, ``None`` as nothing, content parts as they are, anything else as structured JSON;
    what JSON does not know is shown as Python shows it.
    """
    if value is None:
        return ToolReply(outcome=Outcome.OK)
    if isinstance(value, str):
        text = clean_text(str(value))
        return ToolReply(outcome=Outcome.OK, parts=(ContentPart(kind=PartKind.TEXT, text=text),))
    parts = value if isinstance(value, list | tuple) else (value,)
    if parts and all(isinstance(part, ContentPart) for part in parts):
        return ToolReply(outcome=Outcome.OK, parts=tuple(parts))
    return ToolReply(outcome=Outcome.OK, structured=_json_from(value))


def _json_from(value: object) -> JsonValue:
    try:
        plain = pydantic_core.to_jsonable_python(
            value, fallback=repr, inf_nan_mode="constants", bytes_mode="base64"
        )
        return clean_json(plain)
    except (ValueError, TypeError, RecursionError):
        # A circle, or an object that cannot even be asked for its fields.
        return clean_text(repr(value))


async def _guarded(call: Callable[[], Awaitable[_T]]) -> _T:
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        # These would end the event loop of the whole application.
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _start_thread(call: Callable[[], _T]) -> asyncio.Future[_T]:
    """The future of a call in a new daemon thread: a pool's threads would hold up the exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: _T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(call)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            # Whatever a function raises is its result; the thread has nobody above it.
            failure = _settable(error)
        finally:
            for leave in AT_THREAD_END:
                leave()
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:
            # The loop is closed: the application ended before the function did.
            return

    threading.Thread(target=run, daemon=True, name="python tool").start()
    return future


def _settable(error: BaseException) -> BaseException:
    """An error that a future takes; SystemExit would end the loop, StopIteration is refused."""
    if isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[: end + 1]) for end in range(len(parts))}
