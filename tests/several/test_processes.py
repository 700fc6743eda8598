"""A web process that takes no runs, workers that do, and what happens when one of them goes."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from tests.fake_provider import FakeProvider, text
from tests.several.person import Page, Person
from tests.several.processes import Installation, Web, ask
from tests.several.services import Redis, wait_for
from tests.several.test_deployment import LONG, ended, is_answered

MUCH_LONGER = f'call notes__write with {{"name": "{" ".join(["word"] * 1200)}", "text": "t"}}'
"""Its answer takes much longer than a stop without Redis needs, on a busy machine too."""

SUBMIT = """
from django.contrib.auth import get_user_model
from agents.models import Assistant
from agents.runs import lifecycle
user = get_user_model().objects.create_user("asker")
assistant = Assistant.objects.get(assistant_id="helper")
for number in range({count}):
    lifecycle.submit_message(lifecycle.start_conversation(user, assistant), f"message {{number}}")
"""


def prepare(installation: Installation, provider: FakeProvider) -> None:
    """The tables and an assistant that asks this provider."""
    bundle = {
        "version": 1,
        "providers": [{"id": "main", "base_url": provider.base_url, "default_model": "m"}],
        "assistants": [{"id": "helper", "name": "Helper", "provider": "main"}],
    }
    installation.manage("migrate", "-v", "0")
    installation.manage("import_config", "-", text=json.dumps(bundle))


@asynccontextmanager
async def visiting(web: Web) -> AsyncIterator[Page]:
    """A new conversation of the operator, open."""
    person = Person(web.url)
    try:
        await person.log_in(web.password)
        yield await person.open(await person.start_conversation())
    finally:
        await person.close()


def let_leases_run_out(installation: Installation) -> None:
    installation.rows("UPDATE agents_run SET lease_until = now() - interval '1 second' "
                      "WHERE lease_until IS NOT NULL")  # fmt: skip


@pytest.fixture(params=["with Redis", "without Redis"])
def shared(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of processes that share a Redis, or nothing but the database."""
    if request.param == "without Redis":
        return {}
    redis: Redis = request.getfixturevalue("redis")
    return {"REDIS_URL": redis.url}


async def test_a_run_in_another_process_is_shown_approved_and_stopped(
    installation: Installation, shared: dict[str, str]
) -> None:
    web = installation.web(**shared)
    installation.worker(**shared)
    async with visiting(web) as page:
        await page.say("Delete all my notes.")
        await page.wait_for(lambda: page.shows('data-state="awaiting_approval"'), "the question")
        [key] = installation.rows("SELECT call_key FROM agents_question")[0]
        await page.socket.send({"type": "decide", "key": key, "allow": False, "reason": "no"})
        await page.wait_for(lambda: page.shows('data-state="denied"') and ended(page), "the end")
        assert installation.run_row("status", "stop_reason") == ("completed", "answered")
        page.got.clear()
        await page.say(MUCH_LONGER)
        await page.wait_for(lambda: page.shows("data-stop"), "the run")
        await page.socket.send({"type": "stop"})
        await page.wait_for(lambda: ended(page), "the end")
        assert installation.run_row("status", "stop_reason") == ("cancelled", "cancelled")
    assert "Traceback" not in installation.log()


async def test_a_run_whose_worker_was_killed_goes_on_in_another_one(
    installation: Installation, shared: dict[str, str]
) -> None:
    web = installation.web(**shared)
    workers = [installation.worker(**shared) for _ in range(2)]
    async with visiting(web) as page:
        await page.say(LONG)
        await page.wait_for(lambda: page.shows('data-state="ok"'), "the first turn")
        [owner] = installation.run_row("lease_owner")
        [killed] = [worker for worker in workers if f"/{worker.pid}/" in owner]
        killed.kill()
        killed.wait(10)
        let_leases_run_out(installation)
        await page.wait_for(lambda: ended(page), "the end")
        await page.wait_for(lambda: is_answered(page), "the answer")
    row = installation.run_row("status", "takeovers", "(SELECT count(*) FROM agents_run)")
    assert row == ("completed", 1, 1)


async def test_a_worker_that_is_told_to_end_gives_its_runs_to_another_one(
    installation: Installation, redis: Redis
) -> None:
    shared = {"REDIS_URL": redis.url}
    web = installation.web(**shared)
    first = installation.worker(**shared)
    async with visiting(web) as page:
        await page.say("Delete all my notes.")
        await page.wait_for(lambda: page.shows('data-state="awaiting_approval"'), "the question")
        installation.worker(**shared)
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0
        wait_for(lambda: str(first.pid) not in installation.run_row("lease_owner")[0], "takeover")
        [key] = installation.rows("SELECT call_key FROM agents_question")[0]
        await page.socket.send({"type": "decide", "key": key, "allow": True})
        await page.wait_for(lambda: ended(page), "the end")
    assert installation.run_row("status", "takeovers") == ("completed", 0)


async def test_without_redis_for_a_while_pages_follow_the_database_and_then_redis_again(
    installation: Installation, redis: Redis
) -> None:
    shared = {"REDIS_URL": redis.url}
    web = installation.web(**shared)
    installation.worker(**shared)
    async with visiting(web) as page:
        await page.say(LONG)
        await page.wait_for(lambda: "w010" in page.live_text(), "live text")
        redis.stop()
        try:
            await page.wait_for(lambda: ended(page), "the end")
            assert installation.run_row("status", "stop_reason") == ("completed", "answered")
            await page.wait_for(lambda: is_answered(page), "the answer")
            status, ready = ask(f"{web.url}/readyz")
            assert (status, ready["redis"]["ok"], ready["database"]["ok"]) == (503, False, True)
        finally:
            redis.start()
        wait_for(lambda: ask(f"{web.url}/readyz")[0] == 200, "readiness", 15)
        page.got.clear()
        await page.say(LONG)
        await page.wait_for(lambda: page.of("delta"), "live text after the restart")
        await page.wait_for(lambda: ended(page), "the end")
    assert "Traceback" not in installation.log()


def test_two_workers_share_a_queue_and_take_no_run_twice(installation: Installation) -> None:
    count = 40
    with FakeProvider([text("done")] * count) as provider:
        prepare(installation, provider)
        workers = [installation.worker(runs=4) for _ in range(2)]
        installation.manage("shell", "-v", "0", "-c", SUBMIT.format(count=count))
        ended_runs = "SELECT count(*) FROM agents_run WHERE status = 'completed'"
        wait_for(lambda: installation.rows(ended_runs) == [(count,)], "the end of all runs", 60)
        asked = [request.messages[-1]["content"] for request in provider.requests]
    assert sorted(asked) == sorted(f"message {number}" for number in range(count))
    owners = installation.rows("SELECT lease_owner, takeovers FROM agents_run")
    assert {takeovers for _, takeovers in owners} == {0}
    pids = {int(owner.split("/")[1]) for owner, _ in owners}
    assert pids == {worker.pid for worker in workers}


def test_one_person_has_only_so_many_runs_in_all_processes_together(
    installation: Installation,
) -> None:
    count = 24
    with FakeProvider([text("done")] * count) as provider:
        prepare(installation, provider)
        for _ in range(2):
            installation.worker(runs=4, TOOLLOOP_RUNS_PER_USER="1")
        installation.manage("shell", "-v", "0", "-c", SUBMIT.format(count=count))
        ended_runs = "SELECT count(*) FROM agents_run WHERE status = 'completed'"
        wait_for(lambda: installation.rows(ended_runs) == [(count,)], "the end of all runs", 60)
    times = installation.rows("SELECT started_at, finished_at FROM agents_run ORDER BY started_at")
    assert all(end <= start for (_, end), (start, _) in pairwise(times))


def test_nobody_who_takes_runs_means_not_ready(installation: Installation) -> None:
    web = installation.web()
    assert ask(f"{web.url}/healthz") == (200, {"status": "alive"})
    status, content = ask(f"{web.url}/readyz")
    assert (status, content["status"]) == (503, "not ready")
    assert content["runs"] == {"ok": False, "processes": 0, "error": "no process takes runs"}
    worker = installation.worker()
    assert ask(f"{web.url}/readyz")[0] == 200
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert ask(f"{web.url}/readyz")[0] == 503
