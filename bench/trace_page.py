"""How long a large trace takes to be seen in a browser, and to answer a key.

    python -m bench.trace_page [--spans 1000 10000] [--rounds 5] [--check]

Stores traces of so many spans, serves the application and opens them in headless Chromium. Prints
medians in milliseconds: from the click on the address to the first row of the tree painted (bound
500), and from ArrowDown and Enter to the next row being selected (bound 100); the page in kB, as
it is sent. ``--check`` exits with 1 if a number is above its bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.first_chunk import serve

OPEN_BOUND_MS, KEY_BOUND_MS = 500, 100
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
]
SPANS_PER_TURN = 5
MS = 1_000_000

_FIRST_ROW = """() => {
    const row = document.querySelector('#tree [role=treeitem]');
    return row && row.getBoundingClientRect().height > 0 ? performance.now() : false;
}"""
_PRESS = """() => new Promise((done) => {
    const chosen = () => document.querySelector('#tree [aria-selected=true]');
    const before = chosen();
    const began = performance.now();
    before.focus();
    before.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
    document.activeElement.dispatchEvent(
        new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
    const look = () => chosen() !== before ? done(performance.now() - began)
        : performance.now() - began > 5000 ? done(5000) : requestAnimationFrame(look);
    look();
})"""


def store_traces(counts: list[int]) -> None:
    """Traces with these numbers of spans, as the recorder stores them."""
    import django

    django.setup()
    from traces.records import TraceRecord
    from traces.storage import TraceStorage

    storage = TraceStorage()
    for count in counts:
        start = time.time_ns() - 3600 * 1000 * MS
        turns = count // SPANS_PER_TURN
        trace = TraceRecord(
            id=f"trace{count}", run=f"run{count}", conversation="", assistant="bench",
            assistant_name="Bench", user="1", message=f"A trace of {count} spans", start_ns=start,
            status="completed", stop_reason="answered", level=1, turns=turns, tool_calls=turns * 3,
            input_tokens=1000, output_tokens=100, end_ns=start + turns * 100 * MS,
        )  # fmt: skip
        storage.write(list(_spans(trace, count)), [trace], [])


def _spans(trace: object, count: int) -> Iterator[object]:
    from traces.records import Payload, SpanRecord

    start = trace.start_ns  # type: ignore[attr-defined]

    def span(place: int, parent: str, kind: str, name: str, at: int, ms: int, **more: object):  # type: ignore[no-untyped-def]
        turn = "" if kind == "agent" else str((place - 1) // SPANS_PER_TURN)
        return SpanRecord(
            id=f"{count:08x}{place:08x}", trace=f"trace{count}", parent=parent, run=f"run{count}",
            position=place, kind=kind, name=name, turn=turn, status="ok", start_ns=start + at * MS,
            end_ns=start + (at + ms) * MS, attributes=more,
        )  # fmt: skip

    turns = count // SPANS_PER_TURN
    root = span(0, "", "agent", "Bench", 0, turns * 100)
    yield root
    place = 1
    for turn in range(turns):
        at = turn * 100
        decision = "answered" if turn == turns - 1 else "continued"
        own = {"toolloop.turn.decision": decision, "toolloop.calls": 3}
        head = span(place, root.id, "turn", f"turn {turn}", at, 100, **own)
        yield head
        yield span(place + 1, head.id, "model", "chat bench", at, 40)
        for call in range(SPANS_PER_TURN - 2):
            arguments = Payload(value={"city": f"Town {turn}-{call}"})
            attributes = {
                "gen_ai.tool.name": "get", "toolloop.server": "weather", "toolloop.outcome": "ok",
                "gen_ai.tool.call.arguments": arguments, "toolloop.chars": 412,
            }  # fmt: skip
            yield span(
                place + 2 + call, head.id, "tool_call", "weather.get", at + 40 + call * 20, 20,
                **attributes,
            )  # fmt: skip
        place += SPANS_PER_TURN


def measure(
    url: str, password: str, counts: list[int], rounds: int
) -> dict[int, tuple[float, ...]]:
    """Per number of spans: ms to the first row, ms to answer a key, kB of the page."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.fill("input[name=username]", "operator")
        page.fill("input[name=password]", password)
        page.press("input[name=password]", "Enter")
        page.wait_for_selector("#say")
        for count in counts:
            opened, pressed, size = [], [], 0.0
            for _ in range(rounds + 1):
                page.goto(f"{url}traces/trace{count}/", wait_until="commit")
                shown = page.wait_for_function(_FIRST_ROW, timeout=60_000).json_value()
                # What is fetched after the first view has come before the next round begins.
                page.wait_for_load_state("networkidle")
                opened.append(float(shown))
                pressed.append(float(page.evaluate(_PRESS)))
                size = page.evaluate(
                    "performance.getEntriesByType('navigation')[0].encodedBodySize / 1000"
                )
            # The first round warms the server's and the browser's caches.
            found[count] = (statistics.median(opened[1:]), statistics.median(pressed[1:]), size)
        browser.close()
    return found


def main() -> int:
    """Store, serve, open, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spans", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["DATABASE_URL"] = f"sqlite:///{name}/bench.sqlite3"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
        process, url, password = serve(Path(name), "http://127.0.0.1:9/v1")
        try:
            store_traces(options.spans)
            results = measure(url, password, options.spans, options.rounds)
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
    is_slow = False
    for count, (shown, pressed, size) in results.items():
        is_slow = is_slow or shown > OPEN_BOUND_MS or pressed > KEY_BOUND_MS
        print(
            f"{count:>6,} spans: tree after {shown:6.0f} ms (bound {OPEN_BOUND_MS}), "
            f"key after {pressed:5.0f} ms (bound {KEY_BOUND_MS}), page {size:,.0f} kB"
        )
    return int(is_slow and options.check)


if __name__ == "__main__":
    sys.exit(main())
