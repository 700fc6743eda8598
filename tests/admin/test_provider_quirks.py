"""The test of a provider finds what it refuses, and offers the setting for it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.models import AuditEntry, Provider
from tests.fake_provider import FakeProvider, Json, Step, call, calls, error, text
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
    """Calls the tool when it is asked to, and answers otherwise."""
    last = body["messages"][-1]
    if body.get("tools") and last["role"] == "user" and "get_code" in str(last["content"]):
        return calls(call("c1", "get_code"))
    return text("OK")


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
    assert "It called the tool" in page and "It takes the result of a call." in page
    assert "No quirks were found." in page


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
        ({}, refusing("two tool calls", has_two_calls), "no_parallel_calls", True),
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
