"""The pages of the traces in a browser: the way in, every key, a trace that grows, a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chatting import (
    SURVEY,
    start,
    start_survey,
    wait_for_end,
)
from tests.browser.conftest import OpenTab, Site

COUNT = "Keep adding 1 until I say stop."
DAYS = "How many days are there from 3 March to 24 December 2026?"
COMPARE = "Compare the weather in Beijing, Oslo and Lima."


def open_trace(page: Page, question: str) -> None:
    """Run a starter prompt to its end and follow the link below its answer."""
    start(page, question)
    wait_for_end(page)
    page.locator(".run-acts a").last.click()
    page.wait_for_selector("#tree .tr")
    page.wait_for_load_state()


def chosen(page: Page) -> Locator:
    """The selected row."""
    return page.locator('#tree .tr[aria-selected="true"]')


def held(page: Page) -> Locator:
    """The row that has the focus."""
    return page.locator("#tree .tr:focus")


def sentences(page: Page) -> list[str]:
    """What stands between the turns."""
    return [" ".join(text.split()) for text in page.locator("#tree .why > span").all_inner_texts()]


def top_of(element: Locator) -> float:
    """Where an element stands in the window."""
    box = element.bounding_box()
    assert box is not None
    return round(box["y"])


def span_in_address(page: Page) -> str:
    """The span that the address names."""
    found = re.search(r"[?&]span=(\w+)", page.url)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("question", "headline", "expected"),
    [
        (
            "What should I wear in Beijing today?",
            "Answered by the model in turn 2, after 2 tool calls.",
            ["continued: 1 tool call answered", "continued: 1 tool call answered",
             "stopped: no tool calls"],
        ),
        (
            COMPARE,
            "Answered by the model in turn 1, after 3 tool calls.",
            ["continued: 3 tool calls answered", "stopped: no tool calls"],
        ),
        (
            DAYS,
            "Answered by the model in turn 1, after 2 tool calls, of which 1 failed.",
            ["retried: start_date is required, attempt 2 of 3",
             "continued: 2 tool calls answered, arguments mended in attempt 2",
             "stopped: no tool calls"],
        ),
        (
            COUNT,
            "Answered by the fallback: all 5 turns were used and the model still asked for 1 tool.",
            ["continued: 1 tool call answered"] * 5
            + ["fell back: 5 of 5 turns used and the model still asked for 1 tool",
               "stopped: no tool calls, answer level 2"],
        ),
    ],
)  # fmt: skip
def test_the_trace_of_a_starter_prompt_says_why_it_went_on(
    page: Page, question: str, headline: str, expected: list[str]
) -> None:
    open_trace(page, question)
    expect(page.locator("h1")).to_have_text(headline)
    assert sentences(page) == expected


def test_a_tool_card_leads_to_its_own_span_and_back_works(page: Page) -> None:
    start(page, COMPARE)
    wait_for_end(page)
    page.locator(".group").evaluate("group => (group.open = true)")
    page.locator(".group .call-line").nth(1).click()
    page.locator('.call[open] [data-panel="result"] a', has_text="Open in trace").click()
    expect(chosen(page)).to_contain_text("city=Oslo")
    expect(page.locator("#detail h2")).to_have_text("weather / get")
    expect(page.locator("#part")).to_contain_text('"city": "Oslo"')
    first = span_in_address(page)
    chosen(page).locator("xpath=following-sibling::a[1]").click()
    expect(page.locator("#part")).to_contain_text('"city": "Lima"')
    assert span_in_address(page) != first
    page.get_by_role("tab", name="Summary").click()
    expect(page.get_by_role("tab", name="Summary")).to_have_attribute("aria-selected", "true")
    assert "tab=summary" in page.url
    page.go_back()
    expect(page.get_by_role("tab", name="Input and output")).to_have_attribute(
        "aria-selected", "true"
    )
    page.go_back()
    expect(chosen(page)).to_contain_text("city=Oslo")
    expect(page.locator("#part")).to_contain_text('"city": "Oslo"')
    assert span_in_address(page) == first


def test_the_arrow_keys_move_fold_and_select_as_a_tree_does(page: Page) -> None:
    open_trace(page, DAYS)
    chosen(page).focus()
    page.keyboard.press("Home")
    expect(held(page)).to_have_attribute("aria-level", "1")
    page.keyboard.press("ArrowDown")
    expect(held(page)).to_contain_text("catalog")
    page.keyboard.press("ArrowDown")
    expect(held(page)).to_contain_text("Turn 0")
    page.keyboard.press("ArrowRight")
    expect(held(page)).to_contain_text("practice")
    page.keyboard.press("ArrowLeft")
    expect(held(page)).to_contain_text("Turn 0")
    visible = page.locator("#tree .tr:visible")
    before = visible.count()
    page.keyboard.press("ArrowLeft")
    expect(held(page)).to_have_attribute("aria-expanded", "false")
    assert visible.count() == before - 5
    expect(page.locator("#tree .why:visible")).to_have_count(2)
    page.keyboard.press("ArrowLeft")
    expect(held(page)).to_have_attribute("aria-level", "1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("*")
    assert visible.count() == before
    page.keyboard.press("End")
    expect(held(page)).to_contain_text("answered")
    page.keyboard.press("ArrowUp")
    expect(held(page)).to_contain_text("Turn 1")
    page.keyboard.press("Enter")
    expect(chosen(page)).to_contain_text("Turn 1")
    expect(page.locator("#detail h2")).to_have_text("Turn 1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    expect(chosen(page)).to_contain_text("days_between")
    expect(page.locator('#tree .tr[tabindex="0"]')).to_have_count(1)


def test_letters_go_to_the_next_row_that_begins_so(page: Page) -> None:
    open_trace(page, COMPARE)
    page.locator("#tree .tr").first.focus()
    page.keyboard.press("w")
    expect(held(page)).to_contain_text("city=Beijing")
    page.keyboard.type("eather")
    expect(held(page)).to_contain_text("city=Beijing")


def test_keys_go_through_turns_errors_and_across_from_a_call_to_its_request(page: Page) -> None:
    open_trace(page, DAYS)
    expect(chosen(page)).to_contain_text("answered")
    page.keyboard.press("[")
    expect(chosen(page)).to_contain_text("Turn 0")
    expect(page.locator("[data-block][aria-current] .rail-n")).to_have_text("0")
    page.keyboard.press("]")
    expect(chosen(page)).to_contain_text("Turn 1")
    page.keyboard.press("]")
    expect(chosen(page)).to_contain_text("Turn 1")
    page.keyboard.press("e")
    expect(chosen(page)).to_contain_text("invalid arguments")
    page.keyboard.press("t")
    expect(chosen(page)).to_contain_text("asked for 1 call")
    expect(page.locator("#detail h2")).to_have_text("Turn 0, model request")
    page.keyboard.press("t")
    expect(chosen(page)).to_contain_text("invalid arguments")


def test_the_difference_of_the_messages_and_all_of_them(page: Page) -> None:
    open_trace(page, COMPARE)
    expect(page.locator('[data-shown="diff"]')).to_be_visible()
    expect(page.locator('[data-shown="diff"] .m.added')).to_have_count(4)
    page.keyboard.press("d")
    expect(page.locator('[data-shown="all"]')).to_be_visible()
    expect(page.locator('[data-shown="all"] > .m')).to_have_count(7)
    page.keyboard.press("d")
    expect(page.locator('[data-shown="all"]')).to_be_hidden()


def test_search_marks_rows_and_goes_through_them(page: Page) -> None:
    open_trace(page, COMPARE)
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("lima")
    expect(page.locator("#tree .tr.found")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1")
    page.keyboard.press("Enter")
    expect(chosen(page)).to_contain_text("city=Lima")
    page.fill("#find", "nothing like this")
    expect(page.locator("#found")).to_have_text("nothing found")
    page.keyboard.press("Escape")
    expect(page.locator("#tree[data-finding]")).to_have_count(0)


def test_zoom_stretches_all_lanes_alike_around_what_is_selected(page: Page) -> None:
    open_trace(page, COMPARE)
    lane = page.locator("#tree .lane").first
    before = lane.bounding_box()
    page.keyboard.press("+")
    page.keyboard.press("+")
    after, axis = lane.bounding_box(), page.locator(".axis").bounding_box()
    assert before is not None and after is not None and axis is not None
    assert after["width"] == pytest.approx(before["width"] * 4, rel=0.01)
    assert axis["width"] == pytest.approx(after["width"], rel=0.01)
    page.get_by_role("button", name="Fit").click()
    assert lane.bounding_box() == before


def test_the_list_of_keys_and_the_ledger(page: Page) -> None:
    open_trace(page, COMPARE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Ledger").click()
    expect(page.locator("#ledger")).to_contain_text("3 calls, 3 results")
    expect(page.locator(".treebox")).to_be_hidden()
    assert "view=ledger" in page.url
    page.locator("#ledger a", has_text="done").first.click()
    expect(page.locator("#detail h2")).to_have_text("weather / get")
    page.reload()
    expect(page.locator("#ledger")).to_be_visible()


def test_every_tab_of_a_request_can_be_opened_with_the_keyboard(page: Page) -> None:
    open_trace(page, COMPARE)
    page.get_by_role("tab", name="Messages").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Raw")).to_be_focused()
    expect(page.locator("#part")).to_contain_text("HTTP 200")
    expect(page.locator(".chunks li").first).to_contain_text("ms")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".funnel li").first).to_contain_text("17")
    page.keyboard.press("Home")
    expect(page.get_by_role("tab", name="Summary")).to_be_focused()


def test_a_running_trace_grows_without_moving_what_is_read(
    site: Site, page: Page, tabs: OpenTab
) -> None:
    start_survey(page)
    href = page.locator(".prog-text a").get_attribute("href")
    trace = tabs(f"{site.url}{str(href).lstrip('/')}", viewport={"width": 1000, "height": 420})
    expect(chosen(trace)).to_contain_text("weather / survey")
    expect(chosen(trace)).to_contain_text("running")
    row = trace.locator("#tree .tr", has_text="catalog")
    row.focus()
    title = trace.locator("#detail h2")
    # What was chosen is still being fetched: until it is there the page may be too short.
    trace.wait_for_function(
        "() => { const title = document.querySelector('#detail h2');"
        " scrollBy(0, title.getBoundingClientRect().top - 60);"
        " return Math.abs(title.getBoundingClientRect().top - 60) < 2; }"
    )
    place = top_of(title)
    assert trace.evaluate("scrollY") > 100
    wall = trace.locator(".vd-nums .big").first
    earlier = wall.inner_text()
    expect(wall).not_to_have_text(earlier)
    assert top_of(title) == place
    expect(row).to_be_focused()
    page.locator("#status [data-stop]").click()
    expect(trace.locator("h1")).to_contain_text("Stopped by a person")
    expect(trace.locator("#live-line")).to_be_hidden()
    expect(chosen(trace)).to_contain_text("cancelled")
    expect(trace.locator("#detail header .st")).to_contain_text("cancelled")
    assert top_of(title) == place
    expect(row).to_be_focused()
    assert "Stopped by a person" in trace.locator("h1").inner_text()
    shown = trace.locator("#tree").inner_text()
    trace.reload()
    assert trace.locator("#tree").inner_text() == shown


def test_the_page_of_an_ended_trace_opens_no_socket(page: Page) -> None:
    open_trace(page, COMPARE)
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.reload()
    page.keyboard.press("[")
    expect(page.locator("#detail h2")).to_have_text("Turn 0")
    assert sockets == []


def test_following_a_run_selects_what_is_newest(page: Page, tabs: OpenTab) -> None:
    start(page, "Delete all my notes.")
    page.wait_for_selector("[data-ask]")
    href = page.locator("#rail-state a").get_attribute("href")
    trace = tabs(page.url.split("/c/")[0] + str(href))
    trace.keyboard.press("f")
    expect(trace.locator("[data-follow]")).to_have_attribute("aria-pressed", "true")
    expect(chosen(trace)).to_contain_text("delete_all")
    expect(trace.locator(".vd-pills")).to_contain_text("waits for a person")
    page.get_by_role("button", name="Allow once").click()
    expect(trace.locator("h1")).to_contain_text("Answered by the model")


def test_the_list_keeps_its_rows_and_tells_of_newer_runs(
    site: Site, page: Page, tabs: OpenTab
) -> None:
    start_survey(page)
    traces = tabs(f"{site.url}traces/")
    row = traces.locator("tbody tr").first
    expect(row).to_contain_text(SURVEY)
    expect(row).to_contain_text("running")
    other = tabs(f"{site.url}c/new/")
    start(other, COMPARE)
    wait_for_end(other)
    expect(traces.locator("[data-newer]")).to_have_text(
        "Rows keep their place; 1 newer run waits above."
    )
    expect(row).to_contain_text(SURVEY)
    page.locator("#status [data-stop]").click()
    expect(row).to_contain_text("cancelled")
    traces.get_by_role("link", name="Newer").click()
    expect(traces.locator("tbody tr").first).to_contain_text(COMPARE)


def test_filters_of_the_list_stand_in_the_address(site: Site, page: Page) -> None:
    start(page, COUNT)
    wait_for_end(page)
    page.goto(f"{site.url}traces/")
    page.locator("summary", has_text="stop reason").click()
    page.locator(".filters .menu a", has_text="max_turns").click()
    expect(page.locator(".chip.on")).to_contain_text("max_turns")
    expect(page.locator("tbody tr").first).to_contain_text(COUNT)
    page.keyboard.press("/")
    page.keyboard.type("no such words")
    page.keyboard.press("Enter")
    expect(page.locator("h2")).to_have_text("No run matches.")
    assert "stop=max_turns" in page.url
    assert "q=no" in page.url


def test_a_phone_shows_the_list_and_a_trace_in_its_width(page: Page, tabs: OpenTab) -> None:
    start(page, DAYS)
    wait_for_end(page)
    base = page.url.split("c/")[0]
    phone = tabs(f"{base}traces/", viewport={"width": 360, "height": 740}, has_touch=True)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    phone.locator("tbody tr a", has_text=DAYS).first.tap()
    phone.wait_for_selector("#tree .tr")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    bad = phone.locator("#tree .tr.bad")
    bad.tap()
    expect(phone.locator("#detail h2")).to_have_text("calculator / days_between")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
