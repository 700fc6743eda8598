"""What a run cost is told with its receipt, and traces are found by cost, tool, outcome, model."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.fake_provider import FakeProvider, call, calls, chunk, chunks, text
from tests.running import Ran, Runner
from tests.servers import stdio_entry
from traces.costs import charges_of, cost_of
from traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)


def usage(**tokens: Any) -> dict[str, Any]:
    names = ("input_tokens", "cache_read.input_tokens", "output_tokens")
    given = dict(zip(names, (tokens.get(n, 0) for n in ("i", "c", "o")), strict=True))
    return {f"gen_ai.usage.{name}": value for name, value in given.items()}


def test_cached_tokens_are_a_part_of_the_input_at_their_own_price() -> None:
    price = {"toolloop.price": {"input": 2.0, "cached": 0.5, "output": 8.0}}
    attributes = {**usage(i=1_000_000, c=400_000, o=100_000), **price}
    assert cost_of(attributes) == pytest.approx(1.2 + 0.2 + 0.8)
    assert [line.kind for line in charges_of(attributes) or ()] == ["input", "cached", "output"]


def test_without_a_price_of_their_own_cached_tokens_cost_as_the_input() -> None:
    attributes = {**usage(i=1_000_000, c=400_000), "toolloop.price": {"input": 2.0}}
    assert cost_of(attributes) == pytest.approx(2.0)


def test_more_cached_tokens_than_there_are_cost_no_less_than_nothing() -> None:
    attributes = {**usage(i=10, c=50), "toolloop.price": {"input": 2.0, "cached": 0.5}}
    assert cost_of(attributes) == pytest.approx(10 * 0.5 / 1e6)


def test_no_price_is_not_nothing() -> None:
    assert cost_of(usage(i=10)) is None
    assert cost_of({**usage(i=10), "toolloop.price": {"input": 0}}) == 0.0


def counted(step: Any, given: int, made: int) -> Any:
    tokens = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    return chunks([*step.chunks[:-1], chunk(choices=[], usage=tokens)])


def two_turns(runner: Runner, **provider: Any) -> Ran:
    asked = counted(calls(call("c1", "echo__fail"), call("c2", "echo__ping")), 1_000_000, 100_000)
    with FakeProvider([asked, counted(text("done"), 500_000, 50_000)]) as fake:
        runner.configure(
            fake,
            servers=[stdio_entry("echo")],
            provider_fields={"default_model": "m1", **provider},
        )
        return runner.run("go")


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("reader"))
    return client


def test_a_run_is_charged_at_the_prices_of_its_time(runner: Runner, operator: Client) -> None:
    ran = two_turns(runner, prices={"m1": {"input": 2.0, "output": 8.0}})
    assert ran.finished["status"] == "completed"
    trace = Trace.objects.get()
    assert trace.cost == pytest.approx(3.0 + 1.2)
    page = operator.get(f"/traces/{trace.pk}/").content.decode()
    assert '<b class="num">4.20</b>' in page
    assert "fake input: 1,500,000 × 2 a million = 3.00" in page
    assert "fake output: 150,000 × 8 a million = 1.20" in page
    assert '<td class="r num c-c">4.20</td>' in operator.get("/traces/").content.decode()


def test_a_currency_stands_beside_the_amounts(runner: Runner, operator: Client) -> None:
    two_turns(runner, prices={"m1": {"input": 2.0, "output": 8.0, "currency": "EUR"}})
    page = operator.get(f"/traces/{Trace.objects.get().pk}/").content.decode()
    assert '<b class="num">4.20 EUR</b>' in page
    assert "fake input: 1,500,000 × 2 a million = 3.00 EUR" in page


def test_without_prices_no_cost_is_shown(runner: Runner, operator: Client) -> None:
    two_turns(runner)
    trace = Trace.objects.get()
    assert trace.cost is None
    assert "vd-cost" not in operator.get(f"/traces/{trace.pk}/").content.decode()
    assert "cost=" not in operator.get("/traces/").content.decode()


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("tool=echo.fail", True),
        ("tool=echo.count", False),
        ("outcome=tool_error", True),
        ("outcome=timeout", False),
        ("model=fake", True),
        ("model=other", False),
        ("tool=echo.ping&outcome=tool_error&model=fake", True),
        ("cost=1", True),
        ("cost=0.001", True),
        ("cost=nonsense", True),
        ("length=10min", False),
        ("length=nonsense", True),
        ("tool=%00&outcome='; DROP TABLE", False),
    ],
)
def test_traces_are_found_by_what_occurs_in_them(
    runner: Runner, operator: Client, query: str, is_found: bool
) -> None:
    two_turns(runner, prices={"m1": {"input": 2.0, "output": 8.0}})
    page = operator.get(f"/traces/?{query}").content.decode()
    assert (Trace.objects.get().pk in page) == is_found


def test_only_what_occurs_in_ones_own_traces_is_offered(runner: Runner, operator: Client) -> None:
    two_turns(runner)
    assert "?tool=echo.fail" in operator.get("/traces/").content.decode()
    other = Client()
    other.force_login(User.objects.create_user("other"))
    assert "echo.fail" not in other.get("/traces/").content.decode()
