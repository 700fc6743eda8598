"""The preview shows what a run's request really holds, with what is in the form."""

from __future__ import annotations

import json
import re
from html import unescape
from io import StringIO

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.test import Client

from agents.loop.tokens import estimate_tokens
from agents.models import Assistant, Server, Tool, ToolSample
from agents.runs.offer_preview import OfferPreview, preview_offer
from tests.admin.posting import changed, read_form
from tests.admin.watching import REPORTS
from tests.fake_provider import FakeProvider, text
from tests.running import Runner
from tests.servers import stdio_entry

PREVIEW = "/admin/agents/assistant/preview/"
PROMPTS = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Mind the time."},
    {"role": "system", "content": "Be short."},
]
SAMPLE = {"name": "one", "description": "It answers.", "input": {}, "output": "pong"}


@pytest.fixture
def runner_with_two(runner: Runner) -> Runner:
    """Two servers, a whitelist, a policy, samples and prompts of all kinds."""
    with FakeProvider([text("x")]) as provider:
        runner.configure(
            provider,
            servers=[
                stdio_entry("echo", entry={"samples": {"ping": [SAMPLE], "fail": [SAMPLE]}}),
                stdio_entry("two.more"),
            ],
            use=[{"server_id": "two.more", "tools": ["ping", "echo", "fail"]}, "echo"],
            assistant={
                "prompts": PROMPTS,
                "approval": {"echo.fail": "deny", "echo.*": "ask"},
                "limits": {"max_tools": 6},
            },
            global_prompts=[{"role": "system", "content": "Everybody."}],
        )
    return runner


def check_all() -> None:
    """Ask all servers for their tools, as an operator would."""
    call_command("check_servers", stdout=StringIO())


def stored_preview() -> OfferPreview:
    row = Assistant.objects.get(assistant_id="helper")
    return preview_offer(row, list(row.server_links.order_by("position")))


def point_at(provider: FakeProvider) -> None:
    row = Assistant.objects.get(assistant_id="helper").provider
    row.base_url = provider.base_url
    row.save()


@pytest.mark.parametrize("quirk", ["", "system_first_only", "plain_schemas"])
def test_the_preview_equals_the_request_of_a_run(
    runner_with_two: Runner, settings: LazySettings, quirk: str
) -> None:
    settings.TOOLLOOP_EVENT_SINKS = ["tests.admin.watching.CatalogWatcher"]
    REPORTS.clear()
    provider_row = Assistant.objects.get(assistant_id="helper").provider
    if quirk:
        setattr(provider_row, quirk, True)
        provider_row.save()
    with FakeProvider([text("done")]) as provider:
        point_at(provider)
        runner_with_two.run("hello")
    check_all()
    body = provider.requests[0].body
    preview = stored_preview()
    assert list(preview.tools) == body["tools"]
    assert list(preview.messages) == body["messages"][:-1]
    [report] = REPORTS
    left_out = [(e.name, e.server, e.tool, e.reason.value, e.detail) for e in preview.left_out]
    keys = ("name", "server", "tool", "reason", "detail")
    assert left_out == [tuple(e[key] for key in keys) for e in report["left_out"]]
    assert {entry[3] for entry in left_out} == {
        "not_whitelisted", "denied_by_policy", "over_limit",
    }  # fmt: skip


def test_tokens_add_up(runner_with_two: Runner) -> None:
    check_all()
    preview = stored_preview()
    sent = [json.dumps(tool, separators=(",", ":")) for tool in preview.tools]
    assert list(preview.tool_tokens) == [-(-len(text) // 4) for text in sent]
    assert preview.tokens == (
        sum(preview.tool_tokens) + preview.prompt_tokens + preview.samples_tokens
    )
    assert preview.samples_tokens > 0


def test_wide_letters_count_one_each() -> None:
    assert (estimate_tokens(""), estimate_tokens("abcd"), estimate_tokens("abcde")) == (0, 1, 2)
    assert estimate_tokens("北京") == 2


def panel(client: Client, row: Assistant, **changes: str | list[str]) -> str:
    page = client.get(f"/admin/agents/assistant/{row.pk}/change/")
    fields = changed(read_form(page, "assistant_form"), **changes)
    response = client.post(f"{PREVIEW}?id={row.pk}", fields)
    assert response.status_code == 200
    return response.content.decode()


def offered_in(html: str) -> list[str]:
    return re.findall(r'<li><code class="clip" title="([^"]+)">', html)


def tools_in(html: str) -> list[dict[str, object]]:
    found = re.search(r'id="pv-json">.*?<pre class="data">(.*?)</pre>', html, re.DOTALL)
    assert found
    return list(json.loads(unescape(found[1])))


def test_the_panel_shows_what_is_in_the_form_unsaved(
    operator: Client, runner_with_two: Runner
) -> None:
    check_all()
    row = Assistant.objects.get(assistant_id="helper")
    key = Server.objects.get(server_id="two.more").pk
    before = panel(operator, row)
    assert offered_in(before)[:3] == ["two_more__echo", "two_more__ping", "two_more__fail"]
    assert [tool["function"]["name"] for tool in tools_in(before)] == offered_in(before)
    html = panel(
        operator, row, max_tools="2", prompts__1__content="Now <b>bold</b>.",
        **{f"tool__{key}": ["ping"]},
    )  # fmt: skip
    assert offered_in(html) == ["two_more__ping", "echo__echo"]
    assert "Now &lt;b&gt;bold&lt;/b&gt;." in html
    assert "over_limit" in html
    row.refresh_from_db()
    assert (row.max_tools, row.prompts) == (6, PROMPTS)


def test_fields_that_cannot_be_used_yet_are_named(
    operator: Client, runner_with_two: Runner
) -> None:
    row = Assistant.objects.get(assistant_id="helper")
    html = panel(operator, row, max_tools="many")
    assert "Not usable yet, so the saved value stands here: Tools offered (max_tools)." in html


def test_servers_that_do_not_answer_or_were_never_asked_are_told(
    operator: Client, runner_with_two: Runner
) -> None:
    Server.objects.filter(server_id="echo").update(last_error="no answer within 5 s")
    html = panel(operator, Assistant.objects.get(assistant_id="helper"))
    assert html.count("server_unavailable") == 2
    assert "no answer within 5 s" in html
    assert "never asked for its tools: ask again" in html
    assert "No tools: the model can only talk." in html


def test_a_tool_that_is_listed_twice_is_told(operator: Client, runner_with_two: Runner) -> None:
    check_all()
    Tool.objects.filter(server__server_id="two.more", name="ping").update(is_listed_twice=True)
    html = panel(operator, Assistant.objects.get(assistant_id="helper"))
    assert html.count("name_collision") == 1
    assert offered_in(html).count("two_more__ping") == 1


def test_asking_again_fetches_the_tools(operator: Client, runner_with_two: Runner) -> None:
    row = Assistant.objects.get(assistant_id="helper")
    page = operator.get(f"/admin/agents/assistant/{row.pk}/change/")
    fields = read_form(page, "assistant_form")
    assert operator.post(f"/admin/agents/assistant/ask/?id={row.pk}", fields).status_code == 204
    response = operator.post(f"/admin/agents/assistant/box/?id={row.pk}", fields)
    html = response.content.decode()
    assert len(offered_in(html)) == 6
    assert 'id="servers" hx-swap-oob="true"' in html
    assert Tool.objects.count() == 16


def test_a_sample_counts_only_for_what_is_offered(runner_with_two: Runner) -> None:
    check_all()
    text = json.dumps(stored_preview().messages)
    assert "### echo__ping" in text
    assert "### echo__fail" not in text
    assert ToolSample.objects.count() == 2


def test_the_panel_is_no_way_to_change_anything(operator: Client) -> None:
    assert operator.get(PREVIEW).status_code == 405
    assert Client().post(PREVIEW).status_code == 302
