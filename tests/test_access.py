"""A person reads what is theirs; an operator reads every run; a stranger reads nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser

from agents.access import readable_conversations, readable_runs, usable_assistants
from agents.models import Assistant, Conversation, Run

pytestmark = pytest.mark.django_db


def test_owner_other_user_operator_and_stranger() -> None:
    users = get_user_model().objects
    owner, other = users.create_user("owner"), users.create_user("other")
    operator, stranger = users.create_superuser("operator"), AnonymousUser()
    assistant = Assistant.objects.create(assistant_id="a", name="A")
    conversation = Conversation.objects.create(user=owner, assistant=assistant)
    run = Run.objects.create(conversation=conversation, user=owner, trace_id="t")
    people = (owner, other, operator, stranger)
    assert [list(readable_conversations(person)) for person in people] == [
        [conversation], [], [], [],
    ]  # fmt: skip
    assert [list(readable_runs(person)) for person in people] == [[run], [], [run], []]
    assert [list(usable_assistants(person)) for person in people] == [[assistant]] * 3 + [[]]
