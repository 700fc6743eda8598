"""What the database tells of runs that go on in other processes.

Place in the house: ``agents.runs``. Synchronous; ``follower`` and pages ask. Text that is being
written is not stored: these live runs have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from agents.loop.messages import JsonObject
from agents.models import Conversation, Message, MessageRole, Question, Run, RunStatus
from agents.runs.live import LiveCall, LiveRun

OPEN = (RunStatus.QUEUED, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a conversation stands. Two that are equal look the same on a page, but for text that is
    being written. ``running`` holds the ids of its running runs."""

    leaf: str | None
    title: str
    runs: tuple[tuple[object, ...], ...] = ()
    asked: tuple[str, ...] = ()

    @property
    def running(self) -> frozenset[str]:
        """The runs, children included, that go on in some process."""
        return frozenset(str(run[0]) for run in self.runs if run[1] == RunStatus.RUNNING)


def standings(conversation_ids: Collection[str]) -> dict[str, Standing]:
    """How these conversations stand, by id; three statements whatever their number."""
    runs: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    fields = ("pk", "status", "stop_requested", "takeovers", "lease_owner")
    open_runs = Run.objects.filter(conversation_id__in=conversation_ids, status__in=OPEN)
    for conversation_id, *values in open_runs.order_by("created_at").values_list(
        "conversation_id", *fields
    ):
        runs[conversation_id].append(tuple(values))
    asked: dict[str, list[str]] = defaultdict(list)
    for conversation_id, key in _open_questions(conversation_ids):
        asked[conversation_id].append(key)
    rows = Conversation.objects.filter(pk__in=conversation_ids)
    return {
        pk: Standing(leaf=leaf, title=title, runs=tuple(runs[pk]), asked=tuple(asked[pk]))
        for pk, leaf, title in rows.values_list("pk", "leaf_id", "title")
    }


def stored_lives(conversation_id: str) -> dict[str, LiveRun]:
    """The running runs of a conversation, by id, with the calls that have no result yet."""
    runs = Run.objects.filter(conversation_id=conversation_id, status=RunStatus.RUNNING)
    found = {run.pk: run for run in runs}
    if not found:
        return {}
    waiting = {key for _, key in _open_questions([conversation_id])}
    return {pk: _live(run, waiting) for pk, run in found.items()}


def conversations_that_ask(user: AbstractBaseUser | AnonymousUser) -> set[str]:
    """The conversations of a user in which a call waits for a decision."""
    questions = Question.objects.filter(
        run__user_id=user.pk, run__status=RunStatus.RUNNING, is_allowed__isnull=True
    )
    return set(questions.values_list("run__conversation_id", flat=True))


def _open_questions(conversation_ids: Collection[str]) -> list[tuple[str, str]]:
    """Conversation and call of every question that nobody has answered yet, oldest first."""
    questions = Question.objects.filter(
        run__conversation_id__in=conversation_ids,
        run__status=RunStatus.RUNNING,
        is_allowed__isnull=True,
    )
    return list(questions.order_by("asked_at").values_list("run__conversation_id", "call_key"))


def _live(run: Run, waiting: Collection[str]) -> LiveRun:
    limits = run.configuration.get("limits")
    live = LiveRun(
        run=run.pk,
        conversation=run.conversation_id,
        trace=run.trace_id,
        parent_run=run.parent_run_id,
        limits=limits if isinstance(limits, dict) else {},
        started_ns=round(run.started_at.timestamp() * 1e9) if run.started_at else 0,
    )
    rows = list(Message.objects.filter(run=run).order_by("created_at"))
    answered = {row.call_key for row in rows if row.role == MessageRole.TOOL}
    asked = [row for row in rows if row.role == MessageRole.ASSISTANT and row.tool_calls]
    if asked:
        _add_calls(live, asked[-1], answered, waiting)
    return live


def _add_calls(
    live: LiveRun, row: Message, answered: Collection[str], waiting: Collection[str]
) -> None:
    """The calls of the last answer; the next turn has begun where all have their results."""
    missing: list[JsonObject] = [call for call in row.tool_calls if call["key"] not in answered]
    live.turn = row.turn or "0"
    if not missing and live.turn.isdigit():
        live.turn = str(int(live.turn) + 1)
    for call in missing:
        key = str(call["key"])
        server, _, tool = str(call["name"]).partition("__")
        live.calls[key] = LiveCall(
            key=key,
            turn=live.turn,
            attempt=int(key.split(":")[2]) if key.count(":") == 3 else 1,
            server=server,
            tool=tool or server,
            name=str(call["name"]),
            arguments=call["arguments"],
            state="awaiting_approval" if key in waiting else "running",
            started_ns=round(row.created_at.timestamp() * 1e9),
        )
