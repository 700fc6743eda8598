"""A person decides on a call: who it was is told, and stands in the trace."""

from __future__ import annotations

import pytest

from agents.loop.interfaces import Approval, ApprovalRequest
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Ran, Runner
from tests.servers import stdio_entry
from traces.models import Span, SpanKind

PING = calls(call("c1", "echo__ping"))


class Ann:
    """A person who decides at once."""

    def __init__(self, *, allows: bool) -> None:
        self.allows = allows

    async def decide(self, request: ApprovalRequest) -> Approval:
        reason = "" if self.allows else "Not on Sundays."
        return Approval(is_allowed=self.allows, reason=reason, by="ann")


def asked(runner: Runner, monkeypatch: pytest.MonkeyPatch, person: Ann) -> Ran:
    monkeypatch.setattr("agents.runs.terminal.terminal_approver", lambda: person)
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        return runner.run("go")


@pytest.mark.parametrize(("allows", "outcome"), [(True, "ok"), (False, "denied")])
def test_who_decided_is_told_and_stands_in_the_trace(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, allows: bool, outcome: str
) -> None:
    ran = asked(runner, monkeypatch, Ann(allows=allows))
    [decided] = ran.of("approval_decided")
    assert (decided["allowed"], decided["by"]) == (allows, "ann")
    assert ran.outcomes == [outcome]
    [span] = Span.objects.filter(kind=SpanKind.TOOL_CALL)
    assert span.attributes["toolloop.approval.by"] == "ann"
    assert span.attributes["toolloop.approval.allowed"] is allows


def test_where_nobody_is_asked_that_is_told(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with FakeProvider([PING, text("done")]) as provider:
        runner.configure(
            provider, servers=[stdio_entry("echo")], assistant={"approval": {"default": "ask"}}
        )
        ran = runner.run("go")
    [decided] = ran.of("approval_decided")
    assert (decided["allowed"], decided["by"]) == (False, "nobody")
