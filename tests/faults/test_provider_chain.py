"""A chain of models over several providers: who is asked, who rests, who is barred, who is told."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from agents.loop.errors import ModelOverloaded
from agents.models import Assistant, Provider
from agents.runs.provider_health import REST_MINUTES, note_failure
from tests.fake_provider import FakeProvider, Json, Step, broken, call, calls, error, hang, text
from tests.running import Ran, Runner
from tests.servers import stdio_entry
from traces.models import ModelCall, Span

BROKE = error(429, {"error": {"message": "no credit", "code": "insufficient_quota"}})
KEY = error(401, {"error": {"message": "wrong key"}})
DOWN = error(503)
WRONG = error(400, {"error": {"message": "bad option"}})
LONG = error(400, {"error": {"message": "long", "code": "context_length_exceeded"}})


def configure(runner: Runner, *providers: FakeProvider, **assistant: Any) -> None:
    """The assistant asks ``main``, then ``p1``, ``p2`` ..."""
    names = ["main", *(f"p{n}" for n in range(1, len(providers)))]
    entries = [
        {"id": name, "base_url": one.base_url, "default_model": f"d-{name}", "max_retries": 0}
        for name, one in zip(names, providers, strict=True)
    ]
    further = [{"provider": name} for name in names[1:]]
    given = {"further_models": further, **assistant}
    runner.configure(providers[0], assistant=given, providers=entries)


def row(name: str = "main") -> Provider:
    return Provider.objects.get(provider_id=name)


def rest_is_over(name: str = "main") -> None:
    Provider.objects.filter(provider_id=name).update(
        rests_until=timezone.now() - timedelta(seconds=1)
    )


def test_the_next_one_answers_and_the_page_the_trace_and_the_chat_say_so(runner: Runner) -> None:
    with (
        FakeProvider([DOWN]) as down,
        FakeProvider([DOWN]) as too,
        FakeProvider([text("hi")]) as up,
    ):
        configure(runner, down, too, up)
        ran = runner.run("hello")
        again = runner.run("hello again")
    assert ran.finished["answer"] == again.finished["answer"] == "hi"
    assert [len(p.requests) for p in (down, too, up)] == [1, 1, 2]
    last = Span.objects.filter(kind="model").order_by("start_ns").last()
    assert last is not None
    over = last.attributes["toolloop.passed_over"]
    assert [(one["provider"], one["reason"]) for one in over] == [
        ("main", "resting"),
        ("p1", "resting"),
    ]
    assert over[0]["failures"] == 1 and "503" in over[0]["error"]
    client = _client(ran)
    page, later = (client.get(f"/c/{one.conversation}/").content.decode() for one in (ran, again))
    assert "answered by p2, fake" in page and "answered by p2, fake" in later
    assert "main, d-main did not answer" in page and "main, d-main rested after failures" in later
    shown = client.get(f"/traces/{last.trace_id}/").content.decode()
    assert "p2 was asked in place of main (rests), p1 (rests)" in shown
    summary = client.get(f"/traces/{last.trace_id}/?span={last.id}&tab=summary").content.decode()
    assert "d-main at main was passed over, it rested for another" in summary


def _client(ran: Ran) -> Client:
    client = Client()
    client.force_login(ran.stored()[0].conversation.user)
    return client


def test_a_provider_rests_longer_each_time_and_not_at_all_after_an_answer(runner: Runner) -> None:
    script: list[Step] = [DOWN, DOWN, DOWN, DOWN, text("back"), DOWN]
    with FakeProvider(script) as first, FakeProvider([text("other")]) as second:
        configure(runner, first, second)
        minutes = []
        for _ in range(4):
            runner.run("x")
            rests = row().rests_until
            assert rests is not None
            minutes.append((rests - timezone.now()).total_seconds() / 60)
            rest_is_over()
        back = runner.run("x")
        assert (row().failures, row().rests_until) == (0, None)
        runner.run("x")
    expected = [*REST_MINUTES, REST_MINUTES[-1]]
    assert all(n - 0.5 < got <= n for got, n in zip(minutes, expected, strict=True))
    assert back.finished["answer"] == "back" and row().failures == 1


@pytest.mark.parametrize(("step", "kind"), [(KEY, "key"), (BROKE, "billing")])
def test_an_account_that_is_the_fault_bars_its_provider_until_it_is_saved(
    runner: Runner, step: Step, kind: str
) -> None:
    with FakeProvider([step, text("mended")]) as first, FakeProvider([text("other")]) as second:
        configure(runner, first, second, fallback_model="m2")
        ran = runner.run("x")
        assert (ran.finished["answer"], row().barred) == ("other", kind)
        assert len(first.requests) == 1, "another model of that account is not asked"
        assert runner.run("x").finished["answer"] == "other"
        Provider.objects.filter(provider_id="main").update(barred="")
        assert runner.run("x").finished["answer"] == "mended"


@pytest.mark.parametrize("step", [WRONG, LONG, error(422), error(413)])
def test_a_request_that_is_wrong_goes_to_nobody_else_and_says_nothing_about_the_provider(
    runner: Runner, step: Step
) -> None:
    with FakeProvider([step]) as first, FakeProvider([text("other")]) as second:
        configure(runner, first, second)
        ran = runner.run("x")
    assert second.requests == [] and ran.of("provider_retry") == []
    assert ran.finished["status"] == "failed"
    assert (row().failures, row().barred, row().rests_until) == (0, "", None)


@pytest.mark.parametrize(
    "step",
    [error(500), DOWN, error(529), error(429), error(408), broken(), hang()],
    ids=["500", "503", "529", "429", "408", "cut off", "silent"],
)
def test_what_a_provider_does_not_answer_lets_it_rest_a_minute(runner: Runner, step: Step) -> None:
    with FakeProvider([step]) as first, FakeProvider([text("other")]) as second:
        configure(runner, first, second)
        Provider.objects.filter(provider_id="main").update(timeout_ms=300)
        ran = runner.run("x")
    rests = row().rests_until
    assert ran.finished["answer"] == "other" and row().failures == 1 and rests is not None
    assert 50 < (rests - timezone.now()).total_seconds() <= 60


def test_a_model_that_is_not_known_is_no_fault_of_its_provider(runner: Runner) -> None:
    with FakeProvider([error(404)]) as first, FakeProvider([text("other")]) as second:
        configure(runner, first, second)
        ran = runner.run("x")
    assert ran.finished["answer"] == "other"
    assert (row().failures, row().barred) == (0, "")


def test_a_provider_that_cannot_be_reached_rests(runner: Runner) -> None:
    with FakeProvider([text("other")]) as second:
        configure(runner, second, second)
        Provider.objects.filter(provider_id="main").update(base_url="http://127.0.0.1:1/v1")
        ran = runner.run("x")
    assert ran.finished["answer"] == "other" and row().failures == 1


def test_a_key_that_is_not_set_is_told_where_another_answers(runner: Runner) -> None:
    with FakeProvider([text("other")]) as second:
        configure(runner, second, second)
        Provider.objects.filter(provider_id="main").update(api_key_env="NO_SUCH_KEY_HERE")
        ran = runner.run("x")
    [span] = Span.objects.filter(kind="model")
    [over] = span.attributes["toolloop.passed_over"]
    assert (over["provider"], over["reason"]) == ("main", "unusable")
    assert "NO_SUCH_KEY_HERE" in over["error"]
    page = _client(ran).get(f"/c/{ran.conversation}/").content.decode()
    assert "main, d-main could not be asked" in page


def test_a_run_that_goes_on_asks_who_answers_now_and_not_who_did_when_it_began(
    runner: Runner,
) -> None:
    def fails_and_p1_rests(body: Json, n: int) -> Step:
        until = timezone.now() + timedelta(minutes=5)
        Provider.objects.filter(provider_id="p1").update(failures=2, rests_until=until)
        return DOWN

    with (
        FakeProvider(fails_and_p1_rests) as first,
        FakeProvider([text("p1")]) as second,
        FakeProvider([text("p2")]) as third,
    ):
        configure(runner, first, second, third)
        ran = runner.run("x")
    assert ran.finished["answer"] == "p2" and second.requests == []
    over = Span.objects.filter(kind="model").order_by("start_ns").last().attributes  # type: ignore[union-attr]
    reasons = [(one["provider"], one["reason"]) for one in over["toolloop.passed_over"]]
    assert reasons == [("main", "failed"), ("p1", "resting")]


def test_runs_that_fail_at_the_same_time_count_once(runner: Runner) -> None:
    with FakeProvider([DOWN]) as first:
        configure(runner, first)
    failure = ModelOverloaded("busy")
    for _ in range(3):
        note_failure("main", failure)
    assert row().failures == 1
    rest_is_over()
    note_failure("main", failure)
    assert row().failures == 2


def test_the_answer_at_level_2_is_not_asked_of_who_has_just_failed(runner: Runner) -> None:
    first_turn = calls(call("c1", "echo__ping"))
    with FakeProvider([first_turn, DOWN]) as first, FakeProvider([WRONG, text("told")]) as second:
        configure(runner, first, second)
        bundle = runner.bundle
        bundle["servers"] = [stdio_entry("echo")]
        bundle["assistants"][0]["mcp"] = {"servers": ["echo"]}
        runner.import_bundle(bundle)
        ran = runner.run("x")
    assert (ran.finished["answer"], ran.finished["level"]) == ("told", 2)
    assert [len(p.requests) for p in (first, second)] == [2, 2]


def test_a_provider_is_asked_again_when_it_is_imported_or_answers_the_doctor(
    runner: Runner,
) -> None:
    with FakeProvider([text("hi")]) as one:
        configure(runner, one)
        for look in (lambda: runner.import_bundle(runner.bundle), lambda: doctor()):
            Provider.objects.filter(provider_id="main").update(barred="key", last_failure="wrong")
            look()
            assert row().barred == ""


def test_the_doctor_names_who_is_barred_and_what_is_gone(runner: Runner) -> None:
    with FakeProvider([KEY]) as one:
        configure(runner, one)
        runner.run("x")
        Assistant.objects.filter(assistant_id="helper").update(
            further_models=[{"provider": "sold", "model": ""}]
        )
        said = doctor()
    assert "its key was refused; asked last until it is saved or tested again" in said
    assert "name the provider sold, which is gone" in said


def doctor() -> str:
    out = StringIO()
    with suppress(SystemExit, CommandError):
        call_command("doctor", stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.parametrize("url", ["again", "test"])
def test_an_operator_has_a_provider_asked_again(runner: Runner, url: str) -> None:
    with FakeProvider([text("hi")]) as one:
        configure(runner, one)
        later = timezone.now() + timedelta(minutes=25)
        Provider.objects.update(failures=3, rests_until=later, barred="billing", last_failure="no")
        client = Client()
        client.force_login(get_user_model().objects.create_superuser("root"))
        page = client.get(f"/admin/agents/provider/{row().pk}/change/").content.decode()
        assert "its account cannot pay" in page and "Ask it again now" in page
        client.post(f"/admin/agents/provider/{row().pk}/{url}/")
    assert (row().failures, row().rests_until, row().barred) == (0, None, "")


def test_an_old_bundle_keeps_its_fallback_as_the_first_of_the_chain(runner: Runner) -> None:
    with (
        FakeProvider([DOWN]) as first,
        FakeProvider([DOWN]) as second,
        FakeProvider([text("third")]) as third,
    ):
        further = [{"provider": "p2"}, {"provider": "p1", "model": "m2"}]
        configure(
            runner, first, second, third,
            fallback_provider="p1", fallback_model="m2", further_models=further,
        )  # fmt: skip
        ran = runner.run("x")
    assert ran.finished["answer"] == "third"
    assert [event["model"] for event in ran.of("provider_retry")] == ["m2", "d-p2"]


def test_where_all_rest_the_one_that_rests_shortest_is_asked(runner: Runner) -> None:
    with FakeProvider([text("one")]) as first, FakeProvider([text("two")]) as second:
        configure(runner, first, second)
        soon, late = (timezone.now() + timedelta(minutes=n) for n in (1, 20))
        Provider.objects.filter(provider_id="main").update(failures=3, rests_until=late)
        Provider.objects.filter(provider_id="p1").update(failures=1, rests_until=soon)
        assert runner.run("x").finished["answer"] == "two"
        Provider.objects.filter(provider_id="main").update(rests_until=late)
        Provider.objects.filter(provider_id="p1").update(barred="key")
        assert runner.run("x").finished["answer"] == "one"


def test_a_chain_is_kept_in_the_middle_of_a_run(runner: Runner) -> None:
    first_turn = calls(call("c1", "echo__ping"))
    with (
        FakeProvider([first_turn, DOWN]) as first,
        FakeProvider([text("done")]) as second,
    ):
        configure(runner, first, second)
        bundle = runner.bundle
        bundle["servers"] = [stdio_entry("echo")]
        bundle["assistants"][0]["mcp"] = {"servers": ["echo"]}
        runner.import_bundle(bundle)
        ran = runner.run("x")
    assert ran.finished["answer"] == "done" and ran.outcomes == ["ok"]


def test_the_page_of_requests_tells_who_failed_and_how_providers_stand(runner: Runner) -> None:
    with FakeProvider([DOWN]) as down, FakeProvider([text("hi")]) as up:
        configure(runner, down, up)
        ran = runner.run("hello")
    client = _client(ran)
    page = client.get("/traces/requests/").content.decode()
    assert "rests until" in page and "503" in page and "1 (100 %)" in page
    failed = client.get("/traces/requests/?outcome=error").content.decode()
    assert failed.count("?span=") == 1
    only = client.get("/traces/requests/?provider=p1&period=hour").content.decode()
    assert only.count("?span=") == 1 and "span=" + ModelCall.objects.get(provider="p1").id in only
    assert client.get("/traces/requests/?before=x.y&outcome=z&period=9").status_code == 200


def test_nobody_sees_the_requests_of_others(runner: Runner, django_user_model: Any) -> None:
    with FakeProvider([text("hi")]) as up:
        configure(runner, up)
        runner.run("hello")
    client = Client()
    client.force_login(django_user_model.objects.create_user("eve"))
    assert "?span=" not in client.get("/traces/requests/").content.decode()


def test_the_list_is_paged_by_its_keys(runner: Runner) -> None:
    with FakeProvider([text("hi")]) as up:
        configure(runner, up)
        ran = runner.run("hello")
    known = ModelCall.objects.get()
    ModelCall.objects.bulk_create(
        ModelCall(
            id=f"{n:016x}", trace_id=known.trace_id, at_ns=known.at_ns - n // 2, provider="main",
            model="m", status="ok", duration_ms=1,
        )
        for n in range(119)
    )  # fmt: skip
    client, address, seen = _client(ran), "/traces/requests/", []
    for _ in range(3):
        page = client.get(address).content.decode()
        seen += [part.partition('"')[0] for part in page.split("?span=")[1:]]
        older = page.rpartition("before=")[2].partition('"')[0]
        address = f"/traces/requests/?before={older}"
    assert len(seen) == len(set(seen)) == 120
