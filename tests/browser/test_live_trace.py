"""A trace that grows by fifty spans a second while somebody reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.commands import run_python
from tests.browser.conftest import ROOT, USUAL, OpenTab, Site, log_in
from tests.browser.growing import open_running_trace, quick_site, read_while_it_grows
from tests.traces.large import SPANS_PER_TURN, span_id

BEFORE, TURNS, SECONDS = 12, 52, 0.1
GROWN = (TURNS - BEFORE) * SPANS_PER_TURN


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """Where the trace is; it grows meanwhile."""
    grow = "from tests.traces.large import grow_large; grow_large({}, {}, seconds={}, name='live')"
    run_python(site, grow.format(BEFORE, BEFORE, 0))
    with subprocess.Popen(
        [sys.executable, "manage.py", "shell", "-c", grow.format(BEFORE + 1, TURNS, SECONDS)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": site.database},
        stdout=subprocess.DEVNULL,
    ) as process:
        yield f"{site.url}traces/live/"
        process.kill()


def test_what_is_read_keeps_its_place_and_its_selection(tabs: OpenTab, address: str) -> None:
    def place() -> Any:
        return page.evaluate(
            "id => { const row = document.getElementById(id);"
            " return [Math.round(row.getBoundingClientRect().top), row.ariaSelected,"
            " document.activeElement.id]; }",
            row_id,
        )

    def rows() -> int:
        return page.locator("#tree .tr").count()

    page = tabs(address)
    row_id = f"row-{span_id(6, 3, trace='live')}"
    row = page.locator(f"#{row_id}")
    row.click()
    expect(page.locator("#detail h2")).to_have_text("weather / get")
    row.evaluate("row => scrollBy(0, row.getBoundingClientRect().top - innerHeight / 2)")
    before, count = place(), rows()
    seen = {str(before)}
    while rows() < count + 100:
        page.wait_for_timeout(100)
        seen.add(str(place()))
    assert seen == {str(before)}
    expect(page.locator("#detail h2")).to_have_text("weather / get")


def test_a_run_of_this_process_grows_below_what_is_read(tmp_path: Path, browser: Browser) -> None:
    with quick_site(tmp_path, turns=45, per_second=50) as site:
        context = browser.new_context(**USUAL)
        page = context.new_page()
        log_in(page, site)
        open_running_trace(page, site)
        seen = read_while_it_grows(page, turn=6, rows=100)
        context.close()
    assert seen.drift < 2
    assert seen.is_kept
    assert seen.looks > 10
