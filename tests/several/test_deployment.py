"""The deployment of docs/deploying.md, as a person and a monitor see it through nginx."""

from __future__ import annotations

import json
import re

import httpx2
import psycopg

from tests.several.person import Page, Person
from tests.several.processes import Deployment

WORDS = " ".join(f"w{n:03}" for n in range(60))
LONG = f'call notes__write with {{"name": "{WORDS}", "text": "t"}}'


def ended(page: Page) -> bool:
    status = page.last("status")
    return bool(status) and "hidden" in status.split(">")[0]


def is_answered(page: Page) -> bool:
    """Whether the whole answer to ``LONG`` was shown, as HTML."""
    return any(holds_answer(html) for html in page.pieces())


def holds_answer(html: str) -> bool:
    """Whether the answer to ``LONG`` stands in it: its last word behind what only it says."""
    return "w059" in html.rpartition("gave:")[2] and "gave:" in html


def newest_run(deployment: Deployment, conversation: str) -> tuple[str, str, str, str]:
    """Status, stop reason, owner and answer of a conversation's newest run."""
    sql = (
        "SELECT r.status, r.stop_reason, r.lease_owner, m.content #>> '{}' FROM agents_run r "
        "LEFT JOIN agents_message m ON m.id = r.answer_id WHERE r.conversation_id = %s "
        "ORDER BY r.created_at DESC LIMIT 1"
    )
    with psycopg.connect(deployment.database) as connection:
        row = connection.execute(sql, [conversation]).fetchone()
    assert row is not None
    return row[0], row[1], row[2], row[3] or ""


async def test_text_of_a_run_in_a_worker_comes_live_to_all_tabs(
    person: Person, deployment: Deployment
) -> None:
    conversation = await person.start_conversation()
    tabs = [await person.open(conversation) for _ in range(4)]
    await tabs[0].say(LONG)
    for tab in tabs:
        await tab.wait_for(lambda tab=tab: "w010" in tab.live_text(), "live text")
    assert not any(ended(tab) for tab in tabs)
    for tab in tabs:
        await tab.wait_for(lambda tab=tab: ended(tab), "the end")
    status, reason, _, answer = newest_run(deployment, conversation)
    assert (status, reason) == ("completed", "answered")
    for tab in tabs:
        assert answer.startswith(tab.live_text())
        await tab.wait_for(lambda tab=tab: is_answered(tab), "the answer")
    assert holds_answer(await person.html(conversation))


async def test_a_stop_reaches_the_worker_that_has_the_run(
    person: Person, deployment: Deployment
) -> None:
    conversation = await person.start_conversation()
    page, other = await person.open(conversation), await person.open(conversation)
    await page.say(LONG)
    await other.wait_for(lambda: "w010" in other.live_text(), "live text")
    await other.socket.send({"type": "stop"})
    for tab in (page, other):
        await tab.wait_for(lambda tab=tab: ended(tab), "the end", 10)
    assert newest_run(deployment, conversation)[:2] == ("cancelled", "cancelled")
    assert all("w010" in tab.live_text() and "w059" not in tab.live_text() for tab in (page, other))


async def test_a_person_allows_a_call_of_a_worker(person: Person, deployment: Deployment) -> None:
    conversation = await person.start_conversation()
    page, other = await person.open(conversation), await person.open(conversation)
    await page.say("Delete all my notes.")
    for tab in (page, other):
        await tab.wait_for(lambda tab=tab: tab.shows("awaiting_approval"), "the question")
    assert "awaiting_approval" in await person.html(conversation)
    card = next(html for html in reversed(other.pieces()) if "awaiting_approval" in html)
    found = re.search(r'data-key="([^"]+)"', card)
    assert found is not None
    await other.socket.send({"type": "decide", "key": found[1], "allow": True})
    for tab in (page, other):
        await tab.wait_for(lambda tab=tab: ended(tab), "the end")
    assert newest_run(deployment, conversation)[:2] == ("completed", "answered")


async def test_another_title_and_a_waiting_message_reach_the_tabs_of_other_processes(
    person: Person,
) -> None:
    conversation = await person.start_conversation()
    tabs = [await person.open(conversation) for _ in range(4)]
    await tabs[0].say(LONG)
    for tab in tabs:
        await tab.wait_for(lambda tab=tab: "w005" in tab.live_text(), "live text")
    await tabs[0].say("And then this.")
    for tab in tabs:
        await tab.wait_for(lambda tab=tab: "And then this." in tab.last("queue"), "the queue")
        await tab.wait_for(lambda tab=tab: "call notes__write" in tab.last("talk-title"), "title")


async def test_the_site_tells_monitors_how_it_is_and_strangers_nothing_else(
    deployment: Deployment,
) -> None:
    async with httpx2.AsyncClient(base_url=deployment.url) as client:
        alive, ready = await client.get("/healthz"), await client.get("/readyz")
        page = await client.get("/")
    assert (alive.status_code, alive.json()) == (200, {"status": "alive"})
    assert ready.status_code == 200
    assert ready.json() == {
        "status": "ready",
        "database": {"ok": True},
        "runs": {"ok": True, "processes": 2},
        "redis": {"ok": True, "used": True},
    }
    assert page.status_code == 302
    secrets = (deployment.database, deployment.password, "redis://")
    assert not any(secret in json.dumps(ready.json()) for secret in secrets)
