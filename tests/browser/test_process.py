"""The served process: how it ends, and what is left when it is killed."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.chatting import (
    SURVEY,
    last_answer,
    long_request,
    say,
    start_survey,
    states,
    wait_for_end,
    wait_for_text,
)
from tests.browser.conftest import log_in, served
from tests.running import wait_until


def children_of(pid: int) -> set[int]:
    """The ids of all processes below this one."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found, new = set[int](), {pid}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in new} - found
    return found - {pid}


def lives(pid: int) -> bool:
    """Whether there is such a process, which is not only waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_stop_signal_ends_the_process_and_its_servers_in_mid_answer(
    tmp_path: Path, browser: Browser
) -> None:
    with served(tmp_path) as site:
        page = browser.new_context(locale="en-US").new_page()
        log_in(page, site)
        say(page, long_request(60))
        wait_for_text(page, ".live-text", "w005")
        children = children_of(site.pid)
        assert len(children) >= 1
        os.kill(site.pid, signal.SIGTERM)
        wait_until(lambda: not lives(site.pid), 12)
        wait_until(lambda: not any(map(lives, children)), 3)
        page.context.close()
    assert "Traceback" not in (tmp_path / "site.log").read_text()
    database = sqlite3.connect(site.database.removeprefix("sqlite:///"))
    assert database.execute("SELECT status, stop_reason FROM agents_run").fetchall() == [
        ("completed", "answered")
    ]
    database.close()


def test_an_idle_process_ends_at_once(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as site:
        page = browser.new_context(locale="en-US").new_page()
        log_in(page, site)
        say(page, "What is the weather in Atlantis?")
        wait_for_end(page)
        children = children_of(site.pid)
        os.kill(site.pid, signal.SIGTERM)
        wait_until(lambda: not lives(site.pid), 5)
        assert not any(map(lives, children))
        page.context.close()


def test_after_a_kill_the_run_goes_on_in_the_next_process(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as site:
        page = browser.new_context(locale="en-US").new_page()
        log_in(page, site)
        start_survey(page)
        children = children_of(site.pid)
        os.kill(site.pid, signal.SIGKILL)
        wait_until(lambda: not any(map(lives, children)), 10)
        page.context.close()
    with served(tmp_path) as site:
        page = browser.new_context(locale="en-US").new_page()
        log_in(page, site)
        expect(page.locator(".msg.user .bub")).to_have_text(SURVEY)
        note = page.locator("#log", has_text="another one went on from here")
        note.wait_for()
        wait_for_text(page, ".prog-text", "station")
        page.fill("#say", "What is the weather in Atlantis?")
        page.press("#say", "Enter")
        expect(page.locator(".queue")).to_contain_text("Atlantis")
        page.get_by_role("button", name="Stop this call").click()
        wait_for_end(page, runs=2)
        assert states(page) == ["cancelled", "tool_error"]
        expect(last_answer(page)).to_contain_text("could not find out")
        expect(note).to_be_visible()
        page.context.close()
