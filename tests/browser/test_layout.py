"""Sizes, keyboards and panes: nothing overflows, everything can be reached."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.chatting import say, start, wait_for_end
from tests.browser.conftest import OpenTab, Site

DAYS = "How many days are there from 3 March to 24 December 2026?"
LONG = f"""call calculator__days_between with {{"from": "{"a" * 300}", "to": "{"b c " * 90}"}}"""
WIDTHS = (1440, 1000, 600, 390, 360)

WIDER_THAN_PARENT = """() => [...document.querySelectorAll("#log .call, #log .ask, #log .prose")]
    .filter((e) => e.getBoundingClientRect().right
        > e.closest(".step").getBoundingClientRect().right + 1)
    .map((e) => e.className)"""
SIDEWAYS = "document.scrollingElement.scrollWidth - innerWidth"


def test_no_card_is_wider_than_its_turn_and_no_page_scrolls_sideways(page: Page) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate(SIDEWAYS) <= 0
    start(page, DAYS)
    wait_for_end(page)
    say(page, LONG)
    wait_for_end(page, runs=2)
    say(page, "Compare the weather in Beijing, Oslo and Lima.")
    wait_for_end(page, runs=3)
    for line in [None, *page.locator(".batch > .call > .call-line").all()]:
        if line is not None:
            line.click()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.evaluate(WIDER_THAN_PARENT) == []
            assert page.evaluate(SIDEWAYS) <= 0


@pytest.mark.parametrize("width", [390, 360])
def test_a_phone_shows_one_pane_at_a_time(site: Site, tabs: OpenTab, width: int) -> None:
    page = tabs(f"{site.url}c/new/", viewport=ViewportSize(width=width, height=844))
    start(page, "Keep adding 1 until I say stop.")
    wait_for_end(page)
    panes = {"Chats": ".side", "Talk": ".talk", "Trace": ".live-rail"}
    for name, shown in panes.items():
        page.get_by_role("button", name=name, exact=True).click()
        for pane in panes.values():
            expect(page.locator(pane)).to_be_visible(visible=pane == shown)
        assert page.evaluate(SIDEWAYS) <= 0
    page.get_by_role("button", name="Chats").click()
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator("#intro")).to_be_visible()


@pytest.mark.parametrize("width", [1360, 390])
def test_the_menus_open_and_close(site: Site, tabs: OpenTab, width: int) -> None:
    page = tabs(f"{site.url}c/new/", viewport=ViewportSize(width=width, height=844))
    say(page, "Hello")
    wait_for_end(page)
    for menu in (".who", ".talk-head .menu-box", ".composer .menu-box"):
        page.locator(f"{menu} > summary").click()
        expect(page.locator(f"{menu} > .menu")).to_be_visible()
        assert page.evaluate(SIDEWAYS) <= 0
        box = page.locator(f"{menu} > .menu").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")
        expect(page.locator(f"{menu} > .menu")).to_be_hidden()


def test_a_conversation_is_renamed_pinned_and_deleted(page: Page) -> None:
    say(page, "To be renamed")
    wait_for_end(page)
    menu = page.get_by_label("More about this conversation")
    menu.click()
    page.get_by_role("button", name="Rename").click()
    page.fill("#rename-title", "A better name")
    page.press("#rename-title", "Enter")
    expect(page.locator("#talk-title")).to_have_text("A better name")
    expect(page.locator(".cv[aria-current] .cv-t")).to_have_text("A better name")
    menu.click()
    page.get_by_role("button", name="Pin").click()
    expect(page.locator(".side-h").first).to_have_text("Pinned")
    menu.click()
    page.get_by_role("button", name="Delete").click()
    page.locator("#delete").get_by_role("button", name="Delete").click()
    page.wait_for_url(lambda url: "delete" not in url)
    expect(page.locator(".cv-t").filter(has_text="A better name")).to_have_count(0)


def test_the_keyboard_reaches_the_composer_and_opens_cards(page: Page) -> None:
    start(page, "What is the weather in Atlantis?")
    wait_for_end(page)
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className"))
        if page.evaluate("document.activeElement.id") == "say":
            break
    assert page.evaluate("document.activeElement.id") == "say"
    assert "call-line" in reached
    page.locator(".call-line").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Result")).to_be_visible()
    page.get_by_role("tab", name="Result").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Raw")).to_have_attribute("aria-selected", "true")
    expect(page.locator('.call [data-panel="raw"]')).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".call-line").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("tab", name="Result")).to_be_hidden()


def test_an_approval_can_be_answered_by_keyboard(page: Page) -> None:
    start(page, "Delete all my notes.")
    page.locator("[data-ask]").focus()
    page.keyboard.press("d")
    page.keyboard.type("a good reason")
    page.keyboard.press("Enter")
    wait_for_end(page)
    expect(page.locator(".msg.run")).to_contain_text("a good reason")
    say(page, "Delete all my notes.")
    page.locator("[data-ask]").focus()
    page.keyboard.press("a")
    wait_for_end(page, runs=2)
    expect(page.locator(".msg.run").last).to_contain_text("Done:")


def test_the_colours_are_chosen_and_kept(page: Page) -> None:
    backgrounds = []
    for name in ("as the system", "light", "dark"):
        expect(page.locator("[data-theme-toggle]")).to_have_attribute(
            "aria-label", f"Colours: {name}"
        )
        backgrounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.locator("[data-theme-toggle]").click()
    assert backgrounds[1] != backgrounds[2]
    page.locator("[data-theme-toggle]").click()
    page.locator("[data-theme-toggle]").click()
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == backgrounds[2]


def test_the_page_follows_its_end_unless_the_reader_scrolls_up(page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 500})
    for runs in (1, 2):
        say(page, "Compare the weather in Beijing, Oslo and Lima.")
        wait_for_end(page, runs=runs)
    say(page, "Keep adding 1 until I say stop.")
    page.mouse.move(500, 250)
    page.mouse.wheel(0, -2000)
    expect(page.get_by_role("button", name="New output")).to_be_visible()
    wait_for_end(page, runs=3)
    assert page.evaluate("scrollY") < 200
    page.get_by_role("button", name="New output").click()
    expect(page.locator(".ending")).to_be_in_viewport()
    expect(page.get_by_role("button", name="New output")).to_be_hidden()
