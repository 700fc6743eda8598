"""What axe-core finds on the pages: nothing serious, wide in light colours and narrow in
dark ones.

Needs the file ``axe.min.js`` of the npm package axe-core; ``TOOLLOOP_TEST_AXE`` says where it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, StorageState, ViewportSize, expect

from tests.browser.chatting import say, start, wait_for_end
from tests.browser.commands import run_python
from tests.browser.conftest import USUAL, Site, log_in, served

SERIOUS = ("serious", "critical")
SIZES = {
    "wide": ViewportSize(width=1440, height=900),
    "narrow": ViewportSize(width=390, height=844),
}
LOOKS = [("light", "wide"), ("dark", "narrow")]
ROWS = "#result_list tbody th a"
PARTS = "#detail [role=tab]"
CUT_OFF = """() => [...document.querySelectorAll('#tree .why > span, #verdict h1, .smells span')]
    .filter((e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1
        && getComputedStyle(e).display !== "inline")
    .map((e) => e.textContent)"""
SIDEWAYS = "document.scrollingElement.scrollWidth - innerWidth"
LONG_NAME = "notes__" + "a_very_long_name_" * 4

DAYS = "How many days are there from 3 March to 24 December 2026?"

LONG_WORD = "x" * 120
LONG_NAMES = f"""
from django.utils import timezone
from agents.models import *
provider = Provider.objects.get()
provider.base_url, provider.max_retries = 'http://127.0.0.1:9/{LONG_WORD}', 0
provider.save()
server = Server.objects.create(
    server_id='{"long-" * 9}server', transport='http', url='http://127.0.0.1:9/{LONG_WORD}',
    checked_at=timezone.now(), last_error='cannot connect to {LONG_WORD}')
Tool.objects.create(
    server=server, name='{LONG_NAME}', description='{LONG_WORD}', definition_hash='0' * 64,
    first_seen=timezone.now(), last_seen=timezone.now(),
    input_schema={{'type': 'object', 'properties': {{'{"k" * 70}': {{'type': 'string'}}}}}})
AssistantServer.objects.create(assistant=Assistant.objects.get(assistant_id='demo'), server=server)
"""
"""What an operator may have: a provider, a server and a tool with long names."""


@pytest.fixture(params=LOOKS, ids=["-".join(look) for look in LOOKS])
def look(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A colour scheme and a size."""
    return request.param  # type: ignore[no-any-return]  # pytest types parameters as Any


@pytest.fixture
def tab(browser: Browser, operator: StorageState, look: tuple[str, str]) -> Iterator[Page]:
    """A tab of the operator in that look."""
    scheme, size = look
    context = browser.new_context(
        **{**USUAL, "viewport": SIZES[size], "color_scheme": scheme, "storage_state": operator}
    )
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()


def faults(page: Page) -> list[str]:
    """What axe-core finds, the serious ones: rule, how bad, where, why."""
    page.evaluate(Path(os.environ["TOOLLOOP_TEST_AXE"]).read_text())
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{page.url}: {rule['id']}: {rule['help']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"][:3]
    ]


def check(page: Page) -> None:
    """No serious fault, and the page does not scroll sideways; what is loading is pale, so that it
    is waited for."""
    expect(page.locator("#detail[aria-busy], .tr[aria-busy], .htmx-request")).to_have_count(0)
    assert not (found := faults(page)), "\n".join(found)
    assert page.evaluate(SIDEWAYS) <= 0, page.url


def test_the_chat_with_cards_and_a_question(site: Site, tab: Page) -> None:
    tab.goto(f"{site.url}c/new/")
    check(tab)
    start(tab, DAYS)
    wait_for_end(tab)
    say(tab, f'call {LONG_NAME} with {{"{"k" * 70}": "{"v" * 200}"}}')
    wait_for_end(tab, runs=2)
    for line in tab.locator("#log .call-line").all():
        line.click()
    check(tab)
    say(tab, "Delete all my notes.")
    tab.locator("[data-ask]").wait_for()
    check(tab)
    tab.get_by_role("button", name="Deny").click()
    wait_for_end(tab, runs=3)


def test_a_trace_with_each_of_its_tabs_and_views(site: Site, tab: Page) -> None:
    tab.goto(f"{site.url}c/new/")
    say(tab, f'call {LONG_NAME} with {{"{"k" * 70}": "{"v" * 200}"}}')
    wait_for_end(tab)
    tab.locator(".run-acts a").last.click()
    tab.wait_for_selector("#tree .tr")
    address = tab.url.partition("?")[0]
    assert tab.evaluate(CUT_OFF) == []
    seen: set[str] = set()
    for kind in ("model", "tool_call", "policy", "turn"):
        row = tab.locator(f'#tree .tr[data-kind="{kind}"]').first
        row.click()
        expect(tab.locator("#detail")).to_have_attribute(
            "data-span", str(row.get_attribute("data-span"))
        )
        parts = [str(part.get_attribute("data-part")) for part in tab.locator(PARTS).all()]
        for part in [part for part in parts if part not in seen]:
            tab.locator(f'{PARTS}[data-part="{part}"]').click()
            expect(tab.locator(f'{PARTS}[data-part="{part}"]')).to_have_attribute(
                "aria-selected", "true"
            )
            check(tab)
        seen.update(parts)
    assert {"summary", "messages", "raw", "policy", "schema"} <= seen
    for view in ("ledger", "timeline", "flame"):
        tab.goto(f"{address}?view={view}")
        check(tab)


@pytest.mark.parametrize("path", ["traces/", "traces/?view=errors", "traces/?q=nothing+at+all"])
def test_the_list_of_traces(site: Site, tab: Page, path: str) -> None:
    tab.goto(f"{site.url}{path}")
    check(tab)


@pytest.mark.parametrize(
    "path",
    [
        "admin/",
        "admin/agents/assistant/",
        "admin/agents/assistant/add/",
        "admin/agents/server/",
        "admin/agents/server/add/",
        "admin/agents/provider/add/",
        "admin/bundle/",
    ],
)
def test_the_admin(site: Site, tab: Page, path: str) -> None:
    tab.goto(f"{site.url}{path}")
    check(tab)


def test_the_preview_of_an_import(site: Site, tab: Page) -> None:
    for server in ({"transport": "stdio", "command": "uvx"}, {"transport": "nowhere"}):
        tab.goto(f"{site.url}admin/bundle/")
        bundle = {"version": 1, "servers": [{"server_id": "clock", **server}]}
        tab.fill("#id_text", json.dumps(bundle))
        tab.get_by_role("button", name="Show what would change").click()
        tab.wait_for_load_state()
        check(tab)


def test_the_form_of_an_assistant_and_of_a_server(site: Site, tab: Page) -> None:
    for model in ("assistant", "server", "provider"):
        tab.goto(f"{site.url}admin/agents/{model}/")
        tab.locator("#result_list tbody a").first.click()
        tab.wait_for_load_state()
        check(tab)


def test_long_names_and_words_do_not_make_a_phone_scroll_sideways(
    tmp_path: Path, browser: Browser
) -> None:
    with served(tmp_path) as site:
        run_python(site, LONG_NAMES)
        context = browser.new_context(**{**USUAL, "viewport": SIZES["narrow"]})
        page = context.new_page()
        log_in(page, site)
        page.goto(f"{site.url}c/new/")
        check(page)
        say(page, LONG_WORD)
        wait_for_end(page)
        check(page)
        page.locator(".run-acts a").last.click()
        page.wait_for_selector("#tree .tr")
        check(page)
        page.locator('#tree .tr[data-kind="policy"]').click()
        page.locator(f'{PARTS}[data-part="policy"]').click()
        page.locator("#detail .wide table").wait_for()
        check(page)
        for path in ("traces/", "admin/agents/server/", "admin/agents/assistant/"):
            page.goto(f"{site.url}{path}")
            check(page)
        for path in ("agents/server", "agents/assistant"):
            page.goto(f"{site.url}admin/{path}/")
            for address in [link.get_attribute("href") for link in page.locator(ROWS).all()]:
                page.goto(f"{site.url.rstrip('/')}{address}")
                check(page)
        context.close()
