"""What a person sees of a trace that grows by fifty spans a second, in a browser.

    python -m bench.live_trace [--rows 100] [--per-second 50] [--rounds 3] [--check]

Serves the application with a provider that asks for three quick calls in each turn, opens the trace
of the run that goes on, selects a row, puts it into the middle of the window, and looks at it in
every frame while so many rows come below it. Prints how many rows came a second, how far the row
was away from its place at most (bound 2 pixels), whether it stayed selected and focused, and how
long the page stood still at most. ``--check`` ends with 1 where the row moved or was left.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.growing import Seen

MOST_PIXELS = 2.0
CHOSEN_TURN = 6
MORE_TURNS = 25
"""Turns that may have come before the row is looked at, and after the last look."""


def measure(browser: Browser, rows: int, per_second: float) -> Seen:
    """One run, read while it grows."""
    # Late: what drives the browser imports models, which need Django set up.
    from tests.browser.conftest import USUAL, log_in
    from tests.browser.growing import (
        SPANS_PER_TURN,
        open_running_trace,
        quick_site,
        read_while_it_grows,
    )

    turns = rows // SPANS_PER_TURN + MORE_TURNS
    with (
        tempfile.TemporaryDirectory() as folder,
        quick_site(Path(folder), turns=turns, per_second=per_second) as site,
    ):
        context = browser.new_context(**USUAL)
        page = context.new_page()
        log_in(page, site)
        open_running_trace(page, site)
        seen = read_while_it_grows(page, turn=CHOSEN_TURN, rows=rows)
        context.close()
        return seen


def main() -> int:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--per-second", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
    import django

    django.setup()
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM, FLAGS

    has_moved = False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(options.rounds):
            seen = measure(browser, options.rows, options.per_second)
            has_moved = has_moved or seen.drift >= MOST_PIXELS or not seen.is_kept
            still = f"{seen.block_ms:.0f} ms" if seen.block_ms else "below 50 ms"
            print(
                f"{seen.rows} rows in {seen.seconds:.1f} s: {seen.rows / seen.seconds:.0f} a "
                f"second; moved {seen.drift:.1f} px at most (bound {MOST_PIXELS:g}), selection and "
                f"focus {'kept' if seen.is_kept else 'LOST'} in {seen.looks} looks, stood still "
                f"{still} at most"
            )
        browser.close()
    return int(has_moved and options.check)


if __name__ == "__main__":
    sys.exit(main())
