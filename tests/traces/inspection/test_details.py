"""The right side: what a span was, what was sent and how that changed, policy and its rules."""

from __future__ import annotations

from typing import Any

from agents.loop import events
from agents.loop.messages import JsonObject
from agents.loop.results import ContentPart, Outcome, PartKind
from tests.traces.inspection.recorded import PROMPT, QUESTION, Recorded, RunTeller, weather_call
from traces.inspection.detail_models import DetailView, MessagesView
from traces.inspection.texts import SHOWN_CHARS

TOOLS: tuple[JsonObject, ...] = (
    {"type": "function", "function": {"name": "weather__get", "parameters": {}}},
)
REPORT: JsonObject = {
    "offered": [
        {"name": "weather__get", "server": "weather", "tool": "get", "decision": "ask",
         "rule": "weather.get"},
    ],
    "left_out": [
        {"name": "weather__admin", "server": "weather", "tool": "admin",
         "reason": "not_whitelisted", "detail": ""},
        {"name": "weather__tile", "server": "weather", "tool": "tile",
         "reason": "invalid_schema", "detail": "$ref to the network"},
        {"name": "maps__", "server": "maps", "tool": "", "reason": "server_unavailable",
         "detail": "did not answer in 5 s"},
    ],
    "servers": [
        {"server": "weather", "protocol": "2026-07-28", "tools": 3, "error": None},
        {"server": "maps", "protocol": "", "tools": 0, "error": "did not answer in 5 s"},
    ],
}  # fmt: skip


def begun() -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    run.start(limits={"parameter_attempts": 3, "max_turn": 5})
    run.tell(events.CatalogBuilt, report=REPORT)
    return recorded, run


def asked(call_id: str) -> JsonObject:
    """An assistant message with one call, as it is sent."""
    function: JsonObject = {"name": "weather__get", "arguments": '{"city": "Lima"}'}
    calls: Any = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def said(call_id: str, text: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def two_requests(*second: JsonObject, **call: Any) -> tuple[Recorded, MessagesView]:
    recorded, run = begun()
    offer = {"tools": TOOLS, "tool_names": ("weather__get",)}
    run.turn(0)
    run.say("", weather_call("a"), messages=(PROMPT, QUESTION), **offer)
    run.run_call("a", **call)
    run.close(0, "continued", calls=1)
    run.answer_in(1, messages=second, **offer)
    messages = recorded.details("chat m1", turn="1").messages
    assert messages is not None
    return recorded, messages


def test_the_first_request_has_nothing_to_be_compared_with() -> None:
    recorded, _messages = two_requests(PROMPT, QUESTION)
    messages = recorded.details("chat m1", turn="0").messages
    assert messages is not None
    assert messages.previous is None
    assert messages.counts == "2 messages, 1 tool offered."
    assert [(view.number, view.role, view.change) for view in messages.messages] == [
        (1, "system", ""), (2, "user", ""),
    ]  # fmt: skip
    assert messages.answer is not None
    [call] = messages.answer.calls
    assert (call.name, call.span) == ("weather__get", recorded.span("weather.get").id)


def test_a_request_is_shown_as_what_is_new_in_it() -> None:
    cut = {"full_text": "x" * 18_204, "text": "x" * 8_000, "is_truncated": True}
    recorded, messages = two_requests(
        PROMPT, QUESTION, asked("call_a"), said("call_a", "x" * 8_000), **cut
    )
    assert messages.counts == (
        "+2 messages, 1 cut from 18,204 to 8,000 characters, tools unchanged."
    )
    assert (messages.unchanged, messages.unchanged_text) == (2, "2 messages unchanged")
    assert [(view.role, view.change, view.label) for view in messages.changes] == [
        ("assistant", "added", ""), ("tool", "added", "weather / get"),
    ]  # fmt: skip
    assert messages.previous is not None
    assert messages.previous.span == recorded.span("chat m1", turn="0").id
    assert recorded.details("chat m1", turn="1").tabs[1].badge == "+2"


def test_a_result_that_was_cut_later_is_a_change() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", text="x" * 3000)
    run.close(0, "continued", calls=1)
    run.turn(1)
    long, short = said("call_a", "x" * 3000), said("call_a", "x" * 2000)
    run.ask(PROMPT, asked("call_a"), long, turn=1)
    run.tell(
        events.ModelFailed, turn=1, attempt=1, provider="main", model="m1", error="Too long.",
        kind="ContextTooLong",
    )  # fmt: skip
    run.say("Sunny.", turn=1, messages=(PROMPT, asked("call_a"), short))
    messages = recorded.details("chat m1", turn="1", status="ok").messages
    assert messages is not None
    [change] = messages.changes
    assert (change.change, change.role, change.number) == ("changed", "tool", 3)
    assert change.note == "1 cut from 3,000 to 2,000 characters"
    assert change.before is not None
    assert change.before.length == 3000


def test_removed_messages_changed_tools_and_options_are_told() -> None:
    recorded, run = begun()
    offer = {"tools": TOOLS, "tool_names": ("weather__get",)}
    run.turn(0)
    run.say("", messages=(PROMPT, QUESTION), options={"temperature": 0.2}, **offer)
    run.say("Hm.", messages=(QUESTION,), options={"temperature": 0.7}, try_number=2)
    second = [span for span in recorded.rows if span.kind == "model"][1]
    messages = recorded.details("chat m1", id=second.id).messages
    assert messages is not None
    assert messages.counts == "1 removed, no tools offered, temperature 0.7, was 0.2."
    assert [view.change for view in messages.changes] == ["removed"]
    assert [view.role for view in messages.messages] == ["user"]


def test_payloads_that_are_gone_are_told() -> None:
    recorded, _messages = two_requests(PROMPT, QUESTION)
    recorded.payloads.clear()
    detail = recorded.details("chat m1", turn="1")
    assert detail.messages is not None
    assert detail.messages.missing == "2 messages are no longer stored."
    assert detail.policy is not None
    assert detail.policy.missing == "The catalog is no longer stored."


def call_details(outcome: Outcome = Outcome.OK, **result: Any) -> DetailView:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", outcome, **result)
    run.close(0, "continued", calls=1)
    return recorded.details("weather.get")


def test_a_call_shows_input_and_output_and_its_neighbours() -> None:
    detail = call_details(
        structured={"sky": "clear"},
        parts=(ContentPart(kind=PartKind.IMAGE, data="AAAA" * 400, mime_type="image/png"),),
    )
    assert detail.tab == "call"
    call = detail.call
    assert call is not None
    assert call.arguments is not None
    assert call.arguments.text == '{\n  "city": "Lima"\n}'
    assert call.raw is None
    assert call.result is not None
    assert call.result.text == "sunny"
    assert call.structured is not None
    assert call.structured.is_json
    assert [(part.name, part.text) for part in call.parts] == [("image", "image/png, 1.2 kB")]
    assert call.seen_line == "The model saw the whole: 5 characters."
    assert [link.text for link in detail.summary.links] == ["asked for in Turn 0"]
    assert detail.summary.sentence == "weather / get answered."


def test_arguments_that_were_mended_are_shown_as_they_were_sent_too() -> None:
    detail = call_details(arguments={"city": "Lima, Peru"})
    assert detail.call is not None
    assert detail.call.raw is not None
    assert detail.call.raw.text == '{"city": "Lima"}'


def test_a_huge_result_is_never_given_whole() -> None:
    detail = call_details(full_text="x" * 5_000_000, text="x" * 8_000, is_truncated=True)
    assert detail.call is not None
    result, seen = detail.call.result, detail.call.seen
    assert result is not None
    assert seen is not None
    assert len(result.text) == SHOWN_CHARS
    assert (result.length, result.is_cut) == (5_000_000, True)
    assert result.more == "The first 20,000 of 5,000,000 characters are shown."
    assert seen.length == 8_000
    assert detail.call.seen_line == "The model saw 8,000 of 5,000,000 characters."


def test_a_failed_request_shows_the_error_and_what_to_do() -> None:
    recorded, run = begun()
    run.turn(0)
    run.fail_request(
        "The provider refused the key.", kind="ModelKeyRefused", status=401, hint="Check the key."
    )
    detail = recorded.details("chat m1")
    assert detail.summary.error is not None
    assert detail.summary.error.hint == "Check the key."
    assert detail.summary.sentence == "m1 gave no answer (401)."


def test_a_hook_shows_its_traceback_and_its_notes_stand_with_the_turn() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("Hm.")
    run.tell(events.NoteLogged, level="info", text="Looked up", fields={"n": 3})
    run.tell(events.HookStarted, hook="next", path="shop.after")
    error = "The next hook shop.after raised KeyError: 'n'"
    run.tell(events.HookFinished, hook="next", path="shop.after", error=error, traceback="Trace")
    run.close(0, "failed", "hook_error")
    hook = recorded.details("next hook").summary
    assert hook.traceback is not None
    assert hook.traceback.text == "Trace"
    [note] = recorded.details("turn 0").summary.notes
    assert (note.text, note.fields) == ("Looked up", '{"n": 3}')


def test_a_retry_leads_to_the_calls_that_it_corrects() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", Outcome.INVALID_ARGUMENTS, error="wrong", is_correctable=True)
    run.tell(events.ParameterRetry, attempt=2, calls=("call_a",), notice="Mend.", errors=("wrong",))
    retry = recorded.details("parameter retry, attempt 2").summary
    assert retry.sentence == "retried: “wrong”, attempt 2 of 3"
    assert [link.text for link in retry.links] == ["corrects weather / get city=Lima"]
    assert retry.notice is not None
    assert retry.notice.text == "Mend."


def test_the_policy_tells_how_far_each_tool_came_and_what_hid_it() -> None:
    recorded, _messages = two_requests(PROMPT, QUESTION)
    policy = recorded.details("weather.get").policy
    assert policy is not None
    assert {step.name: step.count for step in policy.funnel} == {
        "discovered": 3, "whitelisted": 2, "offered": 1, "called": 1, "hidden": 2,
    }  # fmt: skip
    weather, maps = policy.servers
    assert [(t.tool, t.found, t.listed, t.offered, t.called) for t in weather.tools] == [
        ("get", "yes", "yes", "yes", 1),
        ("admin", "yes", "stopped", "no", 0),
        ("tile", "yes", "yes", "stopped", 0),
    ]
    get, admin, tile = weather.tools
    assert (get.decision_text, get.detail) == ("a person is asked", "rule weather.get")
    assert get.tokens
    assert (admin.rule, tile.detail) == ("not_whitelisted", "$ref to the network")
    assert (maps.error, maps.state.name) == ("did not answer in 5 s", "server_unavailable")
    assert policy.refused_line.startswith("No call was refused")


def test_refused_calls_stand_below_the_policy_with_their_names() -> None:
    recorded, run = begun()
    run.turn(0)
    run.say("", weather_call("a", "admin"), weather_call("b", "fly"))
    run.run_call("a", Outcome.NOT_ALLOWED, tool="admin", error="not available here")
    run.run_call("b", Outcome.UNKNOWN_TOOL, tool="fly", error="There is no tool")
    policy = recorded.details("turn 0").policy
    assert policy is not None
    assert policy.refused_line == "2 calls were refused in this run."
    steps = {step.name: step.count for step in policy.funnel}
    assert (steps["called"], steps["refused"]) == (0, 2)
    assert [(view.name, view.state.name) for view in policy.refused] == [
        ("weather__admin", "not_allowed"), ("weather__fly", "unknown_tool"),
    ]  # fmt: skip
