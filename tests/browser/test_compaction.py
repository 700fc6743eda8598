"""A conversation that is summed up: by itself when it outgrows the window, and by hand."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.chatting import say, wait_for_end
from tests.browser.commands import run_python
from tests.browser.conftest import USUAL, log_in, served

WINDOW = "from agents.models import *; Assistant.objects.update(context_window=1500)"
DRESS = "What should I wear in Beijing today?"
COMPARE = "Compare the weather in Beijing, Oslo and Lima."


def test_older_messages_are_summed_up_and_the_trace_says_why(
    tmp_path: Path, browser: Browser
) -> None:
    with served(tmp_path) as site:
        run_python(site, WINDOW)
        page = browser.new_context(**USUAL).new_page()
        log_in(page, site)
        page.goto(f"{site.url}c/new/")
        for number, question in enumerate((DRESS, COMPARE, DRESS), start=1):
            say(page, question)
            wait_for_end(page, runs=number)
        line = page.locator("details.folded").last
        expect(line.locator("summary")).to_contain_text("earlier messages summed up")
        expect(page.locator(".msg.user .bub")).to_have_count(3)
        line.locator("summary").click()
        expect(line.locator(".prose")).to_contain_text(DRESS)
        page.locator(".msg.run:has(.folded) .run-acts a").last.click()
        page.locator('#tree .tr[data-kind="compaction"]').first.click()
        expect(page.locator("#detail")).to_contain_text("the request would have filled the window")
        expect(page.locator("#detail")).to_contain_text(f"- {DRESS}")


def test_a_person_sums_up_by_hand_and_not_twice(page: Page) -> None:
    say(page, COMPARE)
    wait_for_end(page)
    say(page, "/compact")
    wait_for_end(page, runs=2)
    expect(page.locator("details.folded")).to_have_count(1)
    page.fill("#say", "/compact")
    page.press("#say", "Enter")
    expect(page.locator("#composer-fault")).to_contain_text("nothing to sum up")
    page.reload()
    expect(page.locator("details.folded summary")).to_contain_text("messages summed up")
    page.locator(".run-acts a").last.click()
    expect(page.locator("#verdict h1")).to_contain_text("Summed up 6 messages")
