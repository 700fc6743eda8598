"""Who sees what: other people, nobody, and somebody who has logged out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import say, start_survey, wait_for_end
from tests.browser.commands import PASSWORD, make_user
from tests.browser.conftest import OpenTab, Site, log_in

CLOSE_CODE = """(path) => new Promise((resolve) => {
    const socket = new WebSocket(new URL(path, location.href.replace("http", "ws")));
    const messages = [];
    socket.onmessage = (event) => messages.push(event.data);
    socket.onclose = (event) => resolve([event.code, messages]);
})"""


@pytest.fixture(scope="package")
def ada(site: Site) -> str:
    """Another user's name."""
    make_user(site, "ada")
    return "ada"


def conversation_path(page: Page) -> str:
    """The path of the conversation's page."""
    return str(page.evaluate("location.pathname"))


def test_another_person_sees_none_of_it(site: Site, tabs: OpenTab, page: Page, ada: str) -> None:
    say(page, "A secret of the operator")
    wait_for_end(page)
    path = conversation_path(page)
    other = tabs(site.url, forgives="Failed to load resource", storage_state=None)
    log_in(other, site, ada, PASSWORD)
    expect(other.locator("#conversations")).to_contain_text("No conversations yet.")
    other.fill("input[type=search]", "secret")
    expect(other.locator("#conversations")).to_contain_text("Nothing found")
    for part in ("", "log/"):
        answer = other.request.get(f"{site.url}{path.lstrip('/')}{part}")
        assert answer.status == 404
        assert "secret" not in answer.text()
    assert other.evaluate(CLOSE_CODE, f"/ws{path}") == [4404, []]
    shown = other.goto(f"{site.url}{path.lstrip('/')}")
    assert shown is not None
    assert shown.status == 404


def test_another_person_has_conversations_of_their_own(site: Site, tabs: OpenTab, ada: str) -> None:
    other = tabs(site.url, storage_state=None)
    log_in(other, site, ada, PASSWORD)
    other.goto(f"{site.url}c/new/")
    say(other, "Mine alone")
    wait_for_end(other)
    expect(other.locator(".cv-t")).to_have_text(["Mine alone"])
    expect(other.get_by_role("link", name="Admin")).to_have_count(0)


def test_nobody_is_led_to_the_login_and_back(site: Site, tabs: OpenTab, page: Page) -> None:
    say(page, "Hello")
    wait_for_end(page)
    nobody = tabs(page.url, storage_state=None)
    expect(nobody).to_have_title("Log in · Toolloop")
    assert nobody.evaluate(CLOSE_CODE, f"/ws{conversation_path(page)}") == [4401, []]
    nobody.fill("input[name=username]", "operator")
    nobody.fill("input[name=password]", "wrong")
    nobody.press("input[name=password]", "Enter")
    expect(nobody.get_by_role("alert")).to_contain_text("do not fit")
    nobody.fill("input[name=password]", site.password)
    nobody.press("input[name=password]", "Enter")
    expect(nobody.locator(".msg.user .bub")).to_have_text("Hello")
    assert nobody.url == page.url


def test_who_has_logged_out_in_one_tab_can_do_nothing_in_another(site: Site, tabs: OpenTab) -> None:
    page = tabs(site.url, storage_state=None)
    log_in(page, site)
    page.goto(f"{site.url}c/new/")
    start_survey(page)
    second = page.context.new_page()
    second.goto(page.url)
    second.locator(".who summary").click()
    second.get_by_role("button", name="Log out").click()
    expect(second).to_have_title("Log in · Toolloop")
    page.keyboard.press("Escape")
    expect(page).to_have_title("Log in · Toolloop")
    log_in(second, site)
    second.goto(page.url.split("next=")[1].replace("/", site.url, 1))
    expect(second.locator("#status")).to_be_visible()
    second.keyboard.press("Escape")
    wait_for_end(second)
