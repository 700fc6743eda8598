"""Answers that come while one looks: growing, reloaded, cut off, in two tabs."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.chatting import (
    SURVEY,
    long_request,
    say,
    start,
    start_survey,
    states,
    stored_text,
    text_of,
    wait_for_end,
    wait_for_text,
)
from tests.browser.conftest import OpenTab, Site
from tests.browser.wire import Wire
from tests.running import wait_until


def live_text(page: Page) -> Locator:
    """The text that is being written."""
    return page.locator(".live-text").last


def wait_for_words(page: Page, count: int) -> str:
    """Wait until at least so many words of the long answer are there; the text so far."""
    wait_for_text(page, ".live-text", f"w{count:03}")
    return live_text(page).inner_text()


def answer_words(page: Page) -> list[str]:
    """The numbered words of the finished answer."""
    code = page.locator(".msg.run").last.locator(".prose pre").last.inner_text()
    return [word for word in code.split() if word.startswith("w") and word[1:].isdigit()]


def test_text_grows_before_it_is_finished(page: Page) -> None:
    say(page, long_request())
    first = wait_for_words(page, 5)
    second = wait_for_words(page, 40)
    assert second.startswith(first)
    assert len(second) > len(first)
    expect(page.locator(".msg.run")).to_have_attribute("aria-busy", "true")
    wait_for_end(page)
    assert answer_words(page) == [f"w{n:03}" for n in range(100)]


def test_a_reload_in_mid_answer_shows_what_was_written_and_goes_on(page: Page) -> None:
    say(page, long_request())
    before = wait_for_words(page, 30)
    page.reload()
    at_once = live_text(page).inner_text()
    assert at_once.startswith(before[:100])
    assert len(at_once) >= len(before)
    wait_for_words(page, 80)
    wait_for_end(page)
    assert answer_words(page) == [f"w{n:03}" for n in range(100)]
    shown = text_of(page)
    assert shown == stored_text(page)


def test_a_cut_and_mended_network_leaves_no_gap(site: Site, tabs: OpenTab) -> None:
    with Wire(site.url) as wire:
        page = tabs(f"{wire.url}c/new/", forgives="WebSocket connection to")
        say(page, long_request(140))
        wait_for_words(page, 20)
        wire.cut()
        expect(page.locator("#link-state")).to_contain_text("Reconnecting")
        held = live_text(page).inner_text()
        wire.mend()
        expect(page.locator("#link-state")).to_be_hidden()
        wait_until(lambda: len(live_text(page).inner_text()) > len(held))
        wait_for_end(page)
        assert answer_words(page) == [f"w{n:03}" for n in range(140)]
        shown = text_of(page)
        assert shown == stored_text(page)


def test_what_ended_while_the_network_was_cut_is_shown_afterwards(
    site: Site, tabs: OpenTab
) -> None:
    with Wire(site.url) as wire:
        page = tabs(f"{wire.url}c/new/", forgives="WebSocket connection to")
        other = tabs(f"{site.url}c/new/")
        start_survey(page)
        other.goto(page.url.replace(wire.url, site.url))
        wire.cut()
        expect(page.locator("#link-state")).to_be_visible()
        page.fill("#say", "written without a network")
        page.press("#say", "Enter")
        expect(page.locator("#composer-fault")).to_contain_text("Your text is kept")
        other.locator("[data-stop]").click()
        wait_for_end(other)
        wire.mend()
        wait_for_end(page)
        assert states(page) == ["cancelled"]
        expect(page.locator(".ending")).to_contain_text("Stopped by you.")
        expect(page.locator("#say")).to_have_value("written without a network")


def test_a_message_sent_while_the_socket_opens_is_sent_when_it_is_open(
    site: Site, tabs: OpenTab
) -> None:
    with Wire(site.url) as wire:
        page = tabs(f"{wire.url}c/new/", forgives="WebSocket connection to")
        say(page, "What is the weather in Atlantis?")
        wait_for_end(page)
        wire.hold()
        expect(page.locator("#link-state")).to_be_visible()
        page.wait_for_timeout(1000)
        page.fill("#say", "Roll a die")
        page.press("#say", "Enter")
        expect(page.locator("#composer-fault")).to_be_hidden()
        expect(page.locator("#say")).to_have_value("Roll a die")
        wire.mend()
        wait_for_end(page, runs=2)
        expect(page.locator(".msg.user .bub").last).to_have_text("Roll a die")
        expect(page.locator("#say")).to_have_value("")


def test_two_tabs_show_the_same(tabs: OpenTab, page: Page) -> None:
    say(page, long_request())
    wait_for_words(page, 5)
    other = tabs(page.url)
    wait_for_words(other, 60)
    wait_for_words(page, 60)
    wait_for_end(page)
    wait_for_end(other)
    assert text_of(page) == text_of(other)
    say(other, "Compare the weather in Beijing, Oslo and Lima.")
    wait_for_end(page, runs=2)
    wait_for_end(other, runs=2)
    assert states(page) == states(other) == ["ok"] * 4
    assert text_of(page) == text_of(other)


def test_an_approval_given_in_one_tab_disappears_in_the_other(tabs: OpenTab, page: Page) -> None:
    start(page, "Delete all my notes.")
    other = tabs(page.url)
    expect(other.locator("[data-ask]")).to_be_visible()
    page.get_by_role("button", name="Allow once").click()
    expect(other.locator("[data-ask]")).to_have_count(0)
    wait_for_end(other)
    assert states(page) == states(other) == ["ok"]


def test_a_run_is_stopped_in_another_tab(tabs: OpenTab, page: Page) -> None:
    start(page, SURVEY)
    other = tabs(page.url)
    wait_for_text(other, ".prog-text", "station")
    other.locator("[data-stop]").click()
    wait_for_end(page)
    wait_for_end(other)
    assert states(page) == states(other) == ["cancelled"]


def test_a_closed_tab_stops_nothing(tabs: OpenTab, page: Page) -> None:
    say(page, long_request(60))
    wait_for_words(page, 3)
    url = page.url
    page.close()
    again = tabs(url)
    wait_for_end(again)
    assert answer_words(again) == [f"w{n:03}" for n in range(60)]
    expect(again.locator(".ending")).to_have_count(0)


def test_what_a_person_unfolded_stays_open_while_the_run_goes_on(page: Page) -> None:
    start(page, "Keep adding 1 until I say stop.")
    first = page.locator(".call").first
    first.locator(".call-line").click()
    expect(first).to_have_attribute("open", "")
    wait_for_end(page)
    expect(first).to_have_attribute("open", "")
    expect(page.locator(".call").nth(1)).not_to_have_attribute("open", "")


def test_a_stop_without_a_network_is_made_good_afterwards(site: Site, tabs: OpenTab) -> None:
    with Wire(site.url) as wire:
        page = tabs(f"{wire.url}c/new/", forgives="WebSocket connection to")
        start_survey(page)
        wire.cut()
        expect(page.locator("#link-state")).to_be_visible()
        page.locator("[data-stop]").click()
        wire.mend()
        wait_for_end(page)
        assert states(page) == ["cancelled"]
