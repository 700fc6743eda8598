"""The model's window is recorded with a run's limits, and the inspector measures against it."""

from __future__ import annotations

import pytest

from tests.fake_provider import FakeProvider, text
from tests.running import Runner
from tests.traces.inspection.recorded import Recorded
from traces.models import Span, SpanKind


@pytest.mark.parametrize(("window", "recorded"), [(32_000, 32_000), (None, None)])
def test_the_models_window_is_recorded_with_the_limits_where_it_is_known(
    runner: Runner, window: int | None, recorded: int | None
) -> None:
    with FakeProvider([text("done")]) as provider:
        known = {"compaction": {"context_window": window}} if window else {}
        runner.configure(provider, assistant=known)
        runner.run("go")
    [agent] = Span.objects.filter(kind=SpanKind.AGENT)
    assert agent.attributes["toolloop.limits"].get("context_window") == recorded
    assert agent.attributes["toolloop.limits"]["max_turn"] == 5


def test_the_inspector_measures_against_the_window_that_was_recorded() -> None:
    recorded = Recorded()
    run = recorded.teller()
    run.start(limits={"max_turn": 5, "context_window": 8000})
    run.turn(0)
    run.say("Sunny.")
    run.close(0, "answered")
    run.finish()
    page, panels = recorded.page(), recorded.panels()
    assert (page.rail.cap, page.rail.is_window) == ("8,000", True)
    assert panels.growth.is_window
    [context] = [limit for limit in panels.limits if limit.name == "window"]
    assert (context.value, context.limit) == (100, 8000)
