"""Arguments of tool calls: read, repaired, validated, compared."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.loop.arguments import (
    ArgumentsProblem,
    build_validator,
    equal_key,
    parse_arguments,
    validate_arguments,
)
from agents.loop.messages import JsonObject, JsonValue

TEXTS = st.text(max_size=12) | st.text(alphabet="{}[]\"'`\\,:/#* ab", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def problem_of(raw: str | JsonObject) -> str:
    with pytest.raises(ArgumentsProblem) as caught:
        parse_arguments(raw)
    return caught.value.message


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null ", "{}", "\ufeff{}"])
def test_nothing_is_an_empty_object(raw: str) -> None:
    assert parse_arguments(raw) == {}


def test_an_object_is_taken_as_it_is() -> None:
    assert parse_arguments({"message": "a"}) == {"message": "a"}


def test_integers_keep_every_digit() -> None:
    text = '{"id": 9223372036854775807, "big": 123456789012345678901234567890,}'
    assert parse_arguments(text) == {
        "id": 9223372036854775807,
        "big": 123456789012345678901234567890,
    }


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"url": "http://a.b//c", }', {"url": "http://a.b//c"}),
        (
            "{'u': 'https://a/#x', 'on': True, 'o': None}",
            {"u": "https://a/#x", "on": True, "o": None},
        ),
        ('{"u": http://a.b/c?d=1, "x": 1}', {"u": "http://a.b/c?d=1", "x": 1}),
        ('{"glob": "src/**/*.py", "more": [1, 2, ], }', {"glob": "src/**/*.py", "more": [1, 2]}),
        ("{u: 'http://x//y' // note\n}", {"u": "http://x//y"}),
        ('{/* why */ "a": 1, # so\n "b": 2}', {"a": 1, "b": 2}),
        ('```json\n{"a": "x```y"}\n```', {"a": "x```y"}),
        ('{"a": \'say "hi"\'}', {"a": 'say "hi"'}),
        ('{"a": "two\nlines\tand a tab"}', {"a": "two\nlines\tand a tab"}),
        ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}),
        ('{"a": 1 "b": "c"}', {"a": 1, "b": "c"}),
        ('{"path": "C:\\Users\\x", }', {"path": "C:\\Users\\x"}),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}</tool_call>', {"a": 1}),
        ('{"a": 1, "a": 1}', {"a": 1}),
    ],
)
def test_broken_syntax_is_repaired(raw: str, expected: JsonObject) -> None:
    assert parse_arguments(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        '{"message":)',
        '{"path": "/home/us',
        '{"path": "/home/user"',
        "{'command': 'rm -rf /home/us",
        '{"a": [1, 2,}',
        '{"a": {"b": 1}',
        '```json\n{"a": "x',
        "{a: b, c: ",
        '{"a": 1, /* and',
        '{"a": "x\\',
    ],
)
def test_what_was_cut_off_is_never_completed(raw: str) -> None:
    assert "cut off" in problem_of(raw)


@pytest.mark.parametrize(
    "raw", ["42", '"x"', "[1]", "true", "echo hello", "[{}]", 'Here: {"a": 1}', "<a>1</a>"]
)
def test_what_is_no_object_is_refused(raw: str) -> None:
    assert "must be an object" in problem_of(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"a": 1}{"a": 2}', "another object"),
        ('{"a": 1} and then', "more text"),
        ('{"a": 1, "a": 2}', "twice"),
        ("{'a': 1, 'a': 2}", "twice"),
        ('{"a": NaN}', "NaN is not"),
        ('{"a": -Infinity}', "-Infinity is not"),
        ('{"a": nan, }', "nan is not"),
        ('{"a": 1e999}', "one too large"),
        ('{"a": "\\ud83d"}', "half of a character"),
        ('{"a": ' + "9" * 5000 + "}", "4300 digits"),
        ('{"a": , "b": 2}', "without guessing"),
        ('{"a": "x" "y"}', "without guessing"),
        ('{"a": "x" + "y"}', "without guessing"),
        ("{'a': 'it's'}", "without guessing"),
        ("[" * 10_000, "nested"),
        ('{"a":' * 10_000, "nested"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested"),
        ('{"a":' * 150 + "1" + "}" * 150, "nested"),
        ("{a:" * 150 + "1" + "}" * 150, "nested"),
    ],
)
def test_what_would_be_a_guess_is_refused(raw: str, message: str) -> None:
    assert message in problem_of(raw)


def test_an_object_that_cannot_be_sent_is_refused() -> None:
    assert "NaN" in problem_of({"a": float("nan")})
    assert "half of a character" in problem_of({"a": "\ud83d"})


@given(OBJECTS, st.booleans(), st.sampled_from([None, 1]))
@settings(deadline=None)
def test_every_part_of_an_objects_text_counts_as_cut_off(
    value: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for end in range(1, len(text)):
        assert "cut off" in problem_of(text[:end])


@given(OBJECTS)
@settings(deadline=None)
def test_json_is_read_unchanged_with_and_without_a_trailing_comma(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_arguments(text) == value
    assert parse_arguments(f"{text[:-1]}, }}") == value


@given(st.text(alphabet="{}[]\"'`\\,:/#* a1-N\n()", max_size=25))
@settings(deadline=None)
def test_no_text_breaks_the_reader(text: str) -> None:
    for raw in (text, '{"a":' + text):
        try:
            assert isinstance(parse_arguments(raw), dict)
        except ArgumentsProblem as problem:
            assert problem.message


MESSAGE_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": {"type": "string"}, "count": {"anyOf": [{"type": "integer"}]}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "pointer", "message"),
    [
        ({}, "", 'the required property "message" is missing'),
        ({"message": 3}, "/message", "/message: expected string, got 3"),
        (
            {"message": "a", "x": 1},
            "",
            'unknown properties ["x"]; allowed are ["message", "count"]',
        ),
        ({"message": "a", "count": "b"}, "/count", "expected integer"),
    ],
)
def test_a_misfit_is_told_with_its_place(arguments: JsonObject, pointer: str, message: str) -> None:
    with pytest.raises(ArgumentsProblem) as caught:
        validate_arguments(arguments, build_validator(MESSAGE_SCHEMA))
    assert (caught.value.pointer, message in caught.value.message) == (pointer, True)


def test_fitting_arguments_pass() -> None:
    validate_arguments({"message": "a", "count": 2}, build_validator(MESSAGE_SCHEMA))


def test_a_few_faults_are_listed_and_the_rest_counted() -> None:
    schema: JsonObject = {"additionalProperties": {"type": "string"}}
    with pytest.raises(ArgumentsProblem, match="and 3 more"):
        validate_arguments({str(n): n for n in range(6)}, build_validator(schema))


def test_steps_of_a_pointer_are_escaped() -> None:
    schema: JsonObject = {"properties": {"a/b~c": {"type": "string"}}}
    with pytest.raises(ArgumentsProblem) as caught:
        validate_arguments({"a/b~c": 1}, build_validator(schema))
    assert caught.value.pointer == "/a~1b~0c"


def test_the_draft_that_the_schema_names_decides() -> None:
    schema: JsonObject = {"properties": {"x": {"items": [{"type": "string"}]}}}
    validate_arguments({"x": [1]}, build_validator(schema))
    old: JsonObject = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    with pytest.raises(ArgumentsProblem, match="/x/0: expected string"):
        validate_arguments({"x": [1]}, build_validator(old))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "(["}}},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"properties": []},
        {"type": "strng"},
        {"$schema": ["?"], "type": "object"},
        {"properties": {"n": {"minimum": 0, "exclusiveMinimum": True}}},
    ],
)
def test_a_schema_that_cannot_be_evaluated_lets_the_call_through(schema: JsonObject) -> None:
    validate_arguments({"a": "x", "n": 1}, build_validator(schema))


@pytest.mark.parametrize("schema", [None, True, [], "object"])
def test_without_a_schema_nothing_is_checked(schema: JsonValue) -> None:
    assert build_validator(schema) is None
    validate_arguments({"a": 1}, None)


def test_arguments_are_compared_as_json() -> None:
    assert equal_key({"a": 1, "b": [1.0]}) == equal_key({"b": [1], "a": 1.0})
    assert equal_key({"a": 1e20}) == equal_key({"a": 10**20})
    assert equal_key({"a": True}) != equal_key({"a": 1})
    assert equal_key({"a": "1"}) != equal_key({"a": 1})
    assert equal_key({"a": [1, 2]}) != equal_key({"a": [2, 1]})
    assert equal_key({"a": None}) != equal_key({})
