"""Timeline, flame, schema, exports and kept views in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.chatting import say, start, start_survey, wait_for_end
from tests.browser.conftest import OpenTab, Site

COMPARE = "Compare the weather in Beijing, Oslo and Lima."
WRONG = 'call weather__get with {"town": "Lima"}'
SIDEWAYS = "document.scrollingElement.scrollWidth - innerWidth"


def open_trace(page: Page) -> None:
    """Follow the link below the last answer."""
    wait_for_end(page)
    page.locator(".run-acts a").last.click()
    page.wait_for_selector("#tree .tr")
    page.wait_for_load_state()


def show(page: Page, view: str) -> Locator:
    """Change to a picture; its pane, when it is there."""
    page.locator(f"[data-view={view}]:visible").click()
    pane = page.locator(f"[data-view-pane={view}]")
    pane.locator("[data-picture]").wait_for()
    return pane


def held(page: Page) -> str:
    """What the block with the focus is called."""
    return page.locator(".blk:focus").get_attribute("data-label") or ""


def test_the_timeline_is_walked_by_arrows_and_leads_to_details(page: Page) -> None:
    start(page, COMPARE)
    open_trace(page)
    pane = show(page, "timeline")
    names = [name.strip() for name in pane.locator(".tl-n b").all_inner_texts()]
    assert names == ["turns", "catalog", "model", "weather"]
    assert pane.locator('.blk[tabindex="0"]').count() == 1
    pane.locator(".tl-lane").nth(2).locator(".blk").first.focus()
    assert "model, Turn 0" in held(page)
    page.keyboard.press("ArrowRight")
    assert "model, Turn 1" in held(page)
    page.keyboard.press("ArrowDown")
    assert held(page).startswith("weather / get city=")
    page.keyboard.press("ArrowUp")
    assert "model" in held(page)
    page.keyboard.press("ArrowDown")
    called = held(page)
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_have_text("weather / get")
    current = pane.locator(".blk[aria-current]")
    expect(current).to_have_count(1)
    expect(current).to_have_attribute("data-label", called)
    assert re.search(r"view=timeline.*span=", page.url)
    page.reload()
    expect(page.locator("[data-view-pane=timeline] .blk[aria-current]")).to_have_count(1)
    expect(page.locator("[data-view-pane=tree]")).to_be_hidden()


def test_the_flame_shows_what_is_selected_and_the_way_back_works(page: Page) -> None:
    start(page, COMPARE)
    open_trace(page)
    rows = page.locator("#tree .tr").count()
    pane = show(page, "flame")
    assert pane.locator(".blk").count() == rows
    chosen = page.locator("#detail").get_attribute("data-span")
    expect(pane.locator(".blk[aria-current]")).to_have_attribute("data-block-of", str(chosen))
    page.go_back()
    expect(page.locator("[data-view-pane=tree]")).to_be_visible()
    page.go_forward()
    expect(pane).to_be_visible()


def test_a_picture_grows_with_the_run(site: Site, page: Page, tabs: OpenTab) -> None:
    start_survey(page)
    href = str(page.locator(".prog-text a").get_attribute("href"))
    trace = tabs(f"{site.url}{href.lstrip('/')}")
    pane = show(trace, "timeline")
    expect(pane.locator(".tl-lane").last.locator(".b-run")).to_have_count(1)
    held_before = pane.locator(".blk").last
    held_before.focus()
    called = held(trace)
    page.locator("#status [data-stop]").click()
    expect(trace.locator("#live-line")).to_be_hidden()
    expect(pane.locator(".b-run")).to_have_count(0)
    assert held(trace).split(",")[0] == called.split(",")[0]
    expect(pane.locator(".blk").last).to_have_attribute("data-label", re.compile("cancelled"))


@pytest.mark.parametrize("width", [1360, 390])
def test_wrong_arguments_are_marked_beside_the_schema(page: Page, width: int) -> None:
    page.set_viewport_size(ViewportSize(width=width, height=900))
    say(page, WRONG)
    open_trace(page)
    page.keyboard.press("e")
    page.locator("[data-part=schema]").click()
    expect(page.locator(".sch-say")).to_contain_text("/city is missing.")
    expect(page.locator(".sch mark")).to_have_text('"city"')
    assert page.evaluate(SIDEWAYS) <= 0


@pytest.mark.parametrize("width", [1360, 390])
def test_a_trace_is_exported_from_its_menu(page: Page, width: int) -> None:
    page.set_viewport_size(ViewportSize(width=width, height=900))
    start(page, COMPARE)
    open_trace(page)
    page.locator("#export > summary").click()
    assert page.evaluate(SIDEWAYS) <= 0
    for label, beginning, suffix in (
        ("Markdown, as evidence", "# Answered by the model in turn 1", ".md"),
        ("Transcript, plain text", "system: ", ".txt"),
        ("OTLP/JSON, for OpenTelemetry", '{"resourceSpans": [', ".otlp.json"),
    ):
        with page.expect_download() as started:
            page.get_by_role("link", name=label, exact=True).click()
        assert started.value.suggested_filename.endswith(suffix)
        assert Path(started.value.path()).read_text().startswith(beginning)


@pytest.mark.parametrize("width", [1360, 390])
def test_a_list_is_kept_under_a_name_and_taken_away(site: Site, tabs: OpenTab, width: int) -> None:
    page = tabs(f"{site.url}traces/?view=errors", viewport=ViewportSize(width=width, height=844))
    page.get_by_text("Save view").click()
    assert page.evaluate(SIDEWAYS) <= 0
    expect(page.locator("#view-name")).to_have_value("Errors")
    page.fill("#view-name", f"Bad {width}")
    page.keyboard.press("Enter")
    kept = page.locator(".chip.saved").filter(has_text=f"Bad {width}")
    expect(kept).to_have_class(re.compile(r"\bon\b"))
    page.goto(f"{site.url}traces/")
    kept.locator("a").click()
    page.wait_for_url("**/traces/?view=errors")
    kept.get_by_role("button", name=f"Bad {width}: remove this view").click()
    expect(kept).to_have_count(0)
    assert page.evaluate(SIDEWAYS) <= 0


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_pictures_fit_every_width(page: Page, width: int) -> None:
    page.set_viewport_size(ViewportSize(width=width, height=900))
    start(page, COMPARE)
    open_trace(page)
    for view in ("timeline", "flame"):
        pane = show(page, view)
        assert page.evaluate(SIDEWAYS) <= 0
        box, edge = pane.locator(".pic-svg").last.bounding_box(), pane.bounding_box()
        assert box is not None
        assert edge is not None
        assert box["x"] + box["width"] <= edge["x"] + edge["width"]
