"""Whether the messages of a conversation hang together: one tree, every result with its call.

Place in the house: ``agents.transcripts``, pure. What a hand-written file may leave out (runs, keys
of calls) is filled in here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject
from agents.runs.stored_messages import COMPACTION
from agents.transcripts.records import (
    ConversationRecord,
    MessageRecord,
    RunRecord,
    TranscriptRefused,
)


def check_conversation(given: ConversationRecord) -> ConversationRecord:
    """The conversation with what was left out filled in. Raises ``TranscriptRefused``."""
    runs = _check_runs(given)
    tree = _Tree(runs={run.id: run for run in runs})
    for message in given.messages:
        tree.add(message)
    if given.leaf and given.leaf not in tree.messages:
        _refuse(given.line, _("leaf names the message %(id)s, which is not here"), given.leaf)
    for run in runs:
        for name, id_ in (("message", run.message), ("answer", run.answer)):
            if id_ and id_ not in tree.messages:
                told = _("%(name)s names the message %(id)s, which is not here")
                raise TranscriptRefused(run.line, told % {"name": name, "id": id_})
    messages = tuple(tree.messages.values())
    leaf = given.leaf or (messages[-1].id if messages else "")
    return replace(given, runs=tuple(tree.runs.values()), messages=messages, leaf=leaf)


def _check_runs(given: ConversationRecord) -> tuple[RunRecord, ...]:
    """Ids once, and parents before children."""
    seen: set[str] = set()
    for run in given.runs:
        if run.id in seen:
            _refuse(run.line, _("the run %(id)s stands here twice"), run.id)
        if run.parent_run and run.parent_run not in seen:
            told = _("parent_run names the run %(id)s, which does not stand above")
            _refuse(run.line, told, run.parent_run)
        seen.add(run.id)
    return given.runs


@dataclass(slots=True)
class _Tree:
    """The messages so far. ``owners`` are, by message, the assistant message whose results may
    follow it."""

    runs: dict[str, RunRecord]
    messages: dict[str, MessageRecord] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    made_runs: set[str] = field(default_factory=set)

    def add(self, message: MessageRecord) -> None:
        """Take the next message, below its parent."""
        if message.id in self.messages:
            _refuse(message.line, _("the message %(id)s stands here twice"), message.id)
        if message.parent and message.parent not in self.messages:
            told = _("parent names the message %(id)s, which does not stand above")
            _refuse(message.line, told, message.parent)
        message = self._with_run(message)
        if message.tool_calls:
            message = replace(message, tool_calls=tuple(self._with_keys(message)))
        if message.role == "tool":
            message = self._with_call(message)
        self._check_summary(message)
        self.messages[message.id] = message
        self.owners[message.id] = self._owner_behind(message)

    def _owner_behind(self, message: MessageRecord) -> str:
        if message.role in ("tool", "system"):
            return self.owners.get(message.parent, "")
        return message.id if message.tool_calls else ""

    def _with_run(self, message: MessageRecord) -> MessageRecord:
        """The message in its run; in one made up where the file has none for it."""
        if message.run:
            if message.run not in self.runs:
                _refuse(
                    message.line,
                    _("run names the run %(id)s, which does not stand above"),
                    message.run,
                )
            return message
        if message.role == "user":
            return message
        above = self.messages.get(message.parent)
        if above is not None and above.run in self.made_runs and above.role != "user":
            run = above.run
        else:
            run = self._make_run(message, above)
        made = self.runs[run]
        turn = message.turn or str(made.turns)
        if message.tool_calls:
            self.runs[run] = replace(made, turns=made.turns + 1)
        elif message.role == "assistant":
            self.runs[run] = replace(made, answer=message.id)
            turn, message = message.turn, replace(message, level=message.level or 1)
        elif message.role == "tool":
            self.runs[run] = replace(made, tool_calls=made.tool_calls + 1)
            turn = message.turn or (above.turn if above is not None else "0")
        return replace(message, run=run, turn=turn)

    def _make_run(self, message: MessageRecord, above: MessageRecord | None) -> str:
        run = f"made.{message.line}"
        self.made_runs.add(run)
        self.runs[run] = RunRecord(
            line=message.line,
            id=run,
            parent_run="",
            message=above.id if above is not None and above.role == "user" else "",
            answer="",
            trace="",
            assistant="",
            model="",
            limits={},
            status="completed",
            stop_reason="answered",
            level=1,
            error="",
            turns=0,
            tool_calls=0,
            input_tokens=0,
            output_tokens=0,
            created_at=message.created_at,
            started_at=message.created_at,
            finished_at=message.created_at,
        )
        return run

    def _with_keys(self, message: MessageRecord) -> list[JsonObject]:
        calls: list[JsonObject] = []
        for position, call in enumerate(message.tool_calls):
            key = str(call["key"] or f"{message.run}:{message.turn or 0}:1:{position}")
            if key in self.keys:
                _refuse(message.line, _("the call %(id)s stands here twice"), key)
            self.keys.add(key)
            calls.append({**call, "key": key})
        return calls

    def _with_call(self, message: MessageRecord) -> MessageRecord:
        """The result with the key of its call."""
        owner = self.messages.get(self.owners.get(message.parent, ""))
        calls = owner.tool_calls if owner is not None else ()
        call = next((call for call in calls if self._is_answer(message, call)), None)
        if call is None:
            _refuse(
                message.line,
                _("the result of the call %(id)s has no such call in the answer above it"),
                message.call_key or message.tool_call_id,
            )
        if message.tool_call_id != call["id"]:
            told = _("tool_call_id is %(came)s, but the id of the call is %(id)s")
            facts = {"came": message.tool_call_id, "id": call["id"]}
            raise TranscriptRefused(message.line, told % facts)
        key = str(call["key"])
        if key in self.answered:
            _refuse(message.line, _("the call %(id)s has a result already"), key)
        self.answered.add(key)
        return replace(message, call_key=key)

    def _is_answer(self, message: MessageRecord, call: JsonObject) -> bool:
        if message.call_key:
            return call["key"] == message.call_key
        return call["id"] == message.tool_call_id and str(call["key"]) not in self.answered

    def _check_summary(self, message: MessageRecord) -> None:
        folded = message.details.get(COMPACTION)
        if not isinstance(folded, dict):
            return
        through = str(folded.get("through") or "")
        if through not in self.messages:
            told = _("the summary stands for the message %(id)s, which does not stand above")
            _refuse(message.line, told, through)


def _refuse(line: int, told: str, id_: str) -> NoReturn:
    raise TranscriptRefused(line, told % {"id": id_ or "-"})
