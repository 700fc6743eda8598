"""Who decided on a call, as the inspector says it."""

from __future__ import annotations

import pytest

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.events import tool_call
from tests.traces.inspection.recorded import Recorded


def approval_line(by: str, *, allows: bool, reason: str = "") -> str:
    recorded = Recorded()
    run = recorded.teller()
    call = tool_call("a")
    place = {"turn": 0, "attempt": 1, "call": call}
    run.begin()
    run.turn(0)
    run.say("", call)
    run.tell(events.ToolCallWaiting, server="echo", tool="echo", arguments={}, **place)
    run.wait(1199)
    run.tell(events.ToolCallDecided, is_allowed=allows, reason=reason, by=by, **place)
    run.finish_call(call, Outcome.OK if allows else Outcome.DENIED)
    run.close(0, "continued", calls=1)
    return recorded.details("echo.echo").summary.approval


@pytest.mark.parametrize(
    ("by", "allows", "reason", "line"),
    [
        ("ann", True, "", "ann allowed it after 1.20 s."),
        ("ann", False, "Not now", "ann refused it after 1.20 s: “Not now”."),
        ("terminal", True, "", "The person at the terminal allowed it after 1.20 s."),
        ("nobody", False, "Nobody is here", "Refused without a person. Nobody is here."),
        ("", True, "", "A person allowed it after 1.20 s."),
    ],
)
def test_who_decided_is_named(by: str, allows: bool, reason: str, line: str) -> None:
    assert approval_line(by, allows=allows, reason=reason) == line
