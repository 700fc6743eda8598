"""What the socket sends is what the page would show."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.chat.fragments import (
    Fragment,
    fragments_for,
    fragments_for_queue,
    render_event,
    whole_conversation,
)
from agents.loop.events import (
    Event,
    ModelDeltaReceived,
    ModelRequestStarted,
    NoteLogged,
    ParameterRetry,
    RunFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    ToolCallWaiting,
    TurnStarted,
)
from agents.loop.interfaces import ModelDelta
from agents.loop.messages import Message, Role, ToolCall
from agents.loop.results import Outcome, ToolResult
from agents.models import RunStatus
from agents.runs.live import LiveRun
from tests.chat.factory import LIMITS, Talk, running_talk, three_cities


def by_id(fragments: list[Fragment]) -> dict[str, Fragment]:
    return {fragment.id: fragment for fragment in fragments}


def call_of(key: str, name: str = "weather_get") -> ToolCall:
    return ToolCall(id="call_0", name=name, arguments="{}", key=key)


def finished(run: str, **more: object) -> RunFinished:
    values = {
        "status": "completed", "stop_reason": "answered", "level": 1, "answer": "", "turns": 0,
        "tool_calls": 0, "input_tokens": 0, "output_tokens": 0,
    }  # fmt: skip
    return RunFinished(run=run, at_ns=1, **{**values, **more})


def page_html(page: Client, talk: Talk) -> str:
    return page.get(f"/c/{talk.conversation.pk}/").content.decode()


def squeezed(html: str) -> str:
    """Without blanks and clocks, which may differ."""
    return re.sub(r"\s+|data-elapsed=\"\d+\"", "", html)


def test_a_run_that_begins_brings_its_message_and_its_article(talk: Talk) -> None:
    run = talk.ask("Hello?")
    live = LiveRun(run=run.pk, conversation=run.conversation_id, limits=LIMITS)
    event = RunStarted(
        run=run.pk, at_ns=1, conversation=run.conversation_id, trace="t", assistant="a"
    )
    live.apply(event)
    found = by_id(fragments_for(event, live))
    assert found["intro"].mode == "remove"
    assert found[f"msg-{run.message_id}"].parent == "log"
    assert found[f"run-{run.pk}"].parent == "log"
    assert 'aria-busy="true"' in found[f"run-{run.pk}"].html
    assert f'id="live-text-{run.pk}"' in found[f"run-{run.pk}"].html
    assert "hidden" not in found["status"].html.split(">")[0]

    asked = ModelRequestStarted(
        run=run.pk, at_ns=2, turn=0, attempt=1, try_number=1, provider="p", model="m",
        messages=(), tools=(), tool_names=(), options={},
    )  # fmt: skip
    live.apply(asked)
    assert {"live-rail-body", f"cv-{run.conversation_id}"} <= by_id(
        fragments_for(asked, live)
    ).keys()


def test_a_run_that_ended_looks_as_if_the_page_was_loaded(talk: Talk, page: Client) -> None:
    three_cities(talk)
    assert talk.run is not None
    live = LiveRun(run=talk.run.pk, conversation=talk.conversation.pk)
    found = by_id(fragments_for(finished(talk.run.pk), live))
    loaded = squeezed(page_html(page, talk))
    assert squeezed(found[f"run-{talk.run.pk}"].html) in loaded
    assert squeezed(found["status"].html) in loaded


def test_a_new_turn_takes_the_place_of_the_one_before(talk: Talk) -> None:
    live = running_talk(talk)
    live.turn = "2"
    found = by_id(fragments_for(TurnStarted(run=live.run, at_ns=1, turn=2), live))
    before, now = found[f"step-{live.run}-1"], found[f"step-{live.run}-2"]
    assert (before.parent, now.parent) == (f"steps-{live.run}", f"steps-{live.run}")
    assert "live-text" not in before.html
    assert f'id="live-text-{live.run}"' in now.html
    assert 'class="step now"' in now.html


def test_a_call_changes_only_its_batch(talk: Talk) -> None:
    live = running_talk(talk)
    running, waiting = live.calls
    started = ToolCallStarted(
        run=live.run, at_ns=1, turn=1, attempt=1, call=call_of(running), call_id="c",
        server="clothing", tool="advise", arguments={},
    )  # fmt: skip
    asked = ToolCallWaiting(
        run=live.run, at_ns=1, turn=1, attempt=1, call=call_of(waiting), server="memory",
        tool="memory_write", arguments={},
    )  # fmt: skip
    for event in (started, asked):
        found = by_id(fragments_for(event, live))
        batch = found[f"batch-{live.run}-1-1"]
        assert batch.parent == f"step-{live.run}-1"
        assert f'data-decide="{waiting}"' in batch.html
        assert f'data-stop-call="{running}"' in batch.html
        assert f"run-{live.run}" not in found
        assert "needs your answer" in found[f"cv-{live.conversation}"].html


def test_progress_changes_only_its_card(talk: Talk) -> None:
    live = running_talk(talk)
    running, _ = live.calls
    event = ToolCallProgressed(
        run=live.run, at_ns=1, turn=1, attempt=1, call=call_of(running), progress=2.0, total=3.0,
        message="正在比较 3 套搭配",
    )  # fmt: skip
    [card] = fragments_for(event, live)
    assert card.id == "call-" + running.replace(":", "-")
    assert '<progress class="meter run" max="3" value="2"' in card.html
    assert "正在比较 3 套搭配" in card.html


def test_the_last_result_folds_a_batch_into_a_group(talk: Talk) -> None:
    live = running_talk(talk)
    for key in live.calls:
        talk.result(key, "fine", arguments={})
        live.calls[key].state = "ok"
    key = next(iter(live.calls))
    result = ToolResult(
        call=call_of(key), server="clothing", tool="advise", outcome=Outcome.OK, text="fine"
    )
    event = ToolCallFinished(
        run=live.run, at_ns=1, turn=1, attempt=1, call_id="c", result=result,
        message=Message(role=Role.TOOL, content="fine"),
    )  # fmt: skip
    group = by_id(fragments_for(event, live))[f"batch-{live.run}-1-1"]
    assert group.html.startswith('<details class="group"')
    assert "2 tool calls" in group.html


def test_a_parameter_retry_is_said_before_the_model_answers_again(talk: Talk) -> None:
    run = talk.ask("Look.")
    [key] = talk.call(("weather_get", {"town": "Oslo"}))
    talk.result(
        key, "Error", outcome=Outcome.INVALID_ARGUMENTS, correctable=True, error="city is required"
    )
    live = LiveRun(run=run.pk, conversation=run.conversation_id, limits=LIMITS)
    event = ParameterRetry(run=run.pk, at_ns=1, attempt=2, calls=("c",), notice="")
    live.apply(event)
    html = by_id(fragments_for(event, live))[f"step-{run.pk}-0"].html
    assert "attempt 2 of 3. city is required" in html


def test_a_stopped_run_says_so_in_every_tab(talk: Talk) -> None:
    run = talk.ask("Tell me a story.")
    talk.say("Once upon a", turn="0", is_aborted=True)
    talk.finish(RunStatus.CANCELLED, "cancelled")
    live = LiveRun(run=run.pk, conversation=run.conversation_id)
    event = finished(run.pk, status="cancelled", stop_reason="cancelled", level=None)
    html = by_id(fragments_for(event, live))[f"run-{run.pk}"].html
    assert "Once upon a" in html
    assert "cut off here" in html
    assert "Stopped by you." in html


def test_the_queue_is_one_fragment(talk: Talk) -> None:
    running_talk(talk)
    run = talk.queue("and <tomorrow>?")
    [queue] = fragments_for_queue(talk.conversation.pk)
    assert queue.id == "queue"
    assert f'data-run="{run.pk}"' in queue.html
    assert "and &lt;tomorrow&gt;?" in queue.html


def test_a_page_that_missed_something_gets_what_it_would_have_loaded(
    talk: Talk, page: Client
) -> None:
    three_cities(talk)
    live = running_talk(talk)
    whole = whole_conversation(talk.conversation.pk, {live.run: live})
    loaded = squeezed(page_html(page, talk))
    first = squeezed(str(whole["html"])).split('<articleclass="msgrunlive"')[0]
    assert first in loaded
    assert [item["id"] for item in whole["items"]] == [
        "talk-title", "status", "queue", "live-rail-body", "rail-state",
        f"cv-{talk.conversation.pk}",
    ]  # fmt: skip


def test_a_conversation_that_is_gone_gives_nothing(db: None) -> None:
    assert whole_conversation("nowhere", {}) == {"html": "", "items": []}
    assert fragments_for(finished("nowhere"), LiveRun(run="nowhere", conversation="c")) == []


def test_fragments_speak_the_language_of_the_page(talk: Talk, page: Client) -> None:
    page.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    page_html(page, talk)
    live = running_talk(talk)
    found = by_id(fragments_for(TurnStarted(run=live.run, at_ns=1, turn=1), live))
    assert "第 1 轮，共 5 轮" in found["status"].html


def test_every_fragment_has_a_place_on_the_page(talk: Talk, page: Client) -> None:
    live = running_talk(talk)
    ids = set(re.findall(r'\sid="([^"]+)"', page_html(page, talk)))
    for event in (TurnStarted(run=live.run, at_ns=1, turn=1), finished(live.run)):
        for fragment in fragments_for(event, live):
            known = fragment.id in ids or fragment.parent in ids or fragment.mode == "remove"
            assert known, fragment.id


@pytest.mark.parametrize(
    "event",
    [
        ModelDeltaReceived(run="r", at_ns=1, turn=0, attempt=1, delta=ModelDelta(text="x")),
        NoteLogged(run="r", at_ns=1, level="info", text="x"),
    ],
)
async def test_what_the_page_does_not_show_costs_no_query(event: Event) -> None:
    assert await render_event(event, LiveRun(run="r"), "en") == []
