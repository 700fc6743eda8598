"""More runs than a person may have at once: the others wait and say their place."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.chatting import SURVEY, long_request, start_survey, wait_for_end
from tests.browser.conftest import log_in, served


def test_a_run_that_waits_says_its_place_and_begins_when_there_is_room(
    tmp_path: Path, browser: Browser
) -> None:
    with served(tmp_path, TOOLLOOP_RUNS_PER_USER="1") as site:
        context = browser.new_context(locale="en-US")
        first, second, third = (context.new_page() for _ in range(3))
        log_in(first, site)
        start_survey(first)
        for page, text in ((second, long_request(20)), (third, long_request(21))):
            page.goto(f"{site.url}c/new/")
            page.fill("#say", text)
            page.press("#say", "Enter")
            page.locator(".queue").wait_for()
        expect(second.locator(".queue")).to_contain_text("it is next")
        expect(third.locator(".queue")).to_contain_text("1 run is before it")
        second.get_by_role("button", name="Remove from the queue").click()
        expect(third.locator(".queue")).to_contain_text("it is next")
        first.locator("#status [data-stop]").click()
        wait_for_end(first)
        expect(first.locator(".msg.user .bub")).to_have_text(SURVEY)
        wait_for_end(third)
        context.close()
