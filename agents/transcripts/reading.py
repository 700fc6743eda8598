"""From the bytes of a file to the conversations in it, judged line by line.

Place in the house: ``agents.transcripts``, pure. Nothing is stored here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from django.utils.translation import gettext as _

from agents.loop.limits import RunLimits
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.results import Outcome
from agents.texts import storable, without_hidden
from agents.transcripts.checking import check_conversation
from agents.transcripts.details import check_details
from agents.transcripts.fields import LineReader, read_line
from agents.transcripts.records import (
    FILE_BYTES,
    FORMAT,
    LINE_BYTES,
    MOST_LINES,
    VERSION,
    AttachmentRecord,
    ConversationRecord,
    MessageRecord,
    RunRecord,
    TranscriptRefused,
)

ROLES = ("user", "assistant", "tool", "system")
STATUSES = ("completed", "failed", "cancelled", "interrupted")
KINDS = ("image", "audio")

_LIMITS = (*RunLimits.__dataclass_fields__, "context_window")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}:(?:F|\d{1,6}):\d{1,4}:\d{1,6}")
_TURN = re.compile(r"F|\d{1,6}")
_WORD = re.compile(r"[a-z_]{1,20}")


def read_transcript(
    stream: BinaryIO, *, most_bytes: int = FILE_BYTES
) -> tuple[ConversationRecord, ...]:
    """The conversations of a file, in order. Raises ``TranscriptRefused`` at the first fault."""
    heads: list[ConversationRecord] = []
    runs: list[list[RunRecord]] = []
    messages: list[list[MessageRecord]] = []
    for line, raw in _lines(stream, most_bytes):
        reader = LineReader(_storable(read_line(raw, line)), line)
        kind = reader.choice("type", ("conversation", "run", "message"))
        if kind == "conversation":
            heads.append(_conversation(reader))
            runs.append([])
            messages.append([])
        elif not heads:
            told = _("a line with the type conversation must come before runs and messages")
            raise TranscriptRefused(line, told)
        elif kind == "run":
            runs[-1].append(_run(reader))
        else:
            messages[-1].append(_message(reader))
        reader.finish()
    if not heads:
        raise TranscriptRefused(0, _("There is no conversation in this file."))
    return tuple(
        check_conversation(replace(head, runs=tuple(own_runs), messages=tuple(own_messages)))
        for head, own_runs, own_messages in zip(heads, runs, messages, strict=True)
    )


def _lines(stream: BinaryIO, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, counted from 1."""
    size, line = 0, 0
    while raw := stream.readline(LINE_BYTES + 1):
        line, size = line + 1, size + len(raw)
        if len(raw) > LINE_BYTES:
            told = _("the line is longer than %(n)s bytes") % {"n": f"{LINE_BYTES:,}"}
            raise TranscriptRefused(line, told)
        if size > most_bytes:
            told = _("the file is larger than %(n)s bytes") % {"n": f"{most_bytes:,}"}
            raise TranscriptRefused(line, told)
        if line > MOST_LINES:
            told = _("the file has more than %(n)s lines") % {"n": f"{MOST_LINES:,}"}
            raise TranscriptRefused(line, told)
        if raw.strip():
            yield line, raw


def _storable(value: JsonObject) -> JsonObject:
    made = storable(value)
    return made if isinstance(made, dict) else {}


def _id(reader: LineReader, name: str) -> str:
    return reader.fitting(name, _ID, _("an id: letters, digits, dots and hyphens, at most 64"))


def _needed_id(reader: LineReader) -> str:
    reader.text("id", is_needed=True)
    return _id(reader, "id")


def _conversation(reader: LineReader) -> ConversationRecord:
    reader.choice("format", (FORMAT,))
    if reader.optional_whole("version") != VERSION:
        reader.refuse("version", str(VERSION))
    _id(reader, "id")
    return ConversationRecord(
        line=reader.line,
        title=" ".join(without_hidden(reader.text("title", most=200)).split()),
        assistant=reader.text("assistant", most=100),
        is_pinned=reader.flag("is_pinned"),
        leaf=_id(reader, "leaf"),
        created_at=reader.moment("created_at"),
        updated_at=reader.moment("updated_at"),
    )


def _run(reader: LineReader) -> RunRecord:
    return RunRecord(
        line=reader.line,
        id=_needed_id(reader),
        parent_run=_id(reader, "parent_run"),
        message=_id(reader, "message"),
        answer=_id(reader, "answer"),
        trace=_id(reader, "trace"),
        assistant=reader.text("assistant", most=100),
        model=reader.text("model", most=200),
        limits=_limits(reader),
        status=reader.choice("status", STATUSES),
        stop_reason=_stop_reason(reader),
        level=reader.optional_whole("level", least=1, most=3),
        error=reader.text("error"),
        turns=reader.whole("turns"),
        tool_calls=reader.whole("tool_calls"),
        input_tokens=reader.whole("input_tokens"),
        output_tokens=reader.whole("output_tokens"),
        created_at=reader.moment("created_at"),
        started_at=reader.moment("started_at"),
        finished_at=reader.moment("finished_at"),
    )


def _limits(reader: LineReader) -> JsonObject:
    limits = LineReader(reader.mapping("limits"), reader.line, "limits/")
    for name in _LIMITS:
        limits.optional_number(name)
    limits.finish()
    return limits.value


def _stop_reason(reader: LineReader) -> str:
    reader.text("stop_reason", is_needed=True)
    return reader.fitting("stop_reason", _WORD, _("a word such as answered"))


def _message(reader: LineReader) -> MessageRecord:
    role = reader.choice("role", ROLES)
    record = MessageRecord(
        line=reader.line,
        id=_needed_id(reader),
        parent=_id(reader, "parent"),
        run=_id(reader, "run"),
        role=role,
        content=_content(reader),
        tool_calls=tuple(_calls(reader, role)),
        tool_call_id=reader.text("tool_call_id"),
        call_key=_key(reader, "call_key"),
        outcome=_outcome(reader, role),
        duration_ms=reader.optional_number("duration_ms"),
        details=reader.mapping("details"),
        extra=reader.mapping("extra"),
        provider=reader.text("provider", most=100),
        turn=reader.fitting("turn", _TURN, _("a number or F")),
        level=reader.optional_whole("level", least=1, most=3),
        is_aborted=reader.flag("is_aborted"),
        created_at=reader.moment("created_at"),
        attachments=_attachments(reader, role),
    )
    check_details(reader, record)
    return record


def _content(reader: LineReader) -> JsonValue:
    """Text, a list of parts, or null."""
    value = reader.anything("content")
    is_list = isinstance(value, list) and all(isinstance(part, dict) for part in value)
    if not isinstance(value, str | None) and not is_list:
        reader.refuse("content", _("a text, a list of parts or null"))
    return value


def _key(reader: LineReader, name: str) -> str:
    return reader.fitting(name, _KEY, _("a key RUN:TURN:ATTEMPT:POSITION"))


def _calls(reader: LineReader, role: str) -> Iterator[JsonObject]:
    for call in reader.objects("tool_calls", _call):
        if role != "assistant":
            reader.refuse("tool_calls", _("left out: only an assistant calls tools"))
        assert isinstance(call, dict)
        yield call


def _call(reader: LineReader) -> JsonObject:
    arguments = reader.anything("arguments")
    if not isinstance(arguments, str | dict | None):
        reader.refuse("arguments", _("a text or an object"))
    call: JsonObject = {
        "id": reader.text("id"),
        "name": reader.text("name"),
        "arguments": arguments if arguments is not None else "",
        "key": _key(reader, "key"),
        "extra": reader.mapping("extra"),
    }
    reader.finish()
    return call


def _outcome(reader: LineReader, role: str) -> str:
    if role == "tool":
        return reader.choice("outcome", list(Outcome))
    if reader.text("outcome"):
        reader.refuse("outcome", _("left out: only results have one"))
    return ""


def _attachments(reader: LineReader, role: str) -> tuple[AttachmentRecord, ...]:
    found = reader.objects("attachments", _attachment)
    records = [record for record in found if isinstance(record, AttachmentRecord)]
    if records and role != "tool":
        reader.refuse("attachments", _("left out: only results have some"))
    if len({record.position for record in records}) < len(records):
        reader.refuse("attachments", _("a list with each position once"))
    return tuple(records)


def _attachment(reader: LineReader) -> AttachmentRecord:
    try:
        content = base64.b64decode(reader.text("data", is_needed=True), validate=True)
    except (binascii.Error, ValueError):
        reader.refuse("data", _("base64"))
    record = AttachmentRecord(
        position=reader.whole("position", most=10_000),
        kind=reader.choice("kind", KINDS),
        mime_type=reader.text("mime_type", most=100),
        content=content,
    )
    reader.finish()
    return record
