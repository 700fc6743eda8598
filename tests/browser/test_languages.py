"""The page in the reader's language, also in what comes after it was loaded."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.chatting import start, start_survey, wait_for_end
from tests.browser.conftest import OpenTab, Site


def test_a_chinese_browser_reads_chinese_also_in_what_comes_later(
    site: Site, tabs: OpenTab
) -> None:
    page = tabs(f"{site.url}c/new/", locale="zh-CN")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    start(page, "一直加 1,直到我说停。")
    wait_for_end(page)
    words = page.locator(".call .st").all_inner_texts()
    assert set(words) == {"完成"}
    expect(page.locator(".ending")).to_contain_text("已达到 5 轮上限")


def test_the_language_is_changed_with_one_click_and_stays(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}c/new/")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    start(page, "What is the weather in Atlantis?")
    wait_for_end(page)
    expect(page.locator(".call .st")).to_have_text("工具出错")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator(".call .st")).to_have_text("tool error")


def test_two_tabs_are_kept_up_to_date_in_their_own_languages(tabs: OpenTab, site: Site) -> None:
    english = tabs(f"{site.url}c/new/", locale="en-US")
    start_survey(english)
    chinese = tabs(english.url, locale="zh-CN")
    expect(chinese.locator("#status")).to_contain_text("停止")
    english.locator("#status [data-stop]").click()
    wait_for_end(english)
    wait_for_end(chinese)
    expect(english.locator(".ending")).to_contain_text("Stopped by you.")
    expect(chinese.locator(".ending")).not_to_contain_text("Stopped")
    expect(english.locator("#live-rail-body")).to_contain_text("Turn 0")
    expect(chinese.locator("#live-rail-body")).not_to_contain_text("Turn 0")
