"""The pages of the traces: who may see them, what narrows the list, where an address leads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from agents.loop import events
from agents.loop.messages import JsonObject, ToolCall
from tests.traces.events import Teller, tool_call
from tests.traces.stored import (
    store_events,
    store_run,
    tell_failed_call,
    tell_fallback,
    tell_nothing,
    tell_one_call,
)
from traces.models import Blob, Span, Trace
from traces.queries import PAGE_SIZE

pytestmark = pytest.mark.django_db

EVIL = '"><img src=x onerror=alert(1)><script>alert(1)</script>'

Ask = Callable[[Trace], str]


def of_trace(name: str) -> Ask:
    return lambda trace: reverse(name, args=[trace.pk])


def of_span(name: str) -> Ask:
    return lambda trace: reverse(name, args=[trace.pk, span_of(trace, "tool_call").pk])


PIECES: dict[str, Ask] = {
    "trace": of_trace("trace"),
    "trace_panels": of_trace("trace_panels"),
    "trace_span": of_span("trace_span"),
    "trace_branch": of_span("trace_branch"),
    "trace_of_run": lambda trace: reverse("trace_of_run", args=[trace.run]),
}
"""Every route that shows a part of one trace."""

LISTS = {
    "traces": lambda trace: reverse("traces"),
    "trace_rows": lambda trace: reverse("trace_rows") + f"?ids={trace.pk}",
}
"""The routes that show many."""


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("mira")


@pytest.fixture
def trace(owner: User) -> Trace:
    return store_run(user=owner.pk, message="A question about coats")


def browser(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def span_of(trace: Trace, kind: str) -> Span:
    found = trace.spans.filter(kind=kind).first()
    assert found is not None
    return found


def shown(client: Client, query: str = "") -> list[str]:
    """The traces of the list in order."""
    html = client.get(reverse("traces") + query).content.decode()
    return re.findall(r'<tr id="trace-trace-(\w+)"', html)


def open_page(client: Client, trace: Trace, query: str = "") -> str:
    response = client.get(reverse("trace", args=[trace.pk]) + query)
    assert response.status_code == 200
    return response.content.decode()


def chosen(html: str) -> str:
    """The span whose row is selected; its details stand on the right."""
    found = re.search(r'id="row-(\w+)"[^>]*aria-selected="true"', html)
    assert found is not None
    assert f'id="detail" aria-label="Selected span" data-span="{found[1]}"' in html
    return found[1]


@pytest.mark.parametrize("name", PIECES)
def test_a_trace_is_read_by_its_owner_and_the_operator_and_nobody_else(
    name: str, trace: Trace, owner: User
) -> None:
    path = PIECES[name](trace)
    operator = User.objects.create_superuser("operator")
    expected = 302 if name == "trace_of_run" else 200
    assert browser(owner).get(path).status_code == expected
    assert browser(operator).get(path).status_code == expected
    refused = browser(User.objects.create_user("other")).get(path)
    assert refused.status_code == 404
    assert "coats" not in refused.content.decode()
    unknown = browser(None).get(path)
    assert unknown.status_code == 302
    assert unknown.headers["Location"].startswith("/login/?next=")


@pytest.mark.parametrize("name", LISTS)
def test_the_list_holds_a_persons_own_runs_and_all_for_the_operator(
    name: str, trace: Trace, owner: User
) -> None:
    path = LISTS[name](trace)
    operator = User.objects.create_superuser("operator")
    assert "about coats" in browser(owner).get(path).content.decode()
    theirs = browser(operator).get(path).content.decode()
    assert "about coats" in theirs
    assert "mira" in theirs
    assert (
        "about coats" not in browser(User.objects.create_user("other")).get(path).content.decode()
    )
    assert browser(None).get(path).status_code == 302


def test_a_setting_decides_who_reads_what(trace: Trace, owner: User, settings: Any) -> None:
    settings.TOOLLOOP_TRACE_ACCESS = "tests.traces.test_pages.nothing_for_anybody"
    assert shown(browser(owner)) == []
    assert browser(owner).get(reverse("trace", args=[trace.pk])).status_code == 404


def nothing_for_anybody(user: User, traces: QuerySet[Trace]) -> QuerySet[Trace]:
    return traces.none()


def test_a_trace_that_is_not_there_says_so_with_a_way_back(owner: User) -> None:
    for path in ("/traces/nothing/", "/traces/run/nothing/", "/traces/run/nothing/?call=x"):
        response = browser(owner).get(path)
        assert response.status_code == 404
        html = response.content.decode()
        assert "No such trace" in html
        assert f'href="{reverse("traces")}"' in html


def test_the_empty_list_says_what_to_do(owner: User, trace: Trace) -> None:
    nobody = browser(User.objects.create_user("new"))
    html = nobody.get(reverse("traces")).content.decode()
    assert "No traces yet" in html
    assert reverse("new_conversation") in html
    filtered = browser(owner).get(reverse("traces") + "?status=failed").content.decode()
    assert "No run matches." in filtered


def test_filters_narrow_the_list_and_stand_in_the_address(owner: User) -> None:
    store_run("plain", user=owner.pk)
    store_run("wrong", user=owner.pk, begins_at=1, tell=tell_failed_call)
    store_run(
        "fell", user=owner.pk, begins_at=2, tell=tell_fallback, stop_reason="max_turns", level=2
    )
    store_run("cut", user=owner.pk, begins_at=3, tell=tell_nothing, status="failed", level=3,
              stop_reason="provider_error", message="Trains to Bergen")  # fmt: skip
    store_run("open", user=owner.pk, begins_at=4, tell=tell_nothing, is_ended=False)
    client = browser(owner)
    assert shown(client) == ["open", "cut", "fell", "wrong", "plain"]
    assert shown(client, "?view=fell_back") == ["fell"]
    assert shown(client, "?view=errors") == ["wrong"]
    assert shown(client, "?view=slow") == []
    assert shown(client, "?status=running") == ["open"]
    assert shown(client, "?status=completed") == ["fell", "wrong", "plain"]
    assert shown(client, "?stop=max_turns") == ["fell"]
    assert shown(client, "?stop=answered&view=errors") == ["wrong"]
    assert shown(client, "?assistant=nobody") == []
    assert shown(client, "?assistant=helper&status=failed") == ["cut"]
    assert shown(client, "?since=day") == []
    assert shown(client, "?status=nonsense&since=x&view=y") == shown(client)


def test_runs_that_take_long_are_slow_ones(owner: User) -> None:
    def wait(teller: Teller) -> None:
        teller.told += 12_000

    store_run("long", user=owner.pk, tell=wait)
    store_run("short", user=owner.pk, tell=tell_nothing)
    assert shown(browser(owner), "?view=slow") == ["long"]


def test_the_counts_of_stop_reasons_do_not_depend_on_the_chosen_one(owner: User) -> None:
    for number in range(3):
        store_run(f"a{number}", user=owner.pk, begins_at=number, tell=tell_nothing)
    store_run("b", user=owner.pk, tell=tell_nothing, stop_reason="max_turns", level=2)
    html = browser(owner).get(reverse("traces") + "?stop=max_turns").content.decode()
    facets = re.findall(r'class="fac"[^>]*>.*?</i>(\S+) <b class="num">(\d+)</b>', html)
    assert facets == [("answered", "3"), ("max_turns", "1")]


def test_pages_follow_one_another_by_key_though_newer_runs_come(owner: User) -> None:
    names = [f"n{number:02}" for number in range(2 * PAGE_SIZE + 3)]
    for number, name in enumerate(names):
        store_run(name, user=owner.pk, begins_at=number // 2, tell=tell_nothing)
    client = browser(owner)
    expected = [
        trace.pk.removeprefix("trace-") for trace in Trace.objects.order_by("-start_ns", "-pk")
    ]
    first = shown(client)
    assert first == expected[:PAGE_SIZE]
    second_query = link(client, "", "Older")
    store_run("late", user=owner.pk, begins_at=1000, tell=tell_nothing)
    assert shown(client, second_query) == expected[PAGE_SIZE : 2 * PAGE_SIZE]
    third_query = link(client, second_query, "Older")
    assert shown(client, third_query) == expected[2 * PAGE_SIZE :]
    assert link(client, third_query, "Older") == ""
    assert shown(client, link(client, third_query, "Newer")) == expected[PAGE_SIZE : 2 * PAGE_SIZE]
    assert shown(client, link(client, second_query, "Newer")) == first
    assert "26 newer runs wait above" in client.get(f"/traces/{second_query}").content.decode()
    assert shown(client, "?after=nonsense") == ["late", *expected[: PAGE_SIZE - 1]]


def link(client: Client, query: str, word: str) -> str:
    """Where a button at the foot of the list leads; nothing where there is none."""
    html = client.get(f"/traces/{query}").content.decode()
    found = re.search(rf'<a class="btn" href="(\?[^"]*)">(?:<svg.*?</svg>)?{word}', html)
    return found[1].replace("&amp;", "&") if found else ""


def test_rows_are_told_as_they_are_now_and_how_many_came(owner: User) -> None:
    trace = store_run("open", user=owner.pk, tell=tell_one_call, is_ended=False)
    client = browser(owner)
    store_run("later", user=owner.pk, begins_at=5, tell=tell_nothing)
    path = f"/traces/rows/?ids={trace.pk},unknown&newest={trace.start_ns}-{trace.pk}&axis=10"
    answer = json.loads(client.get(path).content)
    assert [row["id"] for row in answer["rows"]] == ["trace-trace-open"]
    assert 'class="live"' in answer["rows"][0]["html"]
    assert "turn 1" in answer["rows"][0]["html"]
    assert answer["newer"] == 1
    assert answer["text"] == "Rows keep their place; 1 newer run waits above."


def test_the_list_shows_numbers_without_reading_spans(owner: User, trace: Trace) -> None:
    store_run("wrong", user=owner.pk, begins_at=1, tell=tell_failed_call)
    Span.objects.all().delete()
    html = browser(owner).get(reverse("traces")).content.decode()
    assert html.count('<rect class="b kc"') >= 2
    assert '<span class="bad">1</span>' in html


def test_tokens_that_no_provider_told_are_not_said_to_be_none(owner: User, trace: Trace) -> None:
    def tokens() -> str:
        html = browser(owner).get(reverse("traces")).content.decode()
        [cell] = re.findall(r'<td class="r num c-k">(.*?)</td>', html)
        return re.sub("<.*?>", "", cell).strip()

    Trace.objects.update(input_tokens=1500, output_tokens=0)
    assert tokens() == "1,500 0"
    Trace.objects.update(input_tokens=0)
    assert tokens() == "–"
    Trace.objects.update(summary={"segments": []})
    assert tokens() == "0 0"


def test_a_search_for_punctuation_says_that_there_is_nothing_to_look_for(
    owner: User, trace: Trace
) -> None:
    html = browser(owner).get(reverse("traces"), {"q": "<*"}).content.decode()
    assert "There is nothing to look for in “&lt;*”." in html
    html = browser(owner).get(reverse("traces"), {"q": "elsewhere"}).content.decode()
    assert "No run matches." in html


def test_an_address_selects_a_span_a_turn_and_a_tab(owner: User, trace: Trace) -> None:
    client = browser(owner)
    call = span_of(trace, "tool_call")
    html = open_page(client, trace, f"?span={call.pk}&tab=summary")
    assert chosen(html) == call.pk
    assert re.search(r'id="tab-summary"[^>]*aria-selected="true"', html)
    turn = trace.spans.get(kind="turn", turn="1")
    assert chosen(open_page(client, trace, "?turn=1")) == turn.pk
    last_answer = trace.spans.get(kind="model", turn="1")
    assert chosen(open_page(client, trace)) == last_answer.pk
    assert chosen(open_page(client, trace, "?span=unknown&tab=nonsense")) == last_answer.pk
    ledger = open_page(client, trace, "?view=ledger")
    assert re.search(r'class="sheet treebox"[^>]*hidden', ledger)


def test_a_run_and_a_call_lead_into_their_trace(owner: User, trace: Trace) -> None:
    client = browser(owner)
    call = span_of(trace, "tool_call")
    response = client.get("/traces/run/r1/?call=r1%3A0%3A1%3A0")
    assert response.headers["Location"] == f"/traces/{trace.pk}/?turn=0&span={call.pk}"
    assert client.get("/traces/run/r1/").headers["Location"] == f"/traces/{trace.pk}/"
    unknown = client.get("/traces/run/r1/?call=r1%3A9%3A9%3A9")
    assert unknown.headers["Location"] == f"/traces/{trace.pk}/"


def test_a_run_that_goes_on_can_be_opened_from_its_call(owner: User) -> None:
    call = tool_call("r1:0:1:0")

    def tell(teller: Teller) -> None:
        teller.tell(events.TurnStarted, turn=0)
        teller.start_call(call)

    trace = store_run(user=owner.pk, tell=tell, is_ended=False)
    response = browser(owner).get("/traces/run/r1/?call=r1%3A0%3A1%3A0", follow=True)
    html = response.content.decode()
    assert " data-running" in html
    assert chosen(html) == span_of(trace, "tool_call").pk


def test_the_tree_tells_levels_and_places_and_its_sentences(owner: User, trace: Trace) -> None:
    html = open_page(browser(owner), trace)
    rows = re.findall(
        r'role="treeitem" aria-level="(\d)" aria-setsize="(\d)" aria-posinset="(\d)"', html
    )
    assert rows == [
        ("1", "1", "1"), ("2", "2", "1"), ("3", "2", "1"), ("3", "2", "2"), ("2", "2", "2"),
        ("3", "1", "1"),
    ]  # fmt: skip
    for described in re.findall(r'aria-describedby="(why-\w+)"', html):
        assert f'id="{described}"' in html
    assert html.count('tabindex="0" data-said="') == 1, "one row can be tabbed to"
    assert "continued: 1 tool call answered" in html
    assert "Answered by the model in turn 1" in html


def test_details_are_had_alone_for_every_tab(owner: User, trace: Trace) -> None:
    client = browser(owner)
    model = trace.spans.get(kind="model", turn="1")
    for tab in ("summary", "messages"):
        response = client.get(reverse("trace_span", args=[trace.pk, model.pk]) + f"?tab={tab}")
        assert response.content.decode().startswith('<section class="sheet detail"')
        assert f'data-open-part="{tab}"' in response.content.decode()
    missing = client.get(reverse("trace_span", args=[trace.pk, "unknown"]))
    assert missing.status_code == 404


def test_the_raw_tab_puts_the_request_together_and_shows_the_chunks(owner: User) -> None:
    exchange: JsonObject = {
        "body": {"model": "m1", "stream": True},
        "status": 200,
        "chunks": [[12.5, '{"delta": "Do"}'], [1340.2, '{"delta": "ne"}']],
        "left_out": 2,
    }

    def tell(teller: Teller) -> None:
        teller.ask({"role": "user", "content": "What <b>now</b>?"})
        teller.answer("Done")

    def tell_with_exchange(teller: Teller) -> None:
        take = teller.take

        def write_down(event: events.Event) -> None:
            is_answer = isinstance(event, events.ModelAnswered)
            take(replace(event, exchange=exchange) if is_answer else event)

        teller.take = write_down
        tell(teller)

    def raw(trace: Trace) -> str:
        path = reverse("trace_span", args=[trace.pk, span_of(trace, "model").pk])
        return browser(owner).get(path + "?tab=raw").content.decode()

    assert 'data-open-part="raw"' not in raw(store_run(user=owner.pk, tell=tell))
    html = raw(store_run("r2", user=owner.pk, tell=tell_with_exchange))
    assert 'data-open-part="raw"' in html
    assert "HTTP 200" in html
    assert "What &lt;b&gt;now&lt;/b&gt;?" in html
    assert '<span class="num muted">12.5 ms</span>' in html
    assert '<span class="num muted">1,340.2 ms</span>' in html
    assert "4 chunks" in html
    assert "2 of them are not shown" in html


def test_what_models_and_tools_say_is_only_text(owner: User) -> None:
    call = ToolCall(
        id=EVIL, name=EVIL, arguments=json.dumps({"city": EVIL, EVIL: "x"}), key="r1:0:1:0"
    )

    def tell(teller: Teller) -> None:
        teller.tell(events.TurnStarted, turn=0)
        teller.ask({"role": "user", "content": EVIL})
        teller.answer(EVIL, call)
        teller.start_call(call, server=EVIL, tool=EVIL, arguments={"city": EVIL, EVIL: "x"})
        teller.finish_call(call, server=EVIL, tool=EVIL, text=EVIL, full_text=EVIL)
        teller.tell(events.TurnFinished, turn=0, decision="answered")

    trace = store_run(user=owner.pk, message=EVIL, tell=tell, answer=EVIL)
    client = browser(owner)
    pages = [client.get(reverse("traces")).content.decode(), open_page(client, trace)]
    for span in trace.spans.all():
        for tab in ("summary", "messages", "call", "raw", "policy"):
            path = reverse("trace_span", args=[trace.pk, span.pk]) + f"?tab={tab}"
            pages.append(client.get(path).content.decode())
    pages.append(client.get(reverse("trace_panels", args=[trace.pk])).content.decode())
    assert sum("&lt;img src=x" in html for html in pages) > 5
    for html in pages:
        assert "<img" not in html
        assert "<script>" not in html


def test_payloads_that_are_gone_are_said_to_be_gone(owner: User, trace: Trace) -> None:
    Blob.objects.all().delete()
    html = open_page(browser(owner), trace)
    assert "no longer stored" in html


def test_a_lost_run_has_its_numbers_too(owner: User) -> None:
    trace = store_run(user=owner.pk, tell=tell_failed_call, is_ended=False)
    told: list[events.Event] = []
    teller = Teller(told.append)
    teller.told = 5000
    teller.finish(status="interrupted", stop_reason="worker_lost", level=3)
    store_events(told)
    trace.refresh_from_db()
    assert (trace.status, trace.errors, trace.tool_calls) == ("interrupted", 1, 1)
    assert trace.summary is not None
    assert shown(browser(owner), "?view=errors") == ["r1"]
