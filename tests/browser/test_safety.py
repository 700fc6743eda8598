"""Nothing that a model or a tool says can run, load or leave the page."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.chatting import last_answer, say, wait_for_end
from tests.browser.conftest import OpenTab, Site

EVIL = """<img src=x onerror=alert(1)>
<script>alert(1)</script><style>*{display:none}</style>
![x](https://example.test/pixel.png) [y](javascript:alert(1)) <https://example.test>
"><iframe srcdoc="<script>alert(1)</script>"></iframe><a href="data:text/html,x">z</a>
"""
FENCED = f"\n```\n\n{EVIL}\n</code></pre><svg onload=alert(1)>\n```\n"


@pytest.mark.parametrize("text", [EVIL, FENCED], ids=["plain", "out of its fence"])
def test_html_and_markdown_in_a_conversation_do_nothing(site: Site, page: Page, text: str) -> None:
    dialogs: list[str] = []
    urls: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: urls.append(request.url))
    say(page, f"call weather__get with {json.dumps({'city': text}, ensure_ascii=False)}")
    wait_for_end(page)
    for _ in range(2):
        page.locator(".call-line").click()
        expect(page.locator('.call [data-panel="result"]')).to_be_visible()
        for tab in ("Arguments", "Raw", "Policy"):
            page.get_by_role("tab", name=tab).click()
        expect(last_answer(page)).to_be_visible()
        bad = "#log img, #log script, #log style, #log iframe, #log svg[onload], #log [onerror]"
        expect(page.locator(bad)).to_have_count(0)
        links = page.locator("#log a[href]").evaluate_all("all => all.map(a => a.protocol)")
        assert set(links) <= {"http:", "https:"}
        page.reload()
    assert dialogs == []
    assert [url for url in urls if not url.startswith((site.url, "ws://127.0.0.1:"))] == []
    assert [url for url in urls if url.endswith(("/x", "pixel.png"))] == []


def test_markdown_of_an_answer_is_rendered_and_its_pictures_are_links(
    site: Site, page: Page
) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    text = "\n```\n\n**bold** ![a picture](https://example.test/pixel.png)\n\n```"
    say(page, f"call weather__get with {json.dumps({'city': text})}")
    wait_for_end(page)
    answer = last_answer(page)
    expect(answer.locator("strong")).to_have_text("bold")
    expect(answer.get_by_role("link", name="a picture")).to_have_attribute("target", "_blank")
    expect(answer.locator("img")).to_have_count(0)
    assert [url for url in urls if "example.test" in url] == []


def test_the_policy_of_the_page_allows_nothing_inline_and_nothing_foreign(
    site: Site, page: Page
) -> None:
    page.reload()
    policy = page.request.get(page.url).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_scripts_and_styles_of_the_page_stay_small(site: Site, page: Page) -> None:
    say(page, "Hello")
    wait_for_end(page)
    sizes: dict[str, int] = {}

    def note(request: Request) -> None:
        if request.resource_type in ("script", "stylesheet"):
            response = request.response()
            assert response is not None
            sizes[request.url] = len(response.body())

    page.on("requestfinished", note)
    page.reload()
    expect(page.locator("#say")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert len(sizes) > 10
    assert sum(sizes.values()) < 200_000


SEND = """([path, text]) => new Promise((resolve) => {
    const socket = new WebSocket(new URL(path, location.href.replace("http", "ws")));
    socket.onopen = () => socket.send(text);
    socket.onmessage = (event) => resolve(JSON.parse(event.data));
    socket.onclose = (event) => resolve(event.code);
})"""


def conversation_socket(page: Page) -> str:
    return f"/ws{page.evaluate('location.pathname')}"


def test_half_a_character_harms_nobody(page: Page, tabs: OpenTab, site: Site) -> None:
    say(page, "What is the weather in Atlantis?")
    wait_for_end(page)
    half = json.dumps({"type": "send", "text": "\ud83d half", "token": "t"})
    page.evaluate(SEND, [conversation_socket(page), half])
    wait_for_end(page, runs=2)
    page.reload()
    expect(page.locator(".msg.user .bub").last).to_have_text("? half")
    other = tabs(f"{site.url}c/new/")
    say(other, "And another one")
    wait_for_end(other)


@pytest.mark.parametrize(
    "sent", ["[" * 100_000, '{"type": "unqueue", "run": "\\ud800"}', "null", "7", '{"type": []}']
)
def test_nonsense_on_a_socket_is_answered(page: Page, sent: str) -> None:
    say(page, "Hello")
    wait_for_end(page)
    answer = page.evaluate(SEND, [conversation_socket(page), sent])
    assert answer["type"] == "error"


def test_a_socket_that_nobody_knows_is_closed(page: Page) -> None:
    assert page.evaluate(SEND, ["/ws/nope/", "x"]) == 4404


def test_a_page_of_another_port_gets_no_socket(page: Page, site: Site) -> None:
    answer = page.request.get(
        f"{site.url}ws/c/x/",
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Origin": "http://127.0.0.1:1",
        },
    )
    assert answer.status == 403
