"""Calls that wait for approvers, on a page of their own.

Place in the house: ``agents.chat``. The arguments are those of the stored answer that asks for the
call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from agents.chat.cards import CallRows, card_view
from agents.chat.view_models import CardView
from agents.loop.arguments import ArgumentsProblem, parse_arguments
from agents.loop.messages import JsonObject
from agents.models import Message, MessageRole, Question
from agents.runs.live import LiveCall


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """One question: who asks through which assistant, since when, and the call's card."""

    key: str
    person: str
    assistant: str
    asked_at: datetime
    card: CardView


def question_views(questions: Iterable[Question]) -> list[QuestionView]:
    """The questions in their order, with the arguments that would be sent."""
    found = []
    for question in questions:
        call = _call(question)
        live = LiveCall(
            key=question.call_key, turn="", attempt=1, server=question.server, tool=question.tool,
            name=str(call["name"]), arguments=_arguments(question, call), state="awaiting_approval",
            started_ns=round(question.asked_at.timestamp() * 1e9),
        )  # fmt: skip
        found.append(
            QuestionView(
                key=question.call_key,
                person=str(question.run.user),
                assistant=str(question.run.assistant),
                asked_at=question.asked_at,
                card=card_view(CallRows(run=question.run, call=call, live=live)),
            )
        )
    return found


def _arguments(question: Question, call: Mapping[str, object]) -> JsonObject | str:
    """The arguments as they were read before the person was asked."""
    if isinstance(question.arguments, dict):
        return dict(question.arguments)
    raw = call.get("arguments")
    given = raw if isinstance(raw, dict) else str(raw or "")
    try:
        return parse_arguments(given)
    except ArgumentsProblem:
        return str(given)


def _call(question: Question) -> dict[str, object]:
    """The stored call; that of a hook is stored nowhere else."""
    rows = Message.objects.filter(run=question.run, role=MessageRole.ASSISTANT)
    for row in rows.order_by("-created_at"):
        for call in row.tool_calls or ():
            if call.get("key") == question.call_key:
                return dict(call)
    name = f"{question.server}.{question.tool}"
    return {"id": "", "key": question.call_key, "name": name, "arguments": question.arguments}
