"""A conversation is taken away as a file and brought in again; the loop is checked by a button."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.chatting import say, wait_for_end
from tests.browser.conftest import OpenTab, Site

ASKING_MILLISECONDS = 40_000


def test_a_conversation_comes_back_from_its_file(site: Site, tabs: OpenTab, tmp_path: Path) -> None:
    # The broken file is answered with the status 400, which a browser notes in its console.
    page = tabs(f"{site.url}c/new/", forgives="Failed to load resource")
    say(page, "Compare the weather in Beijing, Oslo and Lima.")
    wait_for_end(page)
    first = page.url
    page.get_by_label("More about this conversation").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.goto(f"{site.url}c/new/")
    page.get_by_role("link", name="Import", exact=True).click()
    broken = tmp_path / "broken.jsonl"
    broken.write_text(file.read_text().replace('"role": "tool"', '"role": "fool"', 1))
    page.get_by_label("File").set_input_files(broken)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"Line \d+: role must be one of"))
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#log table")).to_be_visible()
    assert page.url != first
    expect(page.locator("#log .call")).to_have_count(3)


def test_the_loop_of_an_assistant_is_checked_by_a_button(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/agents/assistant/")
    page.get_by_role("link", name="Practice model").click()
    page.get_by_role("button", name="Check the loop").click()
    checks = page.locator("#loop-checks li")
    expect(checks).to_have_count(3, timeout=ASKING_MILLISECONDS)
    for number in range(3):
        expect(checks.nth(number).locator(".s-ok")).to_have_text("passed")
    expect(page.locator("#loop-checks pre").first).to_be_hidden()
    checks.first.locator("summary").click()
    expect(page.locator("#loop-checks pre").first).to_contain_text('"tools": [')
