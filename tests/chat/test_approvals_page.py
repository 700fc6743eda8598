"""Approvers decide on calls in other people's conversations; nobody else does."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import Client

from agents.consumers import ConversationConsumer
from agents.loop.interfaces import Approval
from agents.models import Assistant, Conversation, Message, Question, Run
from agents.runs.approvals import store_answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def question() -> Question:
    assistant = Assistant.objects.create(assistant_id="desk", name="Desk")
    assistant.approver_groups.add(Group.objects.create(name="Ops"))
    asker = User.objects.create_user("asker")
    talk = Conversation.objects.create(user=asker, assistant=assistant)
    run = Run.objects.create(
        conversation=talk, user=asker, assistant=assistant, trace_id="t", status="running"
    )
    call = {"id": "c", "key": f"{run.pk}:0:1:0", "name": "notes__delete"}
    call["arguments"] = '{"which": "<b>all</b>"}'
    asked = Message.objects.create(conversation=talk, role="user", content="Delete them.")
    answer = Message.objects.create(
        conversation=talk, run=run, role="assistant", parent=asked, tool_calls=[call]
    )
    Run.objects.update(message=asked)
    Conversation.objects.update(leaf=answer)
    return Question.objects.create(run=run, call_key=call["key"], server="notes", tool="delete")


def browser(name: str, *groups: str) -> Client:
    user, _ = User.objects.get_or_create(username=name)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def test_an_approver_reads_the_call_and_allows_it(question: Question) -> None:
    approver = browser("olga", "Ops")
    page = approver.get("/approvals/").content.decode()
    assert "asker through Desk" in page and "&lt;b&gt;all&lt;/b&gt;" in page
    assert '<span class="badge num">1</span>' in approver.get("/c/new/").content.decode()
    posted = {"key": question.call_key, "allow": "1", "reason": "fine"}
    assert approver.post("/approvals/decide/", posted).status_code == 302
    question.refresh_from_db()
    assert (question.is_allowed, question.by, question.reason) == (True, "olga", "fine")
    page = approver.get("/approvals/").content.decode()
    assert "No call waits for you." in page and "badge" not in page


def test_the_trace_is_linked_for_who_may_read_it(question: Question) -> None:
    address = f"/traces/run/{question.run_id}/"
    assert address not in browser("olga", "Ops").get("/approvals/").content.decode()
    Assistant.objects.get(assistant_id="desk").trace_groups.add(Group.objects.get())
    assert address in browser("olga", "Ops").get("/approvals/").content.decode()


def test_what_would_be_sent_is_shown_and_not_what_the_model_wrote(question: Question) -> None:
    Question.objects.update(arguments={"which": "by a hook"})
    page = browser("olga", "Ops").get("/approvals/").content.decode()
    assert "by a hook" in page and "&lt;b&gt;all" not in page


def test_a_call_of_a_hook_is_shown_as_well(question: Question) -> None:
    Question.objects.update(call_key=f"{question.run_id}:hook:1", arguments={"which": "one"})
    page = browser("olga", "Ops").get("/approvals/").content.decode()
    assert f"{question.run_id}:hook:1" in page and ">one<" in page


def test_a_second_answer_does_not_count(question: Question) -> None:
    posted = {"key": question.call_key, "allow": "0"}
    approver = browser("olga", "Ops")
    assert approver.post("/approvals/decide/", posted).status_code == 302
    assert approver.post("/approvals/decide/", {**posted, "allow": "1"}).status_code == 404
    question.refresh_from_db()
    assert question.is_allowed is False


@pytest.mark.parametrize("name", ["asker", "somebody"])
def test_others_see_no_call_and_decide_nothing(question: Question, name: str) -> None:
    other = browser(name)
    page = other.get("/approvals/").content.decode()
    assert question.call_key not in page and "Approvals</a>" not in page
    posted = {"key": question.call_key, "allow": "1"}
    assert other.post("/approvals/decide/", posted).status_code == 404
    question.refresh_from_db()
    assert question.is_allowed is None


@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_comes_before_its_question_does_not_count(question: Question) -> None:
    """Keys can be guessed: who guesses one may not be first to answer for the approvers."""
    stored = await Question.objects.values("run_id", "call_key", "server", "tool").aget()
    run = await Run.objects.select_related("user").aget()
    await question.adelete()
    answered: list[str] = []

    class Approver:
        async def answer(self, key: str, conversation_id: str, approval: Approval) -> bool:
            await Question.objects.acreate(**stored)
            answered.append(key)
            return await sync_to_async(store_answer)(key, conversation_id, approval)

    socket = ConversationConsumer()
    socket.scope, socket.outbox = {"user": run.user}, asyncio.Queue()
    socket.conversation_id, socket.language, socket.user_name = run.conversation_id, "en", "asker"
    socket.process = SimpleNamespace(approver=Approver(), ask_takers=lambda kind, key: True)
    await socket._decide({"key": stored["call_key"], "allow": True})
    assert answered == []
    assert "not_waiting" in socket.outbox.get_nowait()


def test_the_person_who_chats_sees_who_decides(question: Question) -> None:
    Run.objects.update(configuration={"deciders": ["Ops"]})
    page = browser("asker").get(f"/c/{question.run.conversation_id}/").content.decode()
    assert "Waits for an answer of Ops." in page
    assert "data-allow" not in page
    Run.objects.update(configuration={"deciders": []})
    page = browser("asker").get(f"/c/{question.run.conversation_id}/").content.decode()
    assert "data-allow" in page


def test_who_lost_the_right_to_chat_is_told_so(question: Question) -> None:
    asker = browser("asker")
    assistant = question.run.assistant
    assert assistant is not None
    assistant.groups.add(Group.objects.create(name="Friends"))
    response = asker.post(f"/c/{question.run.conversation_id}/send/", {"text": "hello"})
    assert response.status_code == 403
    assert "may not use this assistant any more" in response.content.decode()
    assert Message.objects.filter(role="user").count() == 1
