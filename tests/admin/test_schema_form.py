"""A tool's schema becomes a form, and what is entered becomes arguments that fit it."""

from __future__ import annotations

from typing import Any

import pytest

from agents.admin.schema_form import (
    FieldFault,
    FormField,
    form_fields,
    read_arguments,
    start_values,
)


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def kinds(fields: tuple[FormField, ...]) -> dict[str, str]:
    found = {field.pointer: field.kind for field in fields}
    for field in fields:
        found |= kinds(field.fields)
    return found


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer"}, "integer"),
        ({"type": ["number", "null"]}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"enum": ["a", 2, None]}, "choice"),
        ({"const": "a"}, "choice"),
        ({"type": "array", "items": {"type": "string"}}, "lines"),
        ({"type": "array", "items": {"type": "object"}}, "json"),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, "group"),
        ({"type": "object"}, "json"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "json"),
        ({"type": ["integer", "string"]}, "json"),
        ({}, "json"),
        (True, "json"),
    ],
)
def test_each_kind_of_value_has_its_field(given: Any, kind: str) -> None:
    assert kinds(form_fields(schema(a=given)))["/a"] == kind


def test_references_are_followed_and_circles_end() -> None:
    node = {
        "type": "object",
        "properties": {"name": {"$ref": "#/$defs/name"}, "next": {"$ref": "#/$defs/node"}},
    }
    given = {
        **schema(a={"$ref": "#/$defs/node"}),
        "$defs": {"node": node, "name": {"type": "string"}},
    }
    found = kinds(form_fields(given))
    assert (found["/a"], found["/a/name"], found["/a/next/name"]) == ("group", "text", "text")
    assert max(pointer.count("/") for pointer in found) < 8
    gone = {"$ref": "#/$defs/gone"}
    assert kinds(form_fields(schema(a=gone, b={"$ref": "https://example.org/x"}))) == {
        "/a": "json",
        "/b": "json",
    }


def test_a_schema_made_to_explode_stays_small() -> None:
    bomb = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/b"} for n in range(100)}}
    found = kinds(form_fields({**schema(a={"$ref": "#/$defs/b"}), "$defs": {"b": bomb}}))
    assert len(found) < 1000


@pytest.mark.parametrize("given", [None, True, [], {}, {"type": "object"}, {"properties": []}])
def test_a_schema_without_properties_has_no_fields(given: Any) -> None:
    assert form_fields(given) == ()


def test_what_is_entered_becomes_arguments() -> None:
    fields = form_fields(
        schema(
            "q",
            q={"type": "string"},
            n={"type": "integer"},
            x={"type": "number"},
            ok={"type": "boolean"},
            kind={"enum": ["a", 2]},
            tags={"type": "array", "items": {"type": "string"}},
            sizes={"type": "array", "items": {"type": "integer"}},
            where={"type": "object", "properties": {"a/b": {"type": "string"}}},
            left={"type": "string"},
            any={},
        )
    )
    posted = {
        "/q": "", "/n": "3", "/x": "2.5", "/ok": "false", "/kind": "2", "/tags": "one\ntwo \n\n",
        "/sizes": "1\n2", "/where/a~1b": "c", "/left": "", "/any": '{"deep": [1]}',
    }  # fmt: skip
    assert read_arguments(fields, posted) == {
        "q": "", "n": 3, "x": 2.5, "ok": False, "kind": 2, "tags": ["one", "two "],
        "sizes": [1, 2], "where": {"a/b": "c"}, "any": {"deep": [1]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"type": "integer"}, "three"),
        ({"type": "integer"}, "true"),
        ({"type": "number"}, '"2"'),
        ({"type": "array", "items": {"type": "integer"}}, "1\nx"),
        ({}, "{"),
    ],
)
def test_what_does_not_fit_is_named_with_its_field(given: Any, text: str) -> None:
    with pytest.raises(FieldFault, match=r"expected .*, got") as caught:
        read_arguments(form_fields(schema(a=given)), {"/a": text})
    assert caught.value.pointer == "/a"


def test_defaults_stand_in_the_fields() -> None:
    fields = form_fields(
        schema(
            a={"type": "string", "default": "x"},
            b={"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
            c={"type": "object", "properties": {"d": {"type": "boolean", "default": True}}},
            e={"type": "string"},
        )
    )
    start = start_values(fields)
    assert start == {"/a": "x", "/b": "1\n2", "/c/d": "true", "/e": ""}
    assert read_arguments(fields, start) == {"a": "x", "b": [1, 2], "c": {"d": True}}
