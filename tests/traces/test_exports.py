"""Exports: OTLP/JSON that collectors read, Markdown as evidence, a transcript."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation

from agents.loop import events
from agents.loop.messages import JsonObject
from agents.loop.results import Outcome
from tests.traces.inspection.endings import ENDINGS, Ending
from tests.traces.inspection.recorded import Recorded, weather_call
from tests.traces.stored import store_run
from traces.evidence import trace_as_evidence
from traces.markdown_text import block, prose
from traces.otlp import any_value, hex_id, trace_as_otlp
from traces.otlp_messages import message_in_parts, plain_tool
from traces.transcript import trace_as_transcript

SECRET_WORDS = ("What is the weather?", "Lima", "sunny", "Sunny.", "You help.", "station down")

Make = Callable[..., Any]


def made(make: Make, recorded: Recorded, **options: Any) -> Any:
    assert recorded.trace is not None
    now = recorded.now_ns()
    return make(recorded.trace, recorded.rows, recorded.payloads, now_ns=now, **options)


def a_run(**call: Any) -> Recorded:
    """A call that failed, one that answered, and the answer."""
    recorded = Recorded()
    run = recorded.teller()
    run.start(message="What is the weather?", trace="t1", user="7")
    run.turn(0)
    run.say("Let me see.", weather_call("a"))
    run.run_call("a", Outcome.TOOL_ERROR, error="station down", text="Error: station down")
    run.close(0, "continued", calls=1, failed=1)
    run.loop_turn(1, **call)
    run.answer_in(2)
    return recorded


def otlp_spans(recorded: Recorded, **options: Any) -> list[dict[str, Any]]:
    [resource] = made(trace_as_otlp, recorded, **options)["resourceSpans"]
    [scope] = resource["scopeSpans"]
    spans: list[dict[str, Any]] = scope["spans"]
    return spans


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {entry["key"]: entry["value"] for entry in span["attributes"]}


def named(recorded: Recorded, name: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = next(s for s in otlp_spans(recorded, **options) if s["name"] == name)
    return found


def test_ids_and_times_are_as_the_protocol_has_them() -> None:
    recorded = a_run()
    spans = otlp_spans(recorded)
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans) == len(recorded.rows)
    for span in spans:
        assert re.fullmatch(r"[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch(r"[0-9a-f]{16}", span["spanId"])
        assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 10**8
        assert isinstance(span["startTimeUnixNano"], str)
        assert span.get("parentSpanId") is None or span["parentSpanId"] in ids
    assert [span["name"] for span in spans if "parentSpanId" not in span] == ["helper"]
    assert hex_id("e14a0975122c4ea8bdeda981fb63a9d1", 32) == "e14a0975122c4ea8bdeda981fb63a9d1"
    assert hex_id("0" * 16, 16) != "0" * 16


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        (True, {"boolValue": True}),
        (3, {"intValue": "3"}),
        (9_007_199_254_740_993, {"intValue": "9007199254740993"}),
        (0.5, {"doubleValue": 0.5}),
        ("a", {"stringValue": "a"}),
        (["a", 1], {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
        ({"a": None}, {"kvlistValue": {"values": [{"key": "a", "value": {}}]}}),
    ],
)
def test_each_value_has_its_type(value: object, typed: object) -> None:
    assert any_value(value) == typed


def test_states_become_status_codes_and_nothing_of_ours_is_lost() -> None:
    failed = Recorded()
    run = failed.teller()
    run.begin()
    run.turn(0)
    run.fail_request("Too busy.", status=429)
    span = named(failed, "chat m1")
    assert span["status"] == {"code": 2, "message": "Too busy."}
    assert span["kind"] == 3
    assert attributes(span)["error.type"] == {"stringValue": "ModelOverloaded"}
    turn = named(failed, "turn 0")
    assert turn["status"] == {"code": 0}
    assert attributes(turn)["toolloop.span.status"] == {"stringValue": "running"}
    agent = attributes(named(a_run(), "helper"))
    assert agent["toolloop.stop_reason"] == {"stringValue": "answered"}
    assert agent["toolloop.span.kind"] == {"stringValue": "agent"}
    assert agent["gen_ai.usage.input_tokens"] == {"intValue": "3"}


def test_messages_and_tools_have_the_shape_of_the_conventions() -> None:
    tool: JsonObject = {"type": "function", "function": {"name": "weather__get", "parameters": {}}}
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"), tools=(tool,), tool_names=("weather__get",))
    found = attributes(named(recorded, "chat m1"))
    sent = json.loads(found["gen_ai.input.messages"]["stringValue"])
    assert sent[1] == {
        "role": "user", "parts": [{"type": "text", "content": "What is the weather?"}],
    }  # fmt: skip
    [answer] = json.loads(found["gen_ai.output.messages"]["stringValue"])
    assert answer["parts"] == [
        {"type": "tool_call", "id": "call_a", "name": "weather__get", "arguments": {"city": "Lima"}}
    ]
    tools = json.loads(found["gen_ai.tool.definitions"]["stringValue"])
    assert tools == [{"type": "function", "name": "weather__get", "parameters": {}}]


def test_odd_messages_keep_what_they_hold() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:x"}}
    odd = {"role": "user", "content": [{"type": "text", "text": "a"}, image], "name": "ann"}
    assert message_in_parts(odd) == {
        "role": "user", "parts": [{"type": "text", "content": "a"}, image], "name": "ann",
    }  # fmt: skip
    result = message_in_parts({"role": "tool", "tool_call_id": "c", "content": "x"})
    assert result["parts"] == [{"type": "tool_call_response", "id": "c", "response": "x"}]
    thought = message_in_parts({"role": "assistant", "content": "", "reasoning_content": "hm"})
    assert thought["parts"] == [{"type": "reasoning", "content": "hm"}]
    calls = [{"id": "c", "function": {"name": "f", "arguments": "{not json"}}]
    assert message_in_parts({"role": "assistant", "tool_calls": calls})["parts"] == [
        {"type": "tool_call", "id": "c", "name": "f", "arguments": "{not json"}
    ]
    assert message_in_parts(None) == {"role": "", "parts": []}
    assert plain_tool("odd") == "odd"


@pytest.mark.parametrize("make", [trace_as_otlp, trace_as_evidence])
def test_without_content_no_text_that_anybody_wrote_is_left(make: Make) -> None:
    recorded = a_run()
    with_texts = json.dumps(made(make, recorded), ensure_ascii=False)
    without = json.dumps(made(make, recorded, has_content=False), ensure_ascii=False)
    assert [word for word in SECRET_WORDS if word in without] == []
    assert [word for word in SECRET_WORDS[:4] if word not in with_texts] == []
    assert "weather" in without
    assert "tool_error" in without or "tool error" in without


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_every_end_can_be_exported(ending: Ending) -> None:
    recorded = ending.recorded()
    text = made(trace_as_evidence, recorded)
    assert text.startswith("# ")
    assert made(trace_as_transcript, recorded).strip()
    json.dumps(made(trace_as_otlp, recorded), allow_nan=False)
    with translation.override("zh-hans"):
        assert made(trace_as_evidence, recorded, has_content=False).startswith("# ")


def test_evidence_tells_the_verdict_the_facts_and_each_turn() -> None:
    text = made(trace_as_evidence, a_run())
    lines = text.splitlines()
    assert lines[0] == "# Answered by the model in turn 2, after 2 tool calls, of which 1 failed."
    assert "| status | completed, answered |" in lines
    assert "| what went wrong | 1 error |" in lines
    headings = [line for line in lines if line.startswith("## ")]
    assert [re.sub(r" \(.*", "", line) for line in headings] == [
        "## What the user said", "## Turn 0, first answer", "## Turn 1", "## Turn 2", "## Answer",
    ]  # fmt: skip
    assert "- **weather / get**: tool call, tool error, 0.01 s" in lines
    assert '  ```json\n  {\n    "city": "Lima"\n  }\n  ```' in text
    assert "  station down" in lines
    assert text.count("station down") == 2
    assert "**continued: 1 tool call answered, 1 failed" in text or "**continued" in text


def test_long_texts_are_shortened_with_the_length_of_the_whole() -> None:
    text = made(trace_as_evidence, a_run(full_text="x" * 50_000, text="x" * 800, is_truncated=True))
    assert "result (the first 1,000 of 50,000 characters):" in text
    assert "The model saw 800 of 50,000 characters." in text
    assert "x" * 1001 not in text


@pytest.mark.parametrize(
    "evil", ["```\n# Not a heading", "a\n````\nb", "<script>", "| a | b |", "[x](javascript:1)"]
)
def test_what_was_said_cannot_break_out_of_its_block(evil: str) -> None:
    fenced = block(evil).splitlines()
    fence = fenced[0]
    assert fenced[-1] == fence
    assert all(not line.strip().startswith(fence) for line in fenced[1:-1])
    assert "\n".join(fenced[1:-1]) == evil


def test_prose_keeps_code_and_loses_markup() -> None:
    assert prose("raise `max_turn` *now*\n<b>") == "raise `max_turn` \\*now\\* \\<b\\>"
    assert prose("max_turns") == "max_turns"


def test_a_transcript_reads_from_top_to_bottom() -> None:
    assert made(trace_as_transcript, a_run()).splitlines() == [
        "system: You help.",
        "user: What is the weather?",
        "assistant: Let me see.",
        'call weather / get: {"city": "Lima"}',
        "result weather / get (tool_error): Error: station down",
        'call weather / get: {"city": "Lima"}',
        "result weather / get (ok): sunny",
        "assistant: Sunny.",
    ]


def test_a_transcript_names_retries_fallbacks_and_cut_results() -> None:
    recorded = Recorded()
    run = recorded.teller()
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", Outcome.INVALID_ARGUMENTS, text="Error: no", error="no")
    run.tell(events.ParameterRetry, attempt=2, calls=("call_a",), notice="Mend\nit.", errors=())
    run.say("", weather_call("b"), attempt=2)
    run.run_call("b", attempt=2, full_text="x" * 90, text="x" * 5, is_truncated=True)
    run.give_up("max_turns", turn=0)
    run.fall_back("max_turns")
    lines = made(trace_as_transcript, recorded).splitlines()
    assert lines[4:6] == ["user (correction): Mend", "    it."]
    assert lines[7] == "result weather / get (ok, cut from 90 characters): xxxxx"
    assert lines[8:] == ["fallback: level 2, max_turns", "assistant: What was found."]


def exported(*arguments: str) -> str:
    out = io.StringIO()
    call_command("export_trace", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_command_writes_each_format() -> None:
    trace = store_run()
    assert json.loads(exported(trace.pk))["trace"]["id"] == trace.pk
    assert len(json.loads(exported(trace.run, "--format", "otlp"))["resourceSpans"]) == 1
    assert exported(trace.pk, "--format", "markdown").startswith("# Answered by the model")
    assert exported(trace.pk, "--format", "transcript").startswith("user: Hello\n")
    bare = exported(trace.pk, "--format", "markdown", "--without-content")
    assert "Hello" not in bare


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "pdf"], "expected --format json, otlp, markdown, transcript, got pdf"),
        (
            ["--format", "transcript", "--without-content"],
            "--without-content goes with --format otlp, markdown, got transcript",
        ),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], said: str) -> None:
    trace = store_run()
    with pytest.raises(CommandError, match=re.escape(said)):
        exported(trace.pk, *arguments)
