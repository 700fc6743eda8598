"""Running foreign synchronous functions beside the loop.

Place in the house: ``agents.loop``. A daemon thread per call: one that never returns is abandoned
at the limit and does not hold up the end of the process, which a thread of an executor would.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

Result = TypeVar("Result")


async def run_in_thread(function: Callable[[], Result]) -> Result:
    """What the function returns or raises, run in a thread of its own with this task's context."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def settle(setter: Callable[[], None]) -> None:
        if not future.done():
            setter()

    def work() -> None:
        try:
            result = context.run(function)
        except BaseException as error:  # handed to the awaiting task as it is
            report(partial(future.set_exception, _plain(error)))
        else:
            report(partial(future.set_result, result))

    def report(setter: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(settle, setter)
        except RuntimeError:  # the loop has ended; nobody waits any more
            return

    threading.Thread(target=work, name="toolloop-call", daemon=True).start()
    return await future


def _plain(error: BaseException) -> BaseException:
    """A future takes no StopIteration, and foreign code must not end the event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
