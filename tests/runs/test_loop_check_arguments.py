"""Arguments that are made up for a check fit the tool's schema, or there are none."""

from __future__ import annotations

from typing import Any

import pytest

from agents.demo.script import answer
from agents.loop.interfaces import Sample, ToolSpec
from agents.runs.loop_checks.arguments import free_texts, make_arguments, optional_arguments


def spec(schema: Any, *samples: Any) -> ToolSpec:
    given = tuple(Sample(name="s", input=value) for value in samples)
    return ToolSpec(server="s", name="t", input_schema=schema, samples=given)


def one(part: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part, "free": {}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("part", "made"),
    [
        ({"type": "string"}, "test"),
        ({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}, "2026-01-01"),
        ({"type": "string", "format": "email"}, "test@example.org"),
        ({"type": "string", "minLength": 6}, "testxx"),
        ({"enum": ["b", "c"]}, "b"),
        ({"const": 7}, 7),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "number", "exclusiveMinimum": 4}, 5),
        ({"type": "integer", "minimum": 11, "multipleOf": 5}, 15),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": ["string", "null"]}, "test"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"type": "string", "default": "d"}, "d"),
        (one({"type": "boolean"}), {"x": False}),
        ({"$ref": "#/$defs/kind"}, "blue"),
    ],
)
def test_the_required_arguments_are_made_up_from_the_schema(part: Any, made: Any) -> None:
    schema = {**one(part), "$defs": {"kind": {"enum": ["blue"]}}}
    assert make_arguments(spec(schema)) == {"x": made}


def test_a_sample_comes_first_and_one_that_does_not_fit_is_left_out() -> None:
    schema = one({"type": "string"})
    assert make_arguments(spec(schema, {"x": "from the sample"})) == {"x": "from the sample"}
    assert make_arguments(spec(schema, {"x": 3})) == {"x": "test"}


@pytest.mark.parametrize(
    "part", [{"type": "string", "pattern": "^Z{9}$"}, {"not": {}}, {"type": "integer", "enum": []}]
)
def test_what_cannot_be_made_up_is_said(part: Any) -> None:
    assert make_arguments(spec(one(part))) is None


def test_a_tool_without_arguments_needs_none() -> None:
    assert make_arguments(spec(None)) == {}
    assert (free_texts(spec(None)), optional_arguments(spec(None))) == (0, 0)


def test_texts_that_may_be_anything_and_arguments_that_may_be_left_away_are_counted() -> None:
    assert free_texts(spec(one({"type": "string"}))) == 1
    assert free_texts(spec(one({"type": "string", "enum": ["a"]}))) == 0
    assert optional_arguments(spec(one({"type": "string"}))) == 1


def test_the_practice_model_takes_several_orders_one_after_the_other() -> None:
    question = 'call a__b with {"x": "use c.d"} and then call the tool `e__f` with {} and be done'
    messages: list[Any] = [{"role": "user", "content": question}]
    made = []
    for number in range(2):
        said = answer({"messages": messages})
        made += said.calls
        messages += [
            {"role": "assistant", "content": None},
            {"role": "tool", "content": f"result {number}"},
        ]
    assert made == [("a__b", {"x": "use c.d"}), ("e__f", {})]
    assert "result 1" in answer({"messages": messages}).text
