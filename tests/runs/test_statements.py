"""Statements compiled once: they do what the ORM does."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, models, transaction
from django.forms.models import model_to_dict

from agents.models import Assistant, Conversation, Message, Provider, Server
from agents.runs.statements import fetch_row, fetch_rows, insert_row, update_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    assistant = Assistant.objects.create(assistant_id="a", name="A", prompts=[{"role": "system"}])
    user = get_user_model().objects.create_user("u")
    return Conversation.objects.create(user=user, assistant=assistant)


def columns(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_an_inserted_row_is_read_back_as_the_orm_reads_it(conversation: Conversation) -> None:
    row = Message(
        conversation=conversation,
        role="assistant",
        content=["x", {"é": None}],
        tool_calls=[{"id": "c", "arguments": '{"a": 1}'}],
        is_aborted=True,
    )
    insert_row(row)
    found = Message.objects.get()
    assert columns(found) == columns(row) == columns(fetch_row(Message, id=row.pk))
    assert found.created_at is not None
    row.turn = "1"
    row.save()
    assert Message.objects.get().turn == "1"


def test_rows_of_every_kind_of_column_are_what_the_orm_gives(conversation: Conversation) -> None:
    Provider.objects.create(provider_id="p", base_url="http://127.0.0.1/v1", api_key="secret")
    Server.objects.create(
        server_id="s", transport="stdio", command="c", env={"A": "b"}, tool_timeout_seconds=1.5
    )
    for model in (Provider, Server, Assistant, Conversation):
        rows = {row.pk: columns(row) for row in fetch_rows(model, {})}
        assert rows == {row.pk: columns(row) for row in model.objects.all()}
    assert model_to_dict(fetch_row(Provider, provider_id="p"))["api_key"] == "secret"


def test_rows_come_in_the_order_that_is_asked_for(conversation: Conversation) -> None:
    for turn in ("2", "0", "1"):
        insert_row(Message(conversation=conversation, role="user", content=turn, turn=turn))
    rows = fetch_rows(Message, {"conversation_id": conversation.pk}, order="turn")
    assert [row.content for row in rows] == ["0", "1", "2"]


def test_an_update_changes_what_equals_everything_and_counts_it(conversation: Conversation) -> None:
    wanted, other = (Message(conversation=conversation, role="user", turn=n) for n in "12")
    insert_row(wanted)
    insert_row(other)
    values = {"details": {"a": [1]}, "level": 2}
    assert update_rows(Message, {"conversation_id": conversation.pk, "turn": "1"}, values) == 1
    assert update_rows(Message, {"id": wanted.pk, "turn": "2"}, {"level": 3}) == 0
    assert list(Message.objects.order_by("turn").values_list("level", "details")) == [
        (2, {"a": [1]}),
        (None, {}),
    ]


def test_what_the_database_refuses_is_raised(conversation: Conversation) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_row(Message(conversation=conversation, role="tool", content="no outcome"))
    with pytest.raises(Conversation.DoesNotExist):
        fetch_row(Conversation, id="nobody")
