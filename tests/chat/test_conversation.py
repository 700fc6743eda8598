"""A conversation as its page shows it, from stored rows and a live run."""

from __future__ import annotations

import json

import pytest

from agents.chat.conversation import conversation_view
from agents.chat.page_models import ConversationView
from agents.chat.view_models import (
    BatchView,
    CardView,
    NoteBlock,
    RunView,
    TextBlock,
)
from agents.loop.results import Outcome
from agents.models import Conversation, Run, RunStatus
from agents.runs.live import LiveRun
from tests.chat.factory import LIMITS, Talk, every_state, running_talk, three_cities


def shown(talk: Talk, *lives: LiveRun) -> ConversationView:
    row = Conversation.objects.get(pk=talk.conversation.pk)
    return conversation_view(row, {live.run: live for live in lives})


def last_run(view: ConversationView) -> RunView:
    found = view.items[-1]
    assert isinstance(found, RunView)
    return found


def cards(run: RunView) -> list[CardView]:
    blocks = [block for step in run.steps for block in step.blocks]
    return [card for block in blocks if isinstance(block, BatchView) for card in block.cards]


def test_an_empty_conversation_introduces_its_assistant(talk: Talk) -> None:
    view = shown(talk)
    assert view.items == []
    assert view.intro.name == "Travel desk"
    assert [(s.name, s.tools, s.state.word) for s in view.intro.servers] == [
        ("weather", 3, "up"),
        ("memory", 1, "down"),
    ]
    assert view.intro.down == 1
    assert [starter.title for starter in view.intro.starters] == [
        "What is the weather in Oslo?",
        "Pack for three cities",
        "北京今天适合穿什么?",
    ]


def test_a_run_shows_its_turns_with_the_numbers_of_the_trace(talk: Talk) -> None:
    three_cities(talk)
    run = last_run(shown(talk))
    assert [step.node for step in run.steps] == ["0", "1", "F"]
    assert [type(block) for block in run.steps[0].blocks] == [
        TextBlock, BatchView, NoteBlock, BatchView,
    ]  # fmt: skip
    assert run.steps[2].is_fallback
    assert not any(step.is_now for step in run.steps)


def test_a_parameter_retry_says_which_attempt_and_why(talk: Talk) -> None:
    three_cities(talk)
    run = last_run(shown(talk))
    note = run.steps[0].blocks[2]
    assert isinstance(note, NoteBlock)
    assert note.letter == "R"
    assert "attempt 2 of 3" in note.text
    assert "/city is required" in note.text
    assert cards(run)[3].attempt == "2 of 3"


def test_calls_that_were_answered_fold_into_a_group_that_opens_when_one_failed(talk: Talk) -> None:
    three_cities(talk)
    steps = last_run(shown(talk)).steps
    first, second, third = (
        next(b for b in blocks if isinstance(b, BatchView))
        for blocks in (steps[0].blocks, steps[0].blocks[2:], steps[1].blocks)
    )
    assert (first.is_group, first.is_open, first.title) == (True, True, "3 tool calls")
    assert first.outcome is not None
    assert first.outcome.word == "1 failed"
    assert not second.is_group
    assert (third.is_group, third.is_open) == (True, False)
    assert third.outcome is not None
    assert third.outcome.word == "1 truncated"


def test_every_stored_outcome_has_its_own_word_and_icon(talk: Talk) -> None:
    every_state(talk)
    found = cards(last_run(shown(talk)))
    assert [card.state.name for card in found] == [outcome.value for outcome in Outcome]
    assert len({card.state.word for card in found}) == len(Outcome)
    assert len({card.state.icon for card in found}) == len(Outcome)
    assert all("why it was" in card.reason for card in found if card.state.name != "ok")


def test_a_cut_result_says_how_much_the_model_saw(talk: Talk) -> None:
    talk.ask("Read it.")
    [key] = talk.call(("weather_history", {"month": 12}))
    talk.result(key, "x" * 8000, truncated=True, chars=18_204)
    talk.finish(turns=1)
    [card] = cards(last_run(shown(talk)))
    assert card.state.word == "done, truncated"
    assert card.reason == "The model saw 8,000 of 18,204 characters."
    assert "kept 8,000 of 18,204 characters" in [fact.text for fact in card.facts]


def test_the_policy_of_a_call_is_what_the_run_was_started_with(talk: Talk) -> None:
    talk.ask("Note it.")
    [key] = talk.call(("memory_memory_write", {"path": "a"}))
    talk.result(key, "ok", tool="memory / memory_write", arguments={"path": "a"}, kept=True)
    talk.finish()
    [card] = cards(last_run(shown(talk)))
    facts = {fact.name: fact.text for fact in card.facts}
    assert facts["decision"] == "a person is asked (memory.memory_write = ask)"
    assert facts["whitelist"] == "tools chosen by an operator: memory_write"
    assert facts["time limit"] == "30 s without a sign of life, 120 s at most"
    assert "nothing was executed" in facts["used again"]


def test_a_live_run_is_laid_over_what_is_stored(talk: Talk) -> None:
    live = running_talk(talk)
    live.parts.append("半句")
    view = shown(talk, live)
    run = last_run(view)
    done, running, waiting = cards(run)
    assert (done.state.name, running.state.name, waiting.state.name) == (
        "ok", "running", "awaiting_approval",
    )  # fmt: skip
    assert running.progress is not None
    assert (running.progress.label, running.progress.message) == ("2 of 3", "正在比较 3 套搭配")
    assert waiting.kind == "ask"
    assert [field.name for field in waiting.fields] == ["path", "text"]
    assert waiting.rule == "memory.memory_write = ask"
    assert [step.is_now for step in run.steps] == [False, True]
    written = run.steps[1].live
    assert written is not None
    assert (written.text, written.length, written.lang) == ("半句", 2, "zh")
    assert view.status is not None
    assert view.status.strong == "Turn 1 of 5"
    assert view.status.text == "1 call running, 1 waits for you"


def test_a_run_that_goes_on_elsewhere_shows_what_is_stored(talk: Talk) -> None:
    running_talk(talk)
    run = last_run(shown(talk))
    assert [card.state.name for card in cards(run)] == ["ok", "running", "running"]
    assert run.is_live
    assert run.ending is None


def test_a_call_that_has_not_begun_is_queued(talk: Talk) -> None:
    run = talk.ask("Look.")
    talk.call(("weather_get", {"city": "Oslo"}))
    live = LiveRun(run=run.pk, conversation=run.conversation_id, limits=LIMITS)
    [card] = cards(last_run(shown(talk, live)))
    assert card.state.name == "queued"


def test_calls_of_a_run_that_was_lost_were_interrupted(talk: Talk) -> None:
    talk.ask("Look.")
    keys = talk.call(("weather_get", {"city": "Oslo"}), ("weather_get", {"city": "Lima"}))
    talk.result(keys[0], "5 °C")
    talk.finish(RunStatus.INTERRUPTED, "worker_lost", level=3)
    run = last_run(shown(talk))
    assert [card.state.name for card in cards(run)] == ["ok", "interrupted"]
    assert run.ending is not None
    assert run.ending.strong == "Interrupted."
    assert "1 of 2 calls had answered." in run.ending.text


def lost_call(talk: Talk, name: str) -> tuple[CardView, dict[str, str]]:
    """The card of a call whose process ended before its result was stored, and its facts."""
    talk.ask("Look.")
    talk.call((name, {"path": "a"}))
    talk.finish(RunStatus.INTERRUPTED, "worker_lost", level=3)
    [card] = cards(last_run(shown(talk)))
    return card, {fact.name: fact.text for fact in card.facts}


def test_a_call_whose_process_was_lost_tells_whom_it_asked(talk: Talk) -> None:
    card, facts = lost_call(talk, "memory__memory_write")
    assert (card.server, card.tool, card.duration) == ("memory", "memory_write", "")
    assert facts["decision"] == "a person is asked (memory.memory_write = ask)"
    assert facts["whitelist"] == "tools chosen by an operator: memory_write"


@pytest.mark.parametrize("name", ["elsewhere__get", "memory__memory_w_0a1b2c3d", "memory__"])
def test_of_a_lost_call_nothing_is_claimed_that_nobody_knows(talk: Talk, name: str) -> None:
    card, facts = lost_call(talk, name)
    assert (card.server, card.tool) == ("", name)
    assert facts["decision"] == facts["whitelist"] == "not known: nothing was stored of it"


def test_a_call_of_a_tool_that_there_is_not_asked_no_server(talk: Talk) -> None:
    talk.ask("Look.")
    [key] = talk.call(("nothing", {}))
    talk.result(key, "Error", tool="", outcome=Outcome.UNKNOWN_TOOL, milliseconds=0)
    talk.finish()
    facts = {fact.name: fact.text for fact in cards(last_run(shown(talk)))[0].facts}
    assert facts["decision"] == facts["whitelist"] == "no server was asked"


@pytest.mark.parametrize(("milliseconds", "told"), [(5310, "5.31 s"), (0, "")])
def test_a_cancelled_call_tells_how_long_it_ran(talk: Talk, milliseconds: float, told: str) -> None:
    talk.ask("Look.")
    [key] = talk.call(("weather__get", {}))
    talk.result(key, "Error", outcome=Outcome.CANCELLED, milliseconds=milliseconds)
    talk.finish(RunStatus.CANCELLED, "cancelled")
    assert cards(last_run(shown(talk)))[0].duration == told


ENDINGS = [
    (RunStatus.COMPLETED, "answered", 1, "", None),
    (RunStatus.COMPLETED, "delegated", 1, "", None),
    (RunStatus.COMPLETED, "max_turns", 2, "", "Turn limit 5 reached"),
    (RunStatus.COMPLETED, "time", 2, "", "Time limit of 600 s reached"),
    (RunStatus.COMPLETED, "errors", 2, "", "Too many tool calls failed"),
    (RunStatus.COMPLETED, "repeats", 2, "", "The same call was asked for again and again"),
    (RunStatus.FAILED, "provider_error", 3, "The key was refused.", "The model gave no answer."),
    (RunStatus.FAILED, "context", 3, "", "The conversation is too long for the model."),
    (RunStatus.FAILED, "hook_error", 3, "", "A hook of this assistant failed."),
    (RunStatus.FAILED, "empty", 3, "", "The model gave an empty answer twice."),
    (RunStatus.CANCELLED, "cancelled", None, "", "Stopped by you."),
    (RunStatus.INTERRUPTED, "worker_lost", 3, "", "Interrupted."),
]


@pytest.mark.parametrize(("status", "reason", "level", "error", "line"), ENDINGS)
def test_every_run_that_did_not_end_normally_ends_in_one_line(
    talk: Talk, status: str, reason: str, level: int | None, error: str, line: str | None
) -> None:
    talk.ask("Hello?")
    talk.say("Hm.", level=level)
    talk.finish(status, reason, level=level, error=error, turns=5)
    ending = last_run(shown(talk)).ending
    assert (ending.strong if ending else None) == line
    if ending is not None and error:
        assert error in ending.text + ending.detail


def test_what_another_assistant_answered_stands_in_the_same_run(talk: Talk) -> None:
    root = talk.ask("Hello?")
    child = Run.objects.create(
        conversation=talk.conversation,
        assistant=talk.conversation.assistant,
        user=talk.conversation.user,
        parent_run=root,
        trace_id=root.trace_id,
        status=RunStatus.RUNNING,
        configuration=root.configuration,
    )
    talk.say("Hello from the other one.", run=child, level=1)
    Run.objects.filter(pk=child.pk).update(
        status="completed", stop_reason="answered", finished_at=talk.at
    )
    talk.finish(reason="delegated", level=1)
    view = shown(talk)
    assert len(view.items) == 2
    note, text = last_run(view).steps[-1].blocks
    assert isinstance(note, NoteBlock)
    assert note.text == "Handed over to Travel desk."
    assert isinstance(text, TextBlock)
    assert "Hello from the other one." in text.html


def test_messages_that_wait_are_shown_in_their_order(talk: Talk) -> None:
    running_talk(talk)
    talk.queue("first")
    talk.queue("second")
    view = shown(talk)
    assert [item.text for item in view.queue] == ["first", "second"]
    assert len(view.items) == 2


def test_only_the_path_to_the_leaf_is_shown(talk: Talk) -> None:
    talk.ask("old question")
    talk.say("old answer", level=1)
    talk.finish(level=1)
    talk.parent = None
    talk.ask("new question")
    talk.say("new answer", level=1)
    talk.finish(level=1)
    view = shown(talk)
    assert len(view.items) == 2
    assert json.dumps([str(item) for item in view.items]).count("old") == 0
