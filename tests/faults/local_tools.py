"""Python tools for the tests of faults."""

from __future__ import annotations

import sys
import threading
import time

from agents.python_tools import tool

NEVER = threading.Event()
BARRIER = threading.Barrier(2)


@tool
def explode() -> str:
    """Raise."""
    raise RuntimeError("boom")


@tool
def leave() -> str:
    """End the thread by ``sys.exit``."""
    sys.exit(3)


@tool
def lines(count: int) -> str:
    """Return many lines."""
    return "\n".join(f"line {n:06}" for n in range(count))


@tool
def chatter() -> str:
    """Write to standard output."""
    print("a tool says hello")
    return "said"


@tool
def stuck() -> str:
    """Never return."""
    NEVER.wait(30)
    return "late"


@tool
def meet() -> str:
    """Wait until another call is here too."""
    try:
        BARRIER.wait(0.6)
    except threading.BrokenBarrierError:
        BARRIER.reset()
        return "nobody came"
    return "met"


@tool
def stamp(seconds: float) -> str:
    """Wait, and return when it began and ended."""
    began = time.monotonic()
    time.sleep(seconds)
    return f"{began} {time.monotonic()}"


@tool
def step(n: int, fail: str = "") -> str:
    """Go one step, or fail with this error."""
    if fail:
        raise ValueError(fail)
    return f"step {n}"
