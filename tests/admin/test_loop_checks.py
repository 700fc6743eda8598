"""The button "Check the loop" on an assistant's page: the three verdicts, with what was sent."""

from __future__ import annotations

import re

from django.contrib.admin.models import LogEntry
from django.test import Client

from agents.models import Assistant, Run
from tests.commands.test_verify_loop import LOOK, obedient, tools
from tests.fake_provider import FakeProvider, Json, Step, text
from tests.running import Runner

HTMX = {"HX-Request": "true"}


def address() -> str:
    row = Assistant.objects.get(assistant_id="helper")
    return f"/admin/agents/assistant/{row.pk}/check-loop/"


def words(html: str) -> list[str]:
    return re.findall(r"</svg>(passed|failed|not asked)</span>", html)


def test_the_button_shows_three_verdicts_as_a_fragment(operator: Client, runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=tools(LOOK))
        page = operator.get(address().replace("check-loop", "change")).content.decode()
        assert f'hx-post="{address()}"' in page
        html = operator.post(address(), headers=HTMX).content.decode()
    assert words(html) == ["passed"] * 3
    assert "The loop is closed: 3 of 3 checks passed (main, m1," in html
    assert "<html" not in html
    # Asking changes nothing: the page goes on telling who changed the assistant last.
    assert LogEntry.objects.count() == Run.objects.count() == 0


def test_without_scripts_it_is_a_page_of_its_own(operator: Client, runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=tools(LOOK))
        html = operator.post(address()).content.decode()
    assert "<html" in html and words(html) == ["passed"] * 3


def test_what_failed_has_a_hint_and_the_raw_exchange_folded(
    operator: Client, runner: Runner
) -> None:
    with FakeProvider([text("<b>I cannot</b>")]) as provider:
        runner.configure(provider, servers=tools(LOOK))
        html = operator.post(address(), headers=HTMX).content.decode()
    assert words(html) == ["failed", "passed", "not asked"]
    assert "&lt;b&gt;I cannot&lt;/b&gt;" in html and "<b>I cannot" not in html
    assert "may not take tools" in html
    assert re.search(r"<details[^>]*><summary>Raw exchange</summary>", html)
    assert "&quot;name&quot;: &quot;echo__look&quot;" in html


def test_who_may_only_look_asks_nothing(reader: Client, runner: Runner) -> None:
    def never(body: Json, number: int) -> Step:
        raise AssertionError("asked")

    with FakeProvider(never) as provider:
        runner.configure(provider, servers=tools(LOOK))
        assert reader.post(address(), headers=HTMX).status_code == 403
        page = reader.get(address().replace("check-loop", "change")).content.decode()
        assert "check-loop" not in page
        assert provider.requests == []


def test_a_link_to_it_asks_nothing(operator: Client, runner: Runner) -> None:
    with FakeProvider(obedient) as provider:
        runner.configure(provider, servers=tools(LOOK))
        response = operator.get(address())
        assert (response.status_code, provider.requests) == (302, [])
