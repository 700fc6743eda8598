"""The pages of the admin in a browser: whitelist, order, rules, preview, buttons, widths."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenTab, Site

ASKING_MILLISECONDS = 20_000


TOOLS = 17
"""What the demo's assistant offers."""


def offered(page: Page) -> Locator:
    return page.locator("#preview .pv-list li")


def box(page: Page, server: str) -> Locator:
    return page.locator(f'.srv-box[aria-label="{server}"]')


@pytest.fixture
def demo(site: Site, tabs: OpenTab) -> Iterator[Page]:
    """The page of the demo's assistant, which nobody has changed."""
    page = tabs(f"{site.url}admin/agents/assistant/")
    page.get_by_role("link", name="Practice model").click()
    page.wait_for_url(re.compile("/change/"), wait_until="load")
    # The process may still be opening the servers that it has just been started with.
    with page.expect_response(re.compile("/box/")):
        page.locator("#preview [data-ask]").click()
    expect(offered(page)).to_have_count(TOOLS, timeout=ASKING_MILLISECONDS)
    yield page


def number_offered(page: Page) -> int:
    """How many tools the preview offers, once it is there."""
    expect(offered(page).first).to_be_visible()
    return offered(page).count()


def test_the_preview_follows_the_form_without_saving(demo: Page) -> None:
    notes, whole = box(demo, "notes"), number_offered(demo)
    notes.get_by_text("none", exact=True).click()
    expect(offered(demo)).to_have_count(whole - 4)
    expect(notes.locator("[data-count]")).to_have_text("0 of 4")
    notes.locator('tr[data-name="read"] .t-x input').check()
    expect(notes.locator('[value="these"]')).to_be_checked()
    expect(offered(demo)).to_have_count(whole - 3)
    notes.locator('tr[data-name="read"]').get_by_text("deny").click()
    expect(demo.locator("#preview .pv-out")).to_contain_text("denied_by_policy")
    demo.reload()
    expect(offered(demo)).to_have_count(whole)


def test_servers_move_by_the_arrow_keys(demo: Page) -> None:
    expect(offered(demo).first).to_contain_text("weather__")
    grip = box(demo, "weather").locator("[data-grip]")
    grip.focus()
    grip.press("ArrowDown")
    expect(demo.locator(".srv-box").nth(1)).to_have_attribute("aria-label", "weather")
    expect(offered(demo).first).to_contain_text("calculator__")
    expect(grip).to_be_focused()


def test_finding_and_ticking_what_is_shown(demo: Page) -> None:
    servers, whole = demo.locator(".srv-box").count(), number_offered(demo)
    demo.fill("[data-find]", "delete")
    expect(demo.locator(".srv-box:visible")).to_have_count(1)
    demo.get_by_role("button", name="none shown").click()
    expect(offered(demo)).to_have_count(whole - 1)
    demo.fill("[data-find]", "")
    expect(demo.locator(".srv-box:visible")).to_have_count(servers)


def test_a_rule_that_is_added_counts_at_once(demo: Page) -> None:
    expect(offered(demo).first).to_be_visible()
    asked = offered(demo).filter(has_text="ask").count()
    demo.fill(".patrow.new input.vTextField", "weather.*")
    demo.locator("[data-add-rule]").click()
    expect(offered(demo).filter(has_text="ask")).to_have_count(asked + 3)
    expect(demo.locator(".patrow.new input.vTextField")).to_have_value("")


def test_the_button_of_a_provider_tells_in_one_line(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/agents/provider/")
    page.locator("#result_list tbody th a").first.click()
    page.get_by_role("button", name="Test").click(timeout=ASKING_MILLISECONDS)
    expect(page.locator(".messagelist .success")).to_contain_text("answered in")
    expect(page.locator("#found")).to_contain_text("No quirks were found.")


def test_refreshing_goes_through_the_connections_of_the_process(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/agents/server/")
    page.get_by_role("link", name="notes").click()
    page.get_by_role("button", name="Refresh tools").click()
    expect(page.locator(".messagelist .success")).to_contain_text("4 tools")


def test_the_admin_has_the_sites_colours_and_languages(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/")
    page.locator("[data-theme-toggle]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.goto(f"{site.url}c/new/")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.goto(f"{site.url}admin/")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_no_page_is_wider_than_the_window(site: Site, tabs: OpenTab, width: int) -> None:
    page = tabs(f"{site.url}admin/", viewport={"width": width, "height": 800})
    for path in ("", "agents/assistant/", "agents/server/add/", "agents/provider/add/"):
        page.goto(f"{site.url}admin/{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(f"{site.url}admin/agents/assistant/")
    page.get_by_role("link", name=re.compile("Practice model")).click()
    assert number_offered(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
