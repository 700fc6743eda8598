"""Long conversations of every kind: what is sent after a compaction is well paired and fits.

``TOOLLOOP_EXAMPLES`` says how many are tried.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.loop.compaction import CompactionRules
from agents.loop.events import Compacted, Event
from agents.loop.interfaces import ModelAnswer, ModelRequest, OnDelta
from agents.loop.messages import Message, Role, ToolCall
from agents.loop.open_calls import OpenCalls
from agents.loop.request import AssistantConfig, ModelTarget, RunRequest
from agents.loop.run import run_loop
from agents.loop.tokens import estimate_tokens
from agents.loop.wire import WireRules
from tests.history_faults import history_fault

EXAMPLES = int(os.environ.get("TOOLLOOP_EXAMPLES", "100"))
WINDOW = 4000
MESSAGES = 200

TEXTS = st.sampled_from(["ok", "hello there " * 5, "天气" * 40, "word " * 200, "x" * 600])
COUNTS = st.integers(0, 3)
ROUNDS = st.lists(
    st.tuples(TEXTS, st.lists(st.tuples(COUNTS, TEXTS), max_size=3), TEXTS, st.booleans()),
    min_size=20,
    max_size=90,
)


def conversation(rounds: Sequence[Any]) -> list[Message]:
    """``MESSAGES`` messages at most: a question, turns with calls, an answer, or none."""
    messages: list[Message] = []
    for number, (asked, turns, answer, is_answered) in enumerate(rounds):
        messages.append(Message(role=Role.USER, content=asked))
        for turn, (count, result) in enumerate(turns):
            ids = [f"{number}-{turn}-{position}" for position in range(count)]
            wanted = tuple(ToolCall(id=i, name="echo__echo", arguments="{}", key=i) for i in ids)
            messages.append(Message(role=Role.ASSISTANT, content="so", tool_calls=wanted))
            messages += [
                Message(role=Role.TOOL, content=result, tool_call_id=i, call_key=i) for i in ids
            ]
        if is_answered:
            messages.append(Message(role=Role.ASSISTANT, content=answer))
    return messages[:MESSAGES]


@dataclass
class Provider:
    """A model that says little, and notes what it was sent."""

    sent: list[ModelRequest] = field(default_factory=list)

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        self.sent.append(request)
        return ModelAnswer(text="the summary" if "keep the notes" in str(request) else "done")


@dataclass
class Outside:
    """A run that knows one model and no tools."""

    provider: Provider
    approver: Any = None
    open_calls: OpenCalls = field(default_factory=OpenCalls)
    is_ending: bool = False

    async def models(self, provider: str | None, model: str | None) -> tuple[ModelTarget, ...]:
        rules = WireRules(provider="p")
        return (ModelTarget(provider="p", model="m", client=self.provider, rules=rules),)

    async def note_provider(self, provider: str, error: Any) -> None:
        assert error is None

    async def best_first(self, targets: Sequence[ModelTarget]) -> tuple[ModelTarget, ...]:
        raise AssertionError("nothing fails here")

    async def tools(self, servers: Sequence[str]) -> Any:
        return None

    async def fallback(self) -> Any:
        raise AssertionError("nothing falls back here")

    async def delegate(self, delegation: Any, conversation: Any, timer: Any) -> Any:
        raise AssertionError("nothing is delegated here")


def run(history: list[Message]) -> tuple[list[ModelRequest], list[Event]]:
    """The requests and events of one run behind this history."""
    provider, events = Provider(), []

    async def emit(event: Event) -> None:
        events.append(event)

    assistant = AssistantConfig(
        assistant_id="a", context_window=WINDOW, compaction=CompactionRules(reserve_tokens=500)
    )
    request = RunRequest(
        run="r", conversation="c", trace="t", assistant=assistant, history=tuple(history),
        message=Message(role=Role.USER, content="and now?"),
    )  # fmt: skip
    outcome = asyncio.run(run_loop(request, outside=Outside(provider), emit=emit))
    assert (outcome.status, outcome.answer) == ("completed", "done")
    return provider.sent, events


def tokens(request: ModelRequest) -> int:
    return sum(estimate_tokens(json.dumps(m, ensure_ascii=False)) for m in request.messages)


@settings(max_examples=EXAMPLES, deadline=None)
@given(rounds=ROUNDS)
def test_what_is_sent_after_a_compaction_is_paired_and_fits(rounds: Sequence[Any]) -> None:
    history = conversation(rounds)
    sent, events = run(history)
    assert [history_fault(list(request.messages)) for request in sent] == [""] * len(sent)
    assert max(map(tokens, sent)) < WINDOW
    assert sent[-1].messages[-1] == {"role": "user", "content": "and now?"}
    told = [event for event in events if isinstance(event, Compacted)]
    assert len(told) <= 1 and all(not event.error for event in told)
    if told:
        kept = list(sent[-1].messages[1:])
        assert kept[0]["role"] == "user" and len(kept) < len(history)
