"""A run that makes spans quickly, and somebody who reads its trace meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.chatting import RUN_MILLISECONDS
from tests.browser.commands import run_python
from tests.browser.conftest import Site, served
from tests.fake_provider import FakeProvider, Json, Step, call, calls, text

CALLS = 3
SPANS_PER_TURN = CALLS + 2
"""The turn, its request, its calls."""

_WATCH = """id => {
    const row = () => document.getElementById(id);
    const top = () => row()?.getBoundingClientRect().top ?? Infinity;
    const rows = () => document.querySelectorAll('#tree .tr').length;
    row().focus({preventScroll: true});
    scrollBy(0, top() - innerHeight / 2);
    const began = performance.now(), first = top(), before = rows();
    const seen = window.seen = {drift: 0, kept: true, looks: 0, block: 0};
    new PerformanceObserver((list) => {
        for (const task of list.getEntries()) seen.block = Math.max(seen.block, task.duration);
    }).observe({type: 'longtask'});
    const look = () => {
        seen.drift = Math.max(seen.drift, Math.abs(top() - first));
        seen.kept &&= row()?.ariaSelected === 'true' && document.activeElement === row();
        seen.looks += 1;
        seen.rows = rows() - before;
        seen.seconds = (performance.now() - began) / 1000;
        requestAnimationFrame(look);
    };
    look();
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of one row while the trace grew by ``rows`` in so many ``seconds``.

    ``drift`` is the most that it was away from its first place, in pixels; ``is_kept`` whether it
    was the selected and the focused one in each of the ``looks``; ``block_ms`` how long the page
    stood still at most, 0 below 50.
    """

    rows: int
    seconds: float
    drift: float
    is_kept: bool
    looks: int
    block_ms: float


@contextmanager
def quick_site(folder: Path, *, turns: int, per_second: float) -> Iterator[Site]:
    """The demo at a provider that asks for three calls in each of so many turns, at a pace that
    makes about so many spans a second."""
    with (
        FakeProvider(_script(turns, SPANS_PER_TURN / per_second)) as provider,
        served(folder, OPENAI_BASE_URL=provider.base_url, OPENAI_MODEL="fake") as site,
    ):
        run_python(
            site,
            "from agents.models import Assistant;"
            f"Assistant.objects.filter(assistant_id='demo').update(max_turn={turns + 5})",
        )
        yield site


def _script(turns: int, pace_seconds: float) -> Callable[[Json, int], Step]:
    last = [0.0]

    def step(body: Json, _number: int) -> Step:
        if not body.get("tools"):
            return text("Adding up")
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        # Turns begin at this pace, however long their calls take.
        time.sleep(max(0.0, last[0] + pace_seconds - time.monotonic()))
        last[0] = time.monotonic()
        if turn >= turns:
            return text("That is all.")
        wanted = ({"a": turn, "b": place} for place in range(CALLS))
        return calls(
            *(call(f"c{turn}-{n}", "calculator__add", given) for n, given in enumerate(wanted))
        )

    return step


def open_running_trace(page: Page, site: Site) -> None:
    """Ask, and go to the trace of the run that answers."""
    page.goto(f"{site.url}c/new/")
    page.fill("#say", "Add up")
    page.press("#say", "Enter")
    link = page.locator('a[href*="/traces/run/"]').first
    link.wait_for(state="attached", timeout=RUN_MILLISECONDS)
    page.goto(site.url.rstrip("/") + str(link.get_attribute("href")).partition("?")[0])


def read_while_it_grows(page: Page, *, turn: int, rows: int) -> Seen:
    """Select a call of a turn, put it into the middle, watch it until so many rows have come."""
    row = page.locator(f'#tree .tr[data-kind="tool_call"][data-turn="{turn}"]').first
    row.wait_for(timeout=RUN_MILLISECONDS)
    row.click()
    page.locator(f'#detail[data-span="{row.get_attribute("data-span")}"]').wait_for()
    page.evaluate(_WATCH, row.get_attribute("id"))
    page.wait_for_function("n => window.seen.rows >= n", arg=rows, timeout=RUN_MILLISECONDS)
    seen: dict[str, Any] = page.evaluate("window.seen")
    return Seen(
        rows=seen["rows"],
        seconds=seen["seconds"],
        drift=seen["drift"],
        is_kept=seen["kept"],
        looks=seen["looks"],
        block_ms=seen["block"],
    )
