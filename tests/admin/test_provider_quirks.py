"""The test of a provider finds what it refuses, and offers the setting for it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from agents.models import AuditEntry, Provider
from agents.runs.model_choices import provider_facts
from agents.runs.provider_tests import run_provider_test
from tests.fake_provider import FakeProvider, Json, Step, call, calls, chunks, error, hang, text
from tests.providers.vendor_faults import refusal_of
from tests.servers import stdio_entry

pytestmark = pytest.mark.django_db(transaction=True)


def provider_at(fake: FakeProvider, **fields: Any) -> Provider:
    return Provider.objects.create(
        provider_id="main", base_url=fake.base_url, default_model="m1", **fields
    )


def post(client: Client, row: Provider, route: str, **posted: str) -> str:
    path = f"/admin/agents/provider/{row.pk}/{route}/"
    return client.post(path, posted, follow=True).content.decode()


def answering(body: Json, number: int) -> Step:
    """Calls the tool when it is asked to, answers with its result, and with OK otherwise."""
    last = body["messages"][-1]
    if body.get("tools") and last["role"] == "user" and "get_code" in str(last["content"]):
        return calls(call("c1", "get_code"))
    return text(f"The code is {last['content']}." if last["role"] == "tool" else "OK")


def refusing(word: str, is_refused: Any) -> Any:
    def script(body: Json, number: int) -> Step:
        if is_refused(body):
            return error(400, {"error": {"message": f"{word} is not supported"}})
        return answering(body, number)

    return script


def test_a_plain_provider_has_no_quirks(operator: Client) -> None:
    with FakeProvider(answering) as fake:
        row = provider_at(fake)
        page = post(operator, row, "test")
    assert "It called the tool" in page
    assert "answered with it: “The code is 4711.”" in page
    assert "No quirks were found." in page


def as_gemini(body: Json, number: int) -> Step:
    return refusal_of("gemini", body) or answering(body, number)


SIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}


def has_two_calls(body: Json) -> bool:
    return any(len(m.get("tool_calls") or ()) > 1 for m in body["messages"])


@pytest.mark.parametrize(
    ("options", "script", "name", "value"),
    [
        ({"system_first_only": True}, answering, "system_first_only", True),
        (
            {"tool_call_id_pattern": "^[a-zA-Z0-9]{9}$"}, answering,
            "tool_call_id_pattern", "^[a-zA-Z0-9]{9}$",
        ),
        (
            {}, refusing("stream_options", lambda body: "stream_options" in body),
            "no_stream_options", True,
        ),
        (
            {}, refusing("a field", lambda body: "stream_options" in body),
            "no_stream_options", True,
        ),
        (
            {"tool_call_id_pattern": "^[a-zA-Z0-9_-]{1,40}$"}, answering,
            "tool_call_id_pattern", "^[a-zA-Z0-9_-]{1,40}$",
        ),
        ({}, refusing("two tool calls", has_two_calls), "no_parallel_calls", True),
        (
            {}, refusing("two calls (parallel_tool_calls)", lambda body: (
                has_two_calls(body) or "parallel_tool_calls" in body
            )),
            "no_parallel_calls", True,
        ),
        ({}, as_gemini, "plain_schemas", True),
        ({}, as_gemini, "call_fields", SIGNED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_quirk_is_found_and_set_with_one_click(
    operator: Client, options: Json, script: Any, name: str, value: Any
) -> None:
    with FakeProvider(script, expect_faults=True, **options) as fake:
        row = provider_at(fake)
        page = post(operator, row, "test")
        assert f'name="name" value="{name}"' in page
        row.refresh_from_db()
        assert not getattr(row, name)
        post(operator, row, "quirk", name=name)
    row.refresh_from_db()
    assert getattr(row, name) == value
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.kind, entry.subject) == ("operator", "provider", "main")


def test_only_what_was_found_can_be_set(operator: Client) -> None:
    with FakeProvider(answering, known_models=("m1", "m2")) as fake:
        row = provider_at(fake)
        assert "Test the provider first" in post(operator, row, "quirk", name="no_stream_options")
        post(operator, row, "test")
        assert "Test the provider first" in post(operator, row, "quirk", name="api_key")
        assert "only models that it lists" in post(operator, row, "model", name="m9")
        post(operator, row, "model", name="m2")
    row.refresh_from_db()
    assert (row.default_model, row.no_stream_options) == ("m2", False)


def test_a_model_that_calls_no_tool_is_told(operator: Client) -> None:
    with FakeProvider([text("I cannot call tools.")]) as fake:
        page = post(operator, provider_at(fake), "test")
    assert "It did not call the tool" in page


def test_a_setting_acts_on_what_is_sent(runner: Any) -> None:
    tools = {"name": "t", "inputSchema": {"type": "object"}}
    with FakeProvider([text("done")]) as fake:
        quirks = {"no_stream_options": True, "no_parallel_calls": True}
        runner.configure(fake, servers=[stdio_entry("s", tools=[tools])], provider_fields=quirks)
        runner.run("go")
        body = fake.requests[0].body
    assert "stream_options" not in body and body["parallel_tool_calls"] is False


def without_usage(body: Json, number: int) -> Step:
    step = answering(body, number)
    return chunks(
        [sent for sent in step.chunks if not (isinstance(sent, dict) and "usage" in sent)]
    )


def test_a_stream_without_usage_is_told_and_stream_options_can_be_left_away(
    operator: Client,
) -> None:
    with FakeProvider(without_usage) as fake:
        row = provider_at(fake)
        page = post(operator, row, "test")
        assert "It counts no tokens: they are estimated." in page
        assert "no usage comes in the stream" in page
        assert "Without stream_options is set." in post(
            operator, row, "quirk", name="no_stream_options"
        )
    row.refresh_from_db()
    assert row.no_stream_options is True


def alternates(body: Json) -> bool:
    roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
    return all(pair != ("user", "user") for pair in pairwise(roles))


@pytest.mark.parametrize(
    "is_refused",
    [
        lambda body: not alternates(body),
        lambda body: len(body["messages"]) > 3 and body["messages"][2]["role"] == "assistant",
        lambda body: has_two_calls(body) or "parallel_tool_calls" in body,
    ],
    ids=["two user messages", "every longer talk", "two calls and the field against them"],
)
def test_a_setting_that_does_not_help_is_not_offered(operator: Client, is_refused: Any) -> None:
    with FakeProvider(refusing("This", is_refused), expect_faults=True) as fake:
        page = post(operator, provider_at(fake), "test")
    assert "Set this" not in page


def test_a_local_template_that_fails_with_a_500_is_a_refusal(operator: Client) -> None:
    def script(body: Json, number: int) -> Step:
        late = [m["role"] for m in body["messages"][1:]]
        return error(500, "template: late system") if "system" in late else answering(body, number)

    with FakeProvider(script) as fake:
        page = post(operator, provider_at(fake), "test")
    assert 'name="name" value="system_first_only"' in page


def test_a_model_without_tools_is_told_with_what_to_do(operator: Client) -> None:
    with FakeProvider(refusing("Tools", lambda body: "tools" in body)) as fake:
        page = post(operator, provider_at(fake), "test")
    assert "Tools is not supported" in page and "Choose a model that takes tools" in page


def test_an_overload_in_the_middle_is_told_with_what_to_do(operator: Client) -> None:
    def script(body: Json, number: int) -> Step:
        return answering(body, number) if number < 2 else error(429)

    with FakeProvider(script) as fake:
        page = post(operator, provider_at(fake), "test")
    assert "Not everything could be asked" in page and "Wait and try again" in page


def test_a_slow_provider_is_left_in_time_and_what_was_found_is_kept(db: None) -> None:
    def script(body: Json, number: int) -> Step:
        return answering(body, number) if number < 3 else hang()

    with FakeProvider(script) as fake:
        facts = provider_facts(provider_at(fake))
        assert facts is not None
        check, found = run_provider_test(facts, seconds=2)
    assert check.is_ok and found is not None
    assert (found.is_cut, found.calls_tools, found.reads_results) == (True, True, True)


def test_the_key_is_not_shown_where_a_provider_sends_it_back(operator: Client) -> None:
    key = "sk-very-secret-key-0123456789"
    with FakeProvider([text(f"Your key is {key}")], key=key) as fake:
        page = post(operator, provider_at(fake, api_key=key), "test")
    assert "Your key is [key]" in page and key not in page


def test_what_was_found_does_not_hold_for_another_address(operator: Client) -> None:
    with FakeProvider(answering, expect_faults=True, system_first_only=True) as fake:
        row = provider_at(fake)
        post(operator, row, "test")
        Provider.objects.filter(pk=row.pk).update(base_url="https://api.example.org/v1")
        said = post(operator, row, "quirk", name="system_first_only")
    assert "Test the provider first" in said


def test_a_model_that_makes_two_calls_anyway_is_still_understood(runner: Any) -> None:
    def script(body: Json, number: int) -> Step:
        if has_two_calls(body):
            return error(400, {"error": {"message": "only one tool call is supported"}})
        if number == 0:
            return calls(call("c1", "echo__ping"), call("c2", "echo__ping"))
        return text("done")

    with FakeProvider(script) as fake:
        runner.configure(
            fake,
            servers=[stdio_entry("echo")],
            provider_fields={"no_parallel_calls": True},
        )
        ran = runner.run("go")
        sent = fake.requests[-1].messages
    assert ran.finished["answer"] == "done"
    roles = [message["role"] for message in sent][-4:]
    assert roles == ["assistant", "tool", "assistant", "tool"]
    assert [m["tool_calls"][0]["id"] for m in sent[-4::2]] == ["c1", "c2"]
    assert [m["tool_call_id"] for m in sent[-3::2]] == ["c1", "c2"]
