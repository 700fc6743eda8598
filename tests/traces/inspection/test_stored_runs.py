"""Runs of the real engine, stored in the database, loaded and read: record and words fit."""

from __future__ import annotations

from tests.fake_provider import FakeProvider, call, calls, error, text
from tests.running import Runner
from tests.servers import stdio_entry
from traces.inspection import build
from traces.inspection.detail_models import DetailView
from traces.inspection.panel_models import PanelsView
from traces.inspection.view_models import PageView
from traces.inspection_rows import load_trace
from traces.models import Trace
from traces.storage import load_payloads

NOW_NS = 0
"""Ended traces do not ask for the time."""


class Stored:
    """The newest stored trace, read with the payloads that each part says it needs."""

    def __init__(self) -> None:
        found = load_trace(Trace.objects.get().pk)
        assert found is not None
        self.trace, self.spans = found

    def page(self) -> PageView:
        payloads = load_payloads(build.page_hashes(self.spans))
        return build.build_page(self.trace, self.spans, payloads, now_ns=NOW_NS)

    def details(self, span: str) -> DetailView:
        payloads = load_payloads(build.detail_hashes(self.spans, span))
        found = build.build_details(self.trace, self.spans, payloads, span_id=span, now_ns=NOW_NS)
        assert found is not None
        return found

    def panels(self) -> PanelsView:
        payloads = load_payloads(build.panel_hashes(self.spans))
        return build.build_panels(self.trace, self.spans, payloads, now_ns=NOW_NS)

    def sentences(self) -> list[str]:
        lines = self.page().tree.lines
        return [line.sentence.text for line in lines if line.sentence is not None]


def test_an_unknown_trace_is_none(db: None) -> None:
    assert load_trace("nowhere") is None


def test_a_run_that_corrects_its_arguments(runner: Runner) -> None:
    script = [
        calls(call("c1", "echo__echo", {"text": "hi"})),
        calls(call("c2", "echo__echo", {"message": "hi"})),
        text("It said hi."),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("Say hi.")
    stored = Stored()
    assert stored.page().verdict.headline == (
        "Answered by the model in turn 1, after 2 tool calls, of which 1 failed."
    )
    assert stored.sentences() == [
        "retried: `message` is required, attempt 2 of 3",
        "continued: 2 tool calls answered, arguments mended in attempt 2",
        "stopped: no tool calls",
    ]
    totals = stored.page().totals
    assert sum(part.ns for part in totals.parts) == totals.wall_ns


def test_a_run_that_uses_all_its_turns_is_answered_by_the_fallback(runner: Runner) -> None:
    script = [calls(call(f"c{n}", "echo__echo", {"message": f"m{n}"})) for n in range(3)]
    with FakeProvider([*script, text("What I have so far.")]) as provider:
        runner.configure(
            provider,
            servers=[stdio_entry("echo")],
            assistant={"mcp": {"options": {"max_turn": 2}}},
        )
        runner.run("Go on.")
    stored = Stored()
    page = stored.page()
    assert page.verdict.headline == (
        "Answered by the fallback: all 2 turns were used and the model still asked for 1 tool."
    )
    assert (page.verdict.level, page.verdict.stop_reason) == ("answer level 2 of 3", "max_turns")
    assert [block.number for block in page.rail.blocks] == ["0", "1", "2", "F"]
    panels = stored.panels()
    assert panels.ledger.headline == "3 calls, 3 results"
    assert panels.ledger.is_closed
    assert [limit.name for limit in panels.limits if limit.ended] == ["max_turn"]
    assert [smell.name for smell in panels.smells] == ["unread"]


def test_a_refused_key_is_told_in_the_providers_words_with_what_to_do(runner: Runner) -> None:
    with FakeProvider([error(401)]) as provider:
        runner.configure(provider)
        runner.run("Hello")
    stored = Stored()
    page = stored.page()
    assert page.verdict.headline.startswith("No answer: ")
    assert "key" in page.verdict.headline
    detail = stored.details(page.selected)
    assert detail.summary.error is not None
    assert detail.summary.error.hint
    assert page.error_spans == (page.selected,)


def test_each_request_is_shown_as_its_difference_to_the_one_before(runner: Runner) -> None:
    script = [calls(call("c1", "echo__big", {"chars": 9000})), text("Long.")]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("Say much.")
    stored = Stored()
    messages = stored.details(stored.page().selected).messages
    assert messages is not None
    assert messages.counts.startswith("+2 messages, 1 cut from 9,000 to ")
    assert messages.counts.endswith("tools unchanged.")
    assert not messages.missing
    assert stored.sentences()[0].startswith("continued: 1 tool call answered, cut from 9,000 to ")
    assert [smell.name for smell in stored.panels().smells] == ["cut"]


def test_every_span_of_a_run_has_its_details(runner: Runner) -> None:
    script = [
        calls(call("c1", "echo__ping"), call("c2", "echo__fail"), call("c3", "echo__nothing")),
        text("Done."),
    ]
    with FakeProvider(script) as provider:
        runner.configure(provider, servers=[stdio_entry("echo")])
        runner.run("Try.")
    stored = Stored()
    for span in stored.spans:
        detail = stored.details(span.id)
        assert detail.summary.sentence, span.name
        assert detail.policy is not None
        assert not detail.policy.missing
        assert detail.policy.funnel[0].name == "discovered"
    refused = stored.details(stored.page().selected).policy
    assert refused is not None
    assert [view.name for view in refused.refused] == ["echo__nothing"]
