"""The database itself refuses rows that must not be."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from agents.models import (
    Assistant,
    AssistantServer,
    Conversation,
    Message,
    Provider,
    Run,
    Server,
    Tool,
    ToolSample,
)

pytestmark = pytest.mark.django_db


def assert_refused(model: type, **fields: Any) -> None:
    # PostgreSQL has a word of its own for a text that is too long.
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        model.objects.create(**fields)  # type: ignore[attr-defined]


@pytest.fixture
def conversation() -> Conversation:
    user = get_user_model().objects.create(username="u")
    assistant = Assistant.objects.create(assistant_id="a", name="A")
    return Conversation.objects.create(user=user, assistant=assistant)


def run_fields(conversation: Conversation, **fields: Any) -> dict[str, Any]:
    return {"conversation": conversation, "user": conversation.user, "trace_id": "t", **fields}


@pytest.mark.parametrize("server_id", ["a_b", "a..b", ".a", "a.", "", "é", "a b", "a\n", "x" * 65])
def test_a_bad_server_id_is_refused_by_database_and_form(server_id: str) -> None:
    fields = {"server_id": server_id, "transport": "stdio", "command": "x"}
    assert_refused(Server, **fields)
    with pytest.raises(ValidationError):
        Server(**fields).full_clean()


@pytest.mark.parametrize("server_id", ["a", "A-1", "github.enterprise", "x" * 64])
def test_a_good_server_id_is_taken_by_database_and_form(server_id: str) -> None:
    server = Server(server_id=server_id, transport="stdio", command="x")
    server.full_clean()
    server.save()


def test_server_ids_are_unique_without_regard_to_case() -> None:
    Server.objects.create(server_id="echo", transport="stdio", command="x")
    assert_refused(Server, server_id="Echo", transport="stdio", command="x")


@pytest.mark.parametrize("transport", ["stdio", "http", "sse", "python", "ftp", ""])
def test_a_server_without_what_its_transport_needs_is_refused(transport: str) -> None:
    assert_refused(Server, server_id="a", transport=transport)


def test_a_tool_and_a_sample_stand_once() -> None:
    server = Server.objects.create(server_id="a", transport="stdio", command="x")
    now = timezone.now()
    tool = {"server": server, "name": "t", "definition_hash": "h", "first_seen": now,
            "last_seen": now}  # fmt: skip
    Tool.objects.create(**tool)
    assert_refused(Tool, **tool)
    ToolSample.objects.create(server=server, tool="t", position=0, name="x")
    assert_refused(ToolSample, server=server, tool="t", position=0, name="y")


@pytest.mark.parametrize(
    "fields",
    [{"max_turn": 0}, {"parallel_calls": 0}, {"parameter_attempts": 0}, {"tool_max_seconds": 0},
     {"run_timeout_seconds": -1}, {"tool_timeout_seconds": 0}, {"assistant_id": ""}],
)  # fmt: skip
def test_limits_below_their_minimum_are_refused(fields: dict[str, Any]) -> None:
    assert_refused(Assistant, **{"assistant_id": "a", "name": "A", **fields})


def test_ids_of_providers_and_assistants_are_unique_and_there() -> None:
    Provider.objects.create(provider_id="p", base_url="http://h")
    assert_refused(Provider, provider_id="p", base_url="http://h")
    assert_refused(Provider, provider_id="", base_url="http://h")
    assert_refused(Provider, provider_id="q", base_url="")
    assert_refused(Assistant, assistant_id="toolloop.title", name="T")


def test_a_server_stands_once_with_an_assistant() -> None:
    server = Server.objects.create(server_id="a", transport="stdio", command="x")
    assistant = Assistant.objects.create(assistant_id="a", name="A")
    AssistantServer.objects.create(assistant=assistant, server=server)
    assert_refused(AssistantServer, assistant=assistant, server=server, position=1)


def test_one_root_run_at_a_time_runs_in_a_conversation(conversation: Conversation) -> None:
    root = Run.objects.create(**run_fields(conversation, status="running"))
    assert_refused(Run, **run_fields(conversation, status="running"))
    Run.objects.create(**run_fields(conversation, status="queued"))
    Run.objects.create(**run_fields(conversation, status="running", parent_run=root))


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "interrupted"])
def test_a_finished_run_has_a_reason_and_a_time(conversation: Conversation, status: str) -> None:
    now = timezone.now()
    assert_refused(Run, **run_fields(conversation, status=status, finished_at=now))
    assert_refused(Run, **run_fields(conversation, status=status, stop_reason="answered"))
    fields = {"status": status, "stop_reason": "answered", "finished_at": now}
    Run.objects.create(**run_fields(conversation, **fields))


@pytest.mark.parametrize(
    "fields", [{"status": "done"}, {"level": 0}, {"level": 4}, {"id": "x", "parent_run_id": "x"}]
)
def test_other_runs_that_cannot_be_are_refused(
    conversation: Conversation, fields: dict[str, Any]
) -> None:
    assert_refused(Run, **run_fields(conversation, **fields))


def test_a_call_has_one_result_with_an_outcome(conversation: Conversation) -> None:
    result = {"conversation": conversation, "role": "tool", "call_key": "k", "outcome": "ok"}
    Message.objects.create(**result)
    assert_refused(Message, **result)
    assert_refused(Message, conversation=conversation, role="tool", call_key="l")
    assert_refused(Message, conversation=conversation, role="user", outcome="ok")
    Message.objects.create(conversation=conversation, role="user")
    Message.objects.create(conversation=conversation, role="user")


def test_a_message_is_not_its_own_parent(conversation: Conversation) -> None:
    assert_refused(Message, id="m", conversation=conversation, role="user", parent_id="m")


@pytest.mark.django_db(transaction=True)
def test_the_system_assistants_are_there_again_after_a_flush() -> None:
    ids = Assistant.objects.filter(is_system=True).values_list("assistant_id", flat=True)
    assert set(ids) == {"toolloop.loop_fallback", "toolloop.title"}
