"""The Schema tab: what a model sent beside the schema, with the faults marked in both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.loop import events
from agents.loop.messages import JsonObject, ToolCall
from agents.loop.results import Outcome
from tests.traces.inspection.recorded import Recorded, RunTeller
from traces.inspection.detail_models import PieceView, SchemaView

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"$ref": "#/$defs/Days"}},
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"Days": {"type": "integer", "maximum": 7}},
}


def offered(schema: JsonObject) -> JsonObject:
    return {"type": "function", "function": {"name": "weather__get", "parameters": schema}}


OFFER: dict[str, Any] = {"tools": (offered(SCHEMA),), "tool_names": ("weather__get",)}


def sent(key: str, arguments: str, name: str = "weather__get") -> ToolCall:
    return ToolCall(id=f"call_{key}", name=name, arguments=arguments, key=key)


def answer_call(run: RunTeller, call: ToolCall, outcome: Outcome, **fields: Any) -> None:
    """A call that the model sent, as the engine tells it: parsed where it could be read."""
    try:
        arguments = fields.pop("parsed", None) or json.loads(str(call.arguments))
    except ValueError:
        arguments = call.arguments
    place = {key: fields[key] for key in ("turn", "attempt") if key in fields}
    run.start_call(call, arguments=arguments, server="weather", tool="get", **place)
    run.finish_call(call, outcome, server="weather", tool="get", **fields)


def begun(arguments: str, outcome: Outcome, **fields: Any) -> tuple[Recorded, RunTeller]:
    recorded = Recorded()
    run = recorded.teller()
    call = sent("a", arguments, fields.pop("name", "weather__get"))
    run.begin(parameter_attempts=3)
    run.turn(0)
    run.say("", call, **OFFER)
    answer_call(run, call, outcome, **fields)
    return recorded, run


def tab(recorded: Recorded, key: str = "a") -> SchemaView:
    span = next(s for s in recorded.rows if s.attributes.get("toolloop.call.key") == key)
    found = recorded.details(span.name, id=span.id).schema
    assert found is not None
    return found


def refused(arguments: str, error: str = "wrong") -> SchemaView:
    recorded, _run = begun(arguments, Outcome.INVALID_ARGUMENTS, error=error, is_correctable=True)
    return tab(recorded)


def marked(pieces: tuple[PieceView, ...], mark: str) -> list[str]:
    return [piece.text for piece in pieces if piece.mark == mark]


def said(view: SchemaView) -> str:
    faults = "".join(f"{f.pointer} {f.text}{f.after}" for f in view.faults)
    return faults + view.sentence


@pytest.mark.parametrize(
    ("arguments", "sentence", "bad", "rules"),
    [
        (
            '{"town": "Lima"}', "/city is missing, /town is not known.",
            ['"town"'], ['"city"', "false"],
        ),
        ("{}", "/city is missing.", ["{}"], ['"city"']),
        (
            '{"city": 7}', "/city must be string, not 7.", ["7"], ['"string"'],
        ),
        (
            '{"city": "Lima", "days": 9}', "/days breaks the rule maximum 7: 9.", ["9"], ["7"],
        ),
        ("[1]", "the whole must be object, not [1].", ["[", "1", "]"], ['"object"']),
    ],
)  # fmt: skip
def test_faults_are_told_and_marked_in_both(
    arguments: str, sentence: str, bad: list[str], rules: list[str]
) -> None:
    view = refused(arguments)
    assert said(view) == sentence
    assert [text for text in marked(view.arguments, "bad") if text.strip()] == bad
    assert sorted(marked(view.schema, "rule")) == sorted(rules)
    assert not view.fits
    assert view.told == "wrong"


def test_both_sides_are_json_that_a_person_can_read() -> None:
    view = refused('{"town": "Lima"}')
    assert "".join(piece.text for piece in view.arguments) == '{\n  "town": "Lima"\n}'
    text = "".join(piece.text for piece in view.schema)
    assert json.loads(text) == SCHEMA
    assert '\n  "required": ["city"],\n' in text


def test_text_that_is_no_json_is_marked_where_it_ends() -> None:
    view = refused('{"city": "Li', "Invalid arguments: cut off")
    assert view.sentence == "The arguments are not one JSON object that can be read."
    assert marked(view.arguments, "bad") == ['ty": "Li']
    assert view.schema


def test_arguments_that_were_mended_and_then_refused_show_the_fault() -> None:
    view = refused('{"town": "Lima",}', "the arguments do not fit the tool's schema: ...")
    assert said(view) == "/city is missing, /town is not known."
    assert marked(view.arguments, "bad") == ['"town"']


def test_where_the_fault_cannot_be_found_again_the_engines_words_are_given() -> None:
    view = refused('{"city": "Lima"}', "Invalid arguments from the before_tool_call hook: no")
    assert view.sentence == "Invalid arguments from the before_tool_call hook: no."
    assert view.faults == ()


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.TOOL_ERROR, Outcome.DENIED])
def test_arguments_that_fit_say_so_beside_the_schema(outcome: Outcome) -> None:
    recorded, _run = begun('{"city": "Lima"}', outcome)
    view = tab(recorded)
    assert view.sentence == "The arguments fit the tool's schema."
    assert view.fits
    assert json.loads("".join(piece.text for piece in view.schema)) == SCHEMA


def test_mended_json_and_changed_arguments_are_told() -> None:
    mended, _run = begun('{"city": "Lima",}', Outcome.OK, parsed={"city": "Lima"})
    assert tab(mended).sentence == (
        "The arguments fit the tool's schema. Their JSON was mended first."
    )
    changed, _run = begun('{"city": "Lima"}', Outcome.OK, parsed={"city": "Oslo"})
    assert tab(changed).sentence == (
        "The arguments fit the tool's schema. A hook changed them before the call ran."
    )


def test_a_tool_that_was_not_offered_has_no_schema() -> None:
    recorded, _run = begun("{}", Outcome.UNKNOWN_TOOL, name="weather__fly")
    view = tab(recorded)
    assert view.missing == (
        "No tool of this name was offered with the request, so there is no schema."
    )
    assert (view.schema, view.fits) == ((), False)


def test_a_schema_that_is_gone_is_told() -> None:
    recorded, _run = begun('{"city": "Lima"}', Outcome.OK)
    recorded.payloads.clear()
    assert tab(recorded).missing == "The schema is no longer stored."


def wrong_then(arguments: str, outcome: Outcome) -> Recorded:
    """A wrong call in the first attempt, another one in the second."""
    recorded, run = begun('{"town": "Lima"}', Outcome.INVALID_ARGUMENTS, error="w")
    run.tell(events.ParameterRetry, attempt=2, calls=("call_a",), notice="Mend.", errors=("w",))
    again = sent("b", arguments)
    run.say("", again, attempt=2, **OFFER)
    answer_call(run, again, outcome, attempt=2)
    return recorded


def test_what_became_of_it_is_told() -> None:
    recorded = wrong_then('{"city": "Lima"}', Outcome.OK)
    view = tab(recorded)
    assert view.after == "The model was told and mended it in attempt 2."
    assert view.retry is not None
    assert view.retry.letter == "R"
    assert tab(recorded, "b").after == ""
    again = tab(wrong_then('{"town": "Lima"}', Outcome.INVALID_ARGUMENTS))
    assert again.after == "The model was told; its next call of this tool did not fit either."
    assert again.retry is None


def test_a_call_mended_in_a_later_turn_is_told() -> None:
    recorded, run = begun('{"town": "Lima"}', Outcome.INVALID_ARGUMENTS, error="w")
    run.close(0, "continued", calls=1, failed=1)
    call = sent("b", '{"city": "Lima"}')
    run.turn(1)
    run.say("", call, turn=1, **OFFER)
    answer_call(run, call, Outcome.OK, turn=1)
    assert tab(recorded).after == "The model was told and mended it in turn 1."


def test_a_run_that_ended_there_told_the_model_nothing() -> None:
    recorded, _run = begun('{"town": "Lima"}', Outcome.INVALID_ARGUMENTS, error="w")
    assert tab(recorded).after == "The model was not asked again."


def test_a_model_that_gave_up_the_tool_is_told() -> None:
    recorded, run = begun('{"town": "Lima"}', Outcome.INVALID_ARGUMENTS, error="w")
    run.close(0, "continued", calls=1, failed=1)
    run.answer_in(1)
    assert tab(recorded).after == "The model was told and did not call this tool again."


def test_a_schema_that_cannot_be_evaluated_is_shown_without_marks() -> None:
    recorded = Recorded()
    run = recorded.teller()
    broken: JsonObject = {"type": "object", "properties": {"city": {"pattern": "("}}}
    tool: JsonObject = {
        "type": "function",
        "function": {"name": "weather__get", "parameters": broken},
    }
    call = sent("a", '{"city": "Lima"}')
    run.begin()
    run.turn(0)
    run.say("", call, tools=(tool,), tool_names=("weather__get",))
    answer_call(run, call, Outcome.INVALID_ARGUMENTS, error="wrong")
    view = tab(recorded)
    assert (view.faults, view.sentence) == ((), "wrong.")
    assert marked(view.schema, "rule") == []


def test_a_huge_schema_is_cut_and_says_so() -> None:
    recorded = Recorded()
    run = recorded.teller()
    names: Any = {f"name_{n:05}": {"type": "string"} for n in range(2000)}
    large: JsonObject = {"type": "object", "properties": names}
    tool: JsonObject = {
        "type": "function",
        "function": {"name": "weather__get", "parameters": large},
    }
    call = sent("a", "{}")
    run.begin()
    run.turn(0)
    run.say("", call, tools=(tool,), tool_names=("weather__get",))
    answer_call(run, call, Outcome.OK, parsed={"x": 1})
    view = tab(recorded)
    assert sum(len(piece.text) for piece in view.schema) == 20_000
    assert view.more.startswith("The first 20,000 of ")
