"""Histories as no crash, hook or import would leave them: what is sent is always well paired.

``TOOLLOOP_EXAMPLES`` says how many are tried.
"""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.loop.history import repair_history
from agents.loop.messages import Message, Role, ToolCall
from agents.loop.wire import Wire, WireRules
from tests.history_faults import history_fault

EXAMPLES = int(os.environ.get("TOOLLOOP_EXAMPLES", "300"))
IDS = st.sampled_from(["", "a", "b", "call_1", "9" * 9, "ä b"])
KEYS = st.sampled_from(["", "r:0:1:0", "r:0:1:1", "r:1:1:0", "r:1:2:0", "s:0:1:0"])
NAMES = st.sampled_from(["echo__echo", "x", "", " ", "a b", "é" * 70])
TEXTS = st.sampled_from([None, "", "hello", "天气"])
ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1', {"a": 1}])

CALLS = st.builds(ToolCall, id=IDS, name=NAMES, arguments=ARGUMENTS, key=KEYS)
ANSWERS = st.builds(
    Message,
    role=st.just(Role.ASSISTANT),
    content=TEXTS,
    tool_calls=st.lists(CALLS, max_size=4).map(tuple),
    aborted=st.booleans(),
)
RESULTS = st.builds(
    Message, role=st.just(Role.TOOL), content=TEXTS, tool_call_id=IDS, call_key=KEYS
)
OTHERS = st.builds(
    Message,
    role=st.sampled_from([Role.SYSTEM, Role.USER]),
    content=st.sampled_from(["", "hello", "天气"]),
)
HISTORIES = st.lists(ANSWERS | RESULTS | OTHERS, max_size=14)
RULES = st.builds(
    WireRules,
    provider=st.just("p"),
    system_first_only=st.booleans(),
    id_pattern=st.sampled_from(["", "^[a-zA-Z0-9]{9}$"]),
    one_call_each=st.booleans(),
)


def in_any_order(messages: list[Message]) -> list[str]:
    """What is told; results that came in another order than their calls are put in order."""
    return sorted(repr(without_keys(message)) for message in messages)


def without_keys(message: Message) -> Message:
    """What a provider is told: our own names of calls are not."""
    calls = tuple(replace(call, key="") for call in message.tool_calls)
    return replace(message, tool_calls=calls, call_key="")


@settings(max_examples=EXAMPLES, deadline=None)
@given(history=HISTORIES, rules=RULES)
def test_whatever_is_stored_what_is_sent_is_well_paired(
    history: list[Message], rules: WireRules
) -> None:
    repaired, notes = repair_history(history)
    sent = Wire(rules).messages(repaired)
    fault = history_fault(
        list(sent), id_pattern=rules.id_pattern, system_first=rules.system_first_only
    )
    assert fault == ""
    together = [
        len(calls) for message in sent if isinstance(calls := message.get("tool_calls"), list)
    ]
    assert not rules.one_call_each or set(together) <= {1}
    called = [len(message.tool_calls) for message in repaired]
    assert sum(together) == sum(called)
    assert repair_history(repaired) == (repaired, [])
    assert notes or in_any_order(repaired) == in_any_order(history)
    told = [message.content for message in history if message.role is Role.USER]
    kept = [message.content for message in repaired if message.role is Role.USER]
    assert kept == told
