"""Import and export in a browser: looked at, confirmed, stored; ready prompts; widths."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.commands import run_python
from tests.browser.conftest import OpenTab, Site

BUNDLE = {
    "version": 1,
    "providers": [{"id": "imported", "base_url": "https://models.example.org/v1"}],
    "servers": [{"server_id": "clock", "transport": "stdio", "command": "uvx", "args": ["clock"]}],
    "assistants": [
        {
            "id": "imported", "name": "Imported", "provider": "imported",
            "prompts": [{"role": "system", "content": "You tell the time.\nNothing else."}],
            "mcp": {"servers": [{"server_id": "clock", "tools": ["now"]}]},
            "approval": {"clock.set": "deny"},
        }
    ],
}  # fmt: skip


def preview(page: Page, bundle: object) -> None:
    """Choose a file of this bundle and look at what would change."""
    content = json.dumps(bundle).encode()
    file = {"name": "bundle.json", "mimeType": "application/json", "buffer": content}
    page.set_input_files("#id_files", files=[file])
    page.get_by_role("button", name="Show what would change").click()


@pytest.fixture
def cleaned(site: Site) -> Iterator[Site]:
    """The site, which loses afterwards what this bundle brought: other tests see its lists."""
    yield site
    run_python(
        site,
        "from agents.models import Assistant, Provider, Server;"
        "Assistant.objects.filter(assistant_id='imported').delete();"
        "Server.objects.filter(server_id='clock').delete();"
        "Provider.objects.filter(provider_id='imported').delete()",
    )


def test_a_bundle_is_looked_at_confirmed_and_stored(cleaned: Site, tabs: OpenTab) -> None:
    page = tabs(f"{cleaned.url}admin/agents/assistant/")
    page.get_by_role("link", name="Import and export").click()
    preview(page, BUNDLE)
    expect(page.locator("#summary")).to_have_text("3 new")
    expect(page.locator("#commands")).to_contain_text("uvx clock")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("Commands run on this machine")
    page.get_by_label("I have read these commands").check()
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".messagelist .success")).to_have_text("Imported: 3 new.")
    preview(page, json.loads(json.dumps(BUNDLE).replace("deny", "ask")))
    expect(page.locator(".bd-item[open] .bd-fields")).to_contain_text("approval/clock.set")
    expect(page.locator(".bd-item[open] del")).to_have_text("deny")
    expect(page.locator(".bd-item[open] ins")).to_have_text("ask")


def test_the_export_is_a_file(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/bundle/")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON", exact=True).click()
    exported = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert exported["version"] == 1


def test_a_ready_prompt_is_inserted_and_saved(site: Site, tabs: OpenTab) -> None:
    page = tabs(f"{site.url}admin/agents/assistant/add/")
    rows = page.locator("[data-prompts] textarea")
    expect(rows).to_have_count(1)
    page.get_by_label("Insert").select_option(label="Use the tool, do not guess (Chinese)")
    assert "不得猜测" in rows.nth(0).input_value()
    page.get_by_label("Insert").select_option(label="Use the tool, do not guess (English)")
    expect(rows).to_have_count(3)
    assert rows.nth(1).input_value().startswith("Use the tools for facts")
    assert rows.nth(2).input_value() == ""


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_neither_page_is_wider_than_the_window(site: Site, tabs: OpenTab, width: int) -> None:
    page = tabs(f"{site.url}admin/bundle/", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    preview(page, BUNDLE)
    expect(page.locator(".bd-item")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
