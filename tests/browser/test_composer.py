"""The box to write in: sending, drafts, recall, input methods, the queue."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import (
    SURVEY,
    last_answer,
    say,
    start,
    start_survey,
    states,
    wait_for_end,
)
from tests.browser.conftest import OpenTab, Site

PLAIN = "I am the practice model"

COMPOSING = """(init) => document.getElementById("say").dispatchEvent(
    new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, ...init}))"""


def test_enter_sends_the_first_message_from_the_empty_page(page: Page) -> None:
    say(page, "Hello there")
    wait_for_end(page)
    expect(last_answer(page)).to_contain_text(PLAIN)
    expect(page.locator("#say")).to_have_value("")


def test_the_button_sends_the_first_message_from_the_empty_page(page: Page) -> None:
    page.fill("#say", "Hello there")
    page.get_by_role("button", name="Send message").click()
    wait_for_end(page)
    expect(last_answer(page)).to_contain_text(PLAIN)


def test_a_first_message_is_sent_once_however_often_one_presses(page: Page) -> None:
    page.fill("#say", "Only once, please")
    page.evaluate(f"for (let n = 0; n < 3; n++) ({COMPOSING})({{}})")
    wait_for_end(page)
    entries = page.locator(".cv-t").filter(has_text="Only once, please")
    expect(entries).to_have_count(1)


@pytest.mark.parametrize("where", ["on the empty page", "in a conversation"])
def test_shift_enter_makes_a_new_line(page: Page, where: str) -> None:
    if where == "in a conversation":
        say(page, "Hello")
        wait_for_end(page)
    page.locator("#say").press_sequentially("one")
    page.press("#say", "Shift+Enter")
    page.locator("#say").press_sequentially("two")
    expect(page.locator("#say")).to_have_value("one\ntwo")
    page.press("#say", "Enter")
    expect(page.locator(".msg.user .bub").last).to_have_text("one\ntwo")


@pytest.mark.parametrize("where", ["on the empty page", "in a conversation"])
def test_enter_that_ends_a_composition_sends_nothing(page: Page, where: str) -> None:
    if where == "in a conversation":
        say(page, "Hello")
        wait_for_end(page)
    page.fill("#say", "bei jing")
    for init in ("{isComposing: true}", "{keyCode: 229}"):
        page.evaluate(f"({COMPOSING})({init})")
    page.fill("#say", "北京")
    page.press("#say", "Enter")
    expect(page.locator(".msg.user .bub").last).to_have_text("北京")
    assert "bei jing" not in page.locator("#log").inner_text()


def test_nothing_is_sent_where_nothing_is_written(page: Page) -> None:
    page.fill("#say", "  \n ")
    page.press("#say", "Enter")
    page.get_by_role("button", name="Send message").click()
    say(page, "Something")
    expect(page.locator(".msg.user")).to_have_count(1)
    page.fill("#say", "   ")
    page.press("#say", "Enter")
    say(page, "More")
    expect(page.locator(".msg.user")).to_have_count(2)


def test_a_draft_survives_a_reload(page: Page) -> None:
    page.locator("#say").press_sequentially("half a first thought")
    page.reload()
    expect(page.locator("#say")).to_have_value("half a first thought")
    page.press("#say", "Enter")
    wait_for_end(page)
    page.locator("#say").press_sequentially("half a second thought")
    page.reload()
    expect(page.locator("#say")).to_have_value("half a second thought")
    page.press("#say", "Enter")
    wait_for_end(page, runs=2)
    page.reload()
    expect(page.locator("#say")).to_have_value("")


def test_a_draft_belongs_to_its_conversation(site: Site, page: Page) -> None:
    say(page, "Hello")
    wait_for_end(page)
    page.locator("#say").press_sequentially("only here")
    page.goto(f"{site.url}c/new/")
    expect(page.locator("#say")).to_have_value("")
    page.go_back()
    expect(page.locator("#say")).to_have_value("only here")


def test_arrow_up_brings_back_the_last_message(page: Page) -> None:
    say(page, "The first\nwith two lines")
    wait_for_end(page)
    page.press("#say", "ArrowUp")
    expect(page.locator("#say")).to_have_value("The first\nwith two lines")
    page.fill("#say", "written by hand")
    page.press("#say", "ArrowUp")
    expect(page.locator("#say")).to_have_value("written by hand")


def test_a_message_during_a_run_waits_is_shown_and_sent_afterwards(page: Page) -> None:
    start_survey(page)
    page.fill("#say", "What is the weather in Atlantis?")
    page.press("#say", "Enter")
    expect(page.locator(".queue")).to_contain_text("What is the weather in Atlantis?")
    expect(page.locator("#say")).to_have_value("")
    expect(page.locator(".msg.user")).to_have_count(1)
    page.reload()
    expect(page.locator(".queue")).to_contain_text("What is the weather in Atlantis?")
    page.locator("[data-stop]").click()
    wait_for_end(page, runs=2)
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator(".msg.user")).to_have_count(2)
    expect(last_answer(page)).to_contain_text("could not find out")


def test_a_waiting_message_can_be_removed_or_written_anew(page: Page) -> None:
    start_survey(page)
    for text in ("first thought", "second thought"):
        page.fill("#say", text)
        page.press("#say", "Enter")
        expect(page.locator(".queue").last).to_contain_text(text)
    page.locator(".queue").first.get_by_role("button", name="Remove from the queue").click()
    expect(page.locator(".queue")).to_have_count(1)
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator("#say")).to_have_value("second thought")
    page.locator("[data-stop]").click()
    wait_for_end(page)
    assert states(page) == ["cancelled"]
    expect(page.locator(".msg.user")).to_have_count(1)


def test_a_waiting_message_can_be_removed_in_another_tab(tabs: OpenTab, page: Page) -> None:
    start(page, SURVEY)
    page.fill("#say", "seen in both")
    page.press("#say", "Enter")
    other = tabs(page.url)
    expect(other.locator(".queue")).to_contain_text("seen in both")
    other.get_by_role("button", name="Remove from the queue").click()
    expect(page.locator(".queue")).to_have_count(0)
    page.keyboard.press("Escape")
    wait_for_end(page)


def test_a_message_taken_back_leaves_what_is_being_written(page: Page) -> None:
    start_survey(page)
    page.fill("#say", "queued")
    page.press("#say", "Enter")
    expect(page.locator(".queue")).to_contain_text("queued")
    page.fill("#say", "my long draft")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator("#say")).to_have_value("queued\n\nmy long draft")


def test_a_first_message_that_was_refused_is_still_there(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}c/new/", forgives="Failed to load resource")
    text = "x" * 200_001
    page.fill("#say", text)
    page.press("#say", "Enter")
    expect(page.locator("main")).to_contain_text("may have 200,000 characters")
    page.get_by_role("link", name="Back").click()
    expect(page.locator("#say")).to_have_value(text)
    page.fill("#say", "short")
    page.press("#say", "Enter")
    wait_for_end(page)
    page.wait_for_load_state()
    page.goto(f"{site.url}c/new/")
    expect(page.locator("#say")).to_have_value("")
