"""The mark for functions that a ``python`` server offers as tools.

Place in the house: standard library only, for the operator's own modules import it. A module that
marks no function offers all public functions defined in it.

    @tool
    def add(a: int, b: int = 1) -> int:
        \"\"\"Add two numbers.\"\"\"

    @tool(name="notes.search", read_only=True)
    async def search(query: str) -> list[str]:
        \"\"\"Search the notes.\"\"\"
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, overload

MARK = "__toolloop_tool__"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """For whom a tool is called: primary keys of the user and the assistant, ids of the
    conversation and the run. ``None`` and empty where an operator tries a tool out.
    """

    user_id: int | None = None
    assistant_id: int | None = None
    conversation: str = ""
    run: str = ""


AT_THREAD_END: list[Callable[[], None]] = []
"""What is called at the end of each thread in which a function ran: to close what is the thread's
alone."""

CALL: ContextVar[CallContext | None] = ContextVar("toolloop_call", default=None)


def current_call() -> CallContext | None:
    """For whom the tool that runs now was called; ``None`` outside of a call."""
    return CALL.get()


_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMark:
    """What the mark says about a function; empty and ``None`` mean: look at the function itself."""

    name: str = ""
    description: str = ""
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    read_only: bool | None = None,
    idempotent: bool | None = None,
    destructive: bool | None = None,
) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    read_only: bool | None = None,
    idempotent: bool | None = None,
    destructive: bool | None = None,
) -> _Function | Callable[[_Function], _Function]:
    """Mark a function as a tool; the function itself stays as it is.

    Name and description default to those of the function. ``read_only`` and ``idempotent`` say that
    running it twice does no harm.
    """
    mark = ToolMark(
        name=name,
        description=description,
        read_only=read_only,
        idempotent=idempotent,
        destructive=destructive,
    )

    def put_mark(marked: _Function) -> _Function:
        setattr(marked, MARK, mark)
        return marked

    return put_mark if function is None else put_mark(function)


def mark_of(function: object) -> ToolMark | None:
    """The mark of a function, ``None`` where it has none."""
    mark = getattr(function, MARK, None)
    return mark if isinstance(mark, ToolMark) else None
