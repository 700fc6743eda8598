"""Schemas in the shape that providers accept."""

from __future__ import annotations

import copy
import json

import pytest

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.schemas import SchemaProblem, provider_schema

EMPTY: JsonObject = {"type": "object", "properties": {}}


def properties(schema: JsonObject) -> JsonValue:
    repaired = provider_schema(schema)
    assert repaired["type"] == "object"
    return repaired["properties"]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {},
        {"type": "object"},
        {"type": ["object", "null"]},
        {"properties": None},
        {"type": "object", "properties": []},
        {"$ref": "#"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "type": "object"},
    ],
)
def test_a_tool_without_parameters_has_an_empty_object(schema: JsonValue) -> None:
    assert provider_schema(schema) == EMPTY


@pytest.mark.parametrize(
    "schema",
    [
        False,
        [],
        "object",
        3,
        {"type": "string"},
        {"type": ["string", "null"]},
        {"oneOf": [{"type": "string"}]},
        {"properties": {"x": "string"}},
        {"properties": "x"},
        {"anyOf": {"type": "object"}},
        {"properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}}},
        {"properties": {"x": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"x": {"$ref": "other.json#/a"}}},
        {"properties": {"x": {"$ref": 3}}},
    ],
)
def test_what_cannot_be_repaired_is_told(schema: JsonValue) -> None:
    with pytest.raises(SchemaProblem):
        provider_schema(schema)


def test_a_local_reference_is_inlined() -> None:
    schema: JsonObject = {
        "$defs": {"F": {"enum": ["a", "b"]}},
        "properties": {"f": {"$ref": "#/$defs/F"}},
    }
    assert provider_schema(schema) == {"type": "object", "properties": {"f": {"enum": ["a", "b"]}}}


@pytest.mark.parametrize(
    ("reference", "rest"),
    [
        ("#/definitions/F", {"definitions": {"F": {"type": "integer"}}}),
        ("#/$defs/a~1b~0c%20d", {"$defs": {"a/b~c d": {"type": "integer"}}}),
        ("#/properties/other", {"properties": {"other": {"type": "integer"}}}),
        ("#/$defs/L/anyOf/1", {"$defs": {"L": {"anyOf": [{}, {"type": "integer"}]}}}),
        ("#named", {"$defs": {"F": {"$anchor": "named", "type": "integer"}}}),
        ("http://e.x/s#/$defs/F", {"$id": "http://e.x/s", "$defs": {"F": {"type": "integer"}}}),
        ("part", {"$id": "http://e.x/s", "$defs": {"F": {"$id": "part", "type": "integer"}}}),
        ("#/components/F", {"components": {"F": {"type": "integer"}}}),
    ],
)
def test_every_kind_of_local_pointer_is_followed(reference: str, rest: JsonObject) -> None:
    own = rest.get("properties")
    schema: JsonObject = {
        **rest,
        "properties": {"x": {"$ref": reference}, **(own if isinstance(own, dict) else {})},
    }
    found = properties(schema)
    assert isinstance(found, dict)
    assert found["x"] == {"type": "integer"}


def test_what_stands_beside_a_reference_is_kept() -> None:
    schema: JsonObject = {
        "properties": {"x": {"$ref": "#/$defs/F", "description": "mine", "default": 3}},
        "$defs": {"F": {"type": "integer", "description": "theirs"}},
    }
    assert properties(schema) == {"x": {"type": "integer", "description": "mine", "default": 3}}


def test_a_cycle_ends_with_the_kind_of_the_value() -> None:
    schema: JsonObject = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            }
        },
    }
    assert properties(schema) == {"children": {"type": "array", "items": EMPTY}}


def test_references_that_lead_in_a_circle_allow_anything() -> None:
    schema: JsonObject = {
        "properties": {"x": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
    }
    assert properties(schema) == {"x": {}}


def test_references_that_multiply_are_refused_in_time() -> None:
    definitions: JsonObject = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(15)
    }
    definitions["d15"] = {"type": "string"}
    with pytest.raises(SchemaProblem, match="more than"):
        provider_schema({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions})


def test_deep_nesting_is_refused_without_a_crash() -> None:
    schema: JsonObject = {"type": "object"}
    for _ in range(5000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(SchemaProblem, match="nested"):
        provider_schema(schema)


def test_nested_shapes_that_providers_refuse_are_completed() -> None:
    schema: JsonObject = {
        "properties": {
            "list": {"type": "array"},
            "maybe": {"type": ["array", "null"]},
            "object": {"type": "object"},
            "map": {"type": "object", "additionalProperties": {"type": "array"}},
            "tuple": {"type": "array", "items": [{"type": "string"}]},
            "any": True,
            "never": False,
            "null": None,
            "old": {"type": "string", "required": True, "enum": None},
        }
    }
    assert properties(schema) == {
        "list": {"type": "array", "items": {}},
        "maybe": {"type": ["array", "null"], "items": {}},
        "object": EMPTY,
        "map": {**EMPTY, "additionalProperties": {"type": "array", "items": {}}},
        "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": {}},
        "any": {},
        "never": {"not": {}},
        "null": {},
        "old": {"type": "string"},
    }


def test_properties_named_like_keywords_are_properties() -> None:
    names = ["$ref", "$defs", "definitions", "$schema", "$id", "properties", "items", "default"]
    schema: JsonObject = {"properties": {name: {"type": "string"} for name in names}}
    assert properties(schema) == {name: {"type": "string"} for name in names}


@pytest.mark.parametrize("keyword", ["default", "enum", "const", "examples"])
def test_values_are_left_untouched(keyword: str) -> None:
    value: JsonValue = [{"$ref": "#/nowhere", "$schema": None, "type": "array"}, None]
    schema: JsonObject = {"properties": {"x": {keyword: value}}}
    assert properties(schema) == {"x": {keyword: value}}


def test_a_choice_of_objects_becomes_one_object() -> None:
    form_a: JsonObject = {"properties": {"a": {"type": "string"}}, "required": ["a", "k"]}
    form_b: JsonObject = {"properties": {"b": {}, "a": {"type": "integer"}}, "required": ["k", "b"]}
    repaired = provider_schema({"anyOf": [form_a, form_b, {"type": "null"}], "description": "D."})
    assert repaired == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "b": {}},
        "required": ["k"],
        "description": "D. Give one of these groups of properties: a, k; or k, b.",
    }


def test_parts_of_an_object_become_one_object() -> None:
    repaired = provider_schema(
        {
            "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {}}, "required": ["b"]}],
            "$defs": {"A": {"type": "object", "properties": {"a": {}}, "required": ["a"]}},
        }
    )
    assert repaired == {**EMPTY, "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}


def test_the_argument_is_not_changed_and_not_shared() -> None:
    schema: JsonObject = {
        "$schema": "x",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "default": [1]}},
        "$defs": {"A": {"type": "object", "enum": [[1]]}},
    }
    before = copy.deepcopy(schema)
    repaired = provider_schema(schema)
    repaired_properties = repaired["properties"]
    assert isinstance(repaired_properties, dict)
    repaired_properties["b"]["default"].append(2)  # type: ignore[index,call-overload,union-attr]
    repaired_properties["a"]["enum"][0].append(2)  # type: ignore[index,call-overload,union-attr]
    assert schema == before
    assert json.loads(json.dumps(repaired)) == repaired
