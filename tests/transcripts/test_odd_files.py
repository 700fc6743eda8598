"""Whatever is imported can be looked at: a file can hold what no run would have written."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.loop.history import repair_history
from agents.loop.wire import Wire, WireRules
from agents.models import Assistant
from agents.runs import lifecycle
from agents.runs.plans import load_plan
from tests.history_faults import history_fault
from tests.transcripts.conftest import HEAD, as_file, bring_in, message

pytestmark = pytest.mark.django_db

RUN = {
    "type": "run", "id": "r1", "status": "completed", "stop_reason": "answered", "message": "u1",
}  # fmt: skip
PARTS = [{"type": "text", "text": "seen"}, {"type": "image_url"}, {}, {"type": "text", "text": 5}]


def asked(**others: Any) -> dict[str, Any]:
    call = {"id": "", "name": "", "arguments": "", "key": "r1:0:1:0", **others}
    return message("a1", "u1", "assistant", None, run="r1", tool_calls=[call], turn="0")


def result(content: Any = "ok", **others: Any) -> dict[str, Any]:
    fields = {"run": "r1", "call_key": "r1:0:1:0", "outcome": "ok", "tool_call_id": "", **others}
    return message("t1", "a1", "tool", content, **fields)


USER = message("u1", None, "user", "Hello")


@pytest.mark.parametrize(
    "lines",
    [
        [RUN, {**USER, "content": PARTS}, asked(), result(PARTS)],
        [RUN, {**USER, "content": None}, asked(), result(None, duration_ms=1e11)],
        [RUN, {**USER, "content": []}, asked(arguments={"a": [1]}), result({}.get("x"), level=2)],
        [RUN, USER, asked(arguments="{broken"), result(outcome="tool_error", turn="F")],
        [RUN, USER, asked(), result(details={"arguments": 7, "structured": [[]], "attempt": 9})],
        [RUN, USER, asked(), result(details={"arguments": [[1]], "truncated": True})],
        [RUN, USER, asked(name="a" * 500, extra={"role": "system"}), result(extra={"role": "x"})],
        [RUN, USER, {**asked(), "is_aborted": True, "extra": {"content": 5}, "level": 3}],
        [RUN, USER, asked(), message("u2", "a1", "user", "no result came")],
        [{**RUN, "status": "failed", "stop_reason": "never_heard_of", "error": "x" * 5000}, USER],
        [
            {**RUN, "finished_at": "1970-01-01T00:00:00Z", "started_at": "2030-01-01T00:00:00Z"},
            USER,
        ],
        [RUN, {**USER, "created_at": "9999-12-31T23:59:59+00:00"}, asked(), result()],
        [{**RUN, "message": None}, message("a1", None, "assistant", "first words", run="r1")],
        [RUN, {**RUN, "id": "r2", "parent_run": "r1"}, USER, asked(), result()],
        [USER, message("t1", "u1", "assistant", "", details={"usage": [1, 2], "source": "fixed"})],
        [],
    ],
)
def test_what_was_taken_can_be_shown_and_goes_on(
    assistant: Assistant, mira: User, client: Client, lines: list[Any]
) -> None:
    head = {**HEAD, "title": "<b>Odd</b>"}
    [row] = bring_in(mira, as_file([head, *lines]))
    client.force_login(mira)
    page = client.get(f"/c/{row.pk}/")
    assert page.status_code == 200 and b"<b>Odd</b>" not in page.content
    assert client.get(f"/c/{row.pk}/log/").status_code == 200
    assert client.get(f"/c/{row.pk}/export/").status_code == 200
    row.refresh_from_db()
    run = lifecycle.submit_message(row, "go on")
    assert lifecycle.claim_run(run.pk, "test")
    plan = load_plan(run.pk)
    assert plan.message is not None
    repaired, _ = repair_history([*plan.history, plan.message])
    sent = [dict(item) for item in Wire(WireRules(provider="p")).messages(repaired)]
    assert not history_fault(sent)
