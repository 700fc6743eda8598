"""A person reads what is theirs; an operator reads every run; a stranger reads nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group, Permission, User

from agents.access import (
    is_approver,
    may_chat,
    may_decide,
    questions_to_decide,
    readable_conversations,
    readable_runs,
    readable_traces,
    usable_assistants,
)
from agents.models import Assistant, Conversation, Question, Run
from traces.models import Trace

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


class Team:
    """Two assistants, of which ``guarded`` has groups; and people in and out of them."""

    def __init__(self) -> None:
        users = User.objects
        self.open = Assistant.objects.create(assistant_id="open", name="Open")
        self.guarded = Assistant.objects.create(assistant_id="guarded", name="Guarded")
        self.member, self.reader, self.approver, self.outsider = (
            users.create_user(name) for name in ("member", "reader", "approver", "outsider")
        )
        self.operator, self.stranger = users.create_superuser("operator"), AnonymousUser()
        self.put("groups", self.member)
        self.put("trace_groups", self.reader)
        self.put("approver_groups", self.approver)
        self.talk = Conversation.objects.create(user=self.member, assistant=self.guarded)
        self.run = Run.objects.create(
            conversation=self.talk, user=self.member, assistant=self.guarded, trace_id="t1",
            status="running",
        )  # fmt: skip
        self.question = Question.objects.create(
            run=self.run, call_key="k", server="notes", tool="delete"
        )
        for number, (user, assistant) in enumerate(
            [(self.member, "guarded"), (self.outsider, "open"), (self.member, "open")]
        ):
            Trace.objects.create(
                id=f"t{number}", run=f"r{number}", user=str(user.pk), assistant=assistant,
                start_ns=number,
            )  # fmt: skip

    def put(self, name: str, user: User) -> None:
        group = Group.objects.create(name=name)
        getattr(self.guarded, name).add(group)
        user.groups.add(group)

    @property
    def people(self) -> list[User | AnonymousUser]:
        return [
            self.member, self.reader, self.approver, self.outsider, self.operator, self.stranger,
        ]  # fmt: skip


@pytest.fixture
def team() -> Team:
    return Team()


def test_groups_decide_who_may_chat_with_an_assistant(team: Team) -> None:
    found = [
        sorted(usable_assistants(p).values_list("assistant_id", flat=True)) for p in team.people
    ]
    assert found == [["guarded", "open"], ["open"], ["open"], ["open"], ["guarded", "open"], []]
    allowed = [may_chat(person, team.guarded) for person in team.people]
    assert allowed == [True, False, False, False, True, False]
    assert not may_chat(team.operator, None)


def test_somebody_in_two_groups_sees_an_assistant_once(team: Team) -> None:
    second = Group.objects.create(name="second")
    team.guarded.groups.add(second)
    team.member.groups.add(second)
    assert list(usable_assistants(team.member).filter(pk=team.guarded.pk)) == [team.guarded]


def test_traces_are_read_by_their_person_by_groups_and_by_permission(team: Team) -> None:
    def read(person: User | AnonymousUser) -> list[str]:
        return sorted(readable_traces(person, Trace.objects.all()).values_list("pk", flat=True))

    assert [read(person) for person in team.people] == [
        ["t0", "t2"], ["t0"], [], ["t1"], ["t0", "t1", "t2"], [],
    ]  # fmt: skip
    assert [readable_runs(p).count() for p in team.people] == [1, 1, 0, 0, 1, 0]
    team.outsider.user_permissions.add(Permission.objects.get(codename="view_trace"))
    everything = User.objects.get(pk=team.outsider.pk)
    assert read(everything) == ["t0", "t1", "t2"]
    assert readable_runs(everything).count() == 1


def test_where_approvers_are_named_they_alone_decide(team: Team) -> None:
    decides = [may_decide(person, team.question) for person in team.people]
    assert decides == [False, False, True, False, True, False]
    asked = [questions_to_decide(person).count() for person in team.people]
    assert asked == [0, 0, 1, 0, 1, 0]
    assert [is_approver(person) for person in team.people] == [
        False, False, True, False, True, False,
    ]  # fmt: skip


def test_without_approvers_the_person_who_chats_decides(team: Team) -> None:
    team.guarded.approver_groups.clear()
    decides = [may_decide(person, team.question) for person in team.people]
    assert decides == [True, False, False, False, False, False]
    assert not any(questions_to_decide(person).exists() for person in team.people)
    assert not is_approver(team.operator)
