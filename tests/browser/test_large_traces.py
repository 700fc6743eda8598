"""A trace of 3,000 spans in a browser: turns first, windows opened by keys, deep links."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.commands import run_python
from tests.browser.conftest import Site
from tests.traces.large import span_id

TURNS = 600
FAILED = 333


@pytest.fixture(scope="module")
def address(site: Site) -> str:
    """Where the trace is."""
    run_python(
        site,
        f"from tests.traces.large import store_large; store_large({TURNS}, failed={{{FAILED}}})",
    )
    return f"{site.url}traces/large/"


def held(page: Page) -> Locator:
    return page.locator("#tree .tr:focus")


def chosen(page: Page) -> Locator:
    return page.locator('#tree .tr[aria-selected="true"]')


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_a_large_trace_opens_on_what_failed(page: Page, address: str) -> None:
    page.goto(address)
    expect(chosen(page)).to_contain_text(f"city=Town {FAILED}-2")
    expect(page.locator("#detail h2")).to_have_text("weather / get")


def test_windows_and_turns_are_opened_with_the_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}?span={span_id(TURNS - 1, 1)}")
    rows = page.locator("#tree .tr")
    expect(rows.first).to_be_visible()
    assert rows.count() < 150
    expect(chosen(page)).to_contain_text("m1")
    chosen(page).focus()
    press(page, "Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    expect(held(page)).to_contain_text("Turns 200 to 249 250 spans")
    expect(held(page)).to_have_attribute("aria-expanded", "false")
    press(page, "Enter")
    expect(held(page)).to_have_attribute("aria-expanded", "true")
    press(page, "ArrowRight")
    expect(held(page)).to_contain_text("Turn 200")
    expect(held(page)).to_contain_text("4 rows more")
    expect(held(page)).to_have_attribute("aria-level", "3")
    press(page, "ArrowRight")
    expect(held(page)).to_have_attribute("aria-expanded", "true")
    expect(held(page).locator(".tr-more")).to_be_hidden()
    press(page, "ArrowRight", "ArrowDown", "Enter")
    expect(chosen(page)).to_contain_text("city=Town 200-0")
    expect(page.locator("#detail h2")).to_have_text("weather / get")
    expect(page.locator("[data-block][aria-current]")).to_have_attribute(
        "aria-label", "Turns 198 to 200: 0.30 s, 300 tokens of context, 9 tool calls"
    )
    press(page, "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(held(page)).to_contain_text("Turns 200 to 249")
    expect(page.locator("#tree .tr:visible", has_text="Turn 200")).to_have_count(0)


def test_a_link_to_a_span_inside_opens_its_window_and_turn(page: Page, address: str) -> None:
    page.goto(f"{address}?span={span_id(150, 3)}")
    expect(chosen(page)).to_be_in_viewport()
    expect(chosen(page)).to_contain_text("city=Town 150-1")
    expect(page.locator("#tree .tr", has_text="Turns 150 to 199")).to_have_attribute(
        "aria-expanded", "true"
    )
    expect(page.locator("#detail h2")).to_have_text("weather / get")


def test_keys_go_to_turns_and_errors_that_are_folded(page: Page, address: str) -> None:
    page.goto(f"{address}?span={span_id(199)}")
    press(page, "]")
    expect(chosen(page)).to_contain_text("Turn 200")
    press(page, "[", "[")
    expect(chosen(page)).to_contain_text("Turn 198")
    press(page, "e")
    expect(chosen(page)).to_contain_text(f"city=Town {FAILED}-2")
    expect(chosen(page)).to_contain_text("tool error")
    page.go_back()
    expect(chosen(page)).to_contain_text("Turn 198")


def test_all_turns_beside_one_are_opened_at_once(page: Page, address: str) -> None:
    page.goto(f"{address}?span={span_id(120)}")
    chosen(page).focus()
    press(page, "*")
    expect(page.locator("#tree [data-folded]:not([data-window])")).to_have_count(0)
    expect(page.locator("#tree .tr", has_text="city=Town 149-2")).to_be_attached()
    expect(held(page)).to_contain_text("Turn 120")
    assert page.locator("#tree .tr:not([data-window])").count() == 1 + 250


def test_search_says_that_folded_rows_are_not_searched(page: Page, address: str) -> None:
    page.goto(address)
    press(page, "/")
    page.keyboard.type("Town")
    expect(page.locator("#found")).to_have_text("3 · in the rows that were opened")
