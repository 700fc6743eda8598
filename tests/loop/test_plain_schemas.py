"""Schemas in the keywords that every provider takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.loop.plain_schemas import plain_schema, plain_tool
from agents.loop.schemas import provider_schema
from tests.providers.vendor_faults import schema_fault


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        (
            {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}],
             "description": "How many"},
            {"type": "integer", "description": "How many (exclusiveMinimum: 0)", "nullable": True},
        ),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        (
            {"type": ["string", "integer"], "minimum": 3},
            {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]},
        ),
        ({"const": "on"}, {"type": "string", "enum": ["on"]}),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "(one of [1,2])"}),
        ({"enum": ["", "a"]}, {"type": "string", "description": '(one of ["","a"])'}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({}, {"type": "string"}),
        (
            {"type": "string", "format": "uri", "default": "x"},
            {"type": "string", "description": '(format: "uri"; default: "x")'},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a", "b"],
             "additionalProperties": False},
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "description": '(additionalProperties: {"type":"string"})'},
        ),
        (
            {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}},
                       {"properties": {"b": {"type": "string"}}, "required": ["b"]}]},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
             "required": ["b"]},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        ),
    ],
)  # fmt: skip
def test_what_others_refuse_is_translated_or_told(schema: Any, plain: Any) -> None:
    assert plain_schema(schema) == plain


def test_a_tool_without_parameters_is_offered_without_them() -> None:
    function = {"name": "t", "description": "d"}
    empty = {"type": "object", "properties": {}}
    tool: Any = {"type": "function", "function": {**function, "parameters": empty}}
    assert plain_tool(tool) == {"type": "function", "function": function}


KINDS = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.just("words"),
        "format": st.sampled_from(["uri", "date-time", "int64"]),
        "enum": st.lists(st.sampled_from(["", "a", 1, None, True, 2.5]), min_size=1),
        "const": st.sampled_from(["a", 3, None]),
        "minimum": st.integers(0, 9),
        "exclusiveMinimum": st.integers(0, 9),
        "pattern": st.just("^a$"),
        "additionalProperties": st.booleans(),
        "required": st.lists(st.sampled_from(["a", "z"]), max_size=2, unique=True),
        "default": st.none(),
        "type": st.one_of(KINDS, st.lists(KINDS, min_size=1, max_size=3, unique=True)),
    },
)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    further = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    )
    return st.builds(lambda limits, parts: {**limits, **parts}, LIMITS, further)


SCHEMAS = st.recursive(LIMITS, grown, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), SCHEMAS, min_size=1, max_size=3))
def test_no_schema_is_refused_by_the_strictest(properties: dict[str, Any]) -> None:
    stored = {"type": "object", "properties": properties}
    assert schema_fault(plain_schema(provider_schema(stored)), "parameters") == ""
