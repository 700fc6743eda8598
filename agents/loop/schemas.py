"""JSON Schemas of tools in the shape that providers accept.

Place in the house: ``agents.loop``, pure. Source of the rules: section 5, "Schemas", of the loop's
contract. The stored schema is never changed: arguments are validated against it, so what is
loosened here for the model's eyes loosens nothing else. Nothing is ever fetched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.schema_refs import SchemaDocument, SchemaProblem
from agents.loop.schema_top import flatten_top

__all__ = ["MAX_NODES", "SchemaProblem", "provider_schema"]

MAX_NODES = 10_000
"""Values in a repaired schema; references that would grow it further cannot be repaired."""

MAX_DEPTH = 60
"""Levels of subschemas in a repaired schema."""

_DROPPED = frozenset(
    {
        "$schema",
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$comment",
        "$defs",
        "definitions",
    }
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset(
    {
        "additionalItems",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
    }
)
_SCHEMAS_OR_FLAGS = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})
_NULL_IS_DATA = frozenset({"default", "const", "example"})
_ANNOTATIONS = frozenset(
    {
        "default",
        "deprecated",
        "description",
        "example",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)


def provider_schema(schema: JsonValue) -> JsonObject:
    """The schema as it is sent to a provider: an object schema without references.

    ``null``, ``true`` and ``{}`` become an object without properties. Raises ``SchemaProblem``
    where the schema cannot be repaired: no object at the top, a ``$ref`` that leads nowhere or to
    the network, one too large when references are inlined. The argument is not changed.
    """
    if schema is None or schema is True:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise SchemaProblem(f"the input schema must be an object, got {schema!r:.80}")
    repair = _Repair(document=SchemaDocument(schema))
    try:
        repaired = repair.subschema(schema, _Place(pointer="#", expanding=(id(schema),)))
    except RecursionError:
        raise SchemaProblem("the input schema is nested too deeply") from None
    return flatten_top(repaired)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the repair is: for messages, and the targets being inlined just now, by identity."""

    pointer: str
    expanding: tuple[int, ...]
    depth: int = 0

    def below(self, step: str) -> _Place:
        """The place one step further down."""
        return _Place(
            pointer=f"{self.pointer}/{step}", expanding=self.expanding, depth=self.depth + 1
        )


@dataclass(slots=True, kw_only=True)
class _Repair:
    """One repair; counts what it has written."""

    document: SchemaDocument
    nodes: int = field(default=0)

    def subschema(self, schema: JsonValue, place: _Place) -> JsonObject:
        """A schema in any position as an object."""
        self._count(place)
        if schema is None or schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, dict):
            raise SchemaProblem(f"{place.pointer} must be a schema, got {schema!r:.80}")
        for keyword in _REFERENCES:
            if keyword in schema:
                return self._inlined(schema, schema[keyword], place)
        repaired: JsonObject = {}
        for keyword, value in schema.items():
            self._repair_keyword(repaired, keyword, value, place)
        _complete(repaired)
        return repaired

    def _inlined(self, schema: JsonObject, reference: JsonValue, place: _Place) -> JsonObject:
        if not isinstance(reference, str):
            raise SchemaProblem(f"{place.pointer}/$ref must be text, got {reference!r:.80}")
        target = self.document.resolve(reference, near=schema)
        siblings = {key: value for key, value in schema.items() if key not in _REFERENCES}
        beside = self.subschema(siblings, place) if siblings else {}
        if id(target) in place.expanding:
            # A cycle: the model sees the kind of value, not its inside.
            return {**_outline(target), **beside}
        inside = _Place(
            pointer=place.pointer,
            expanding=(*place.expanding, id(target)),
            depth=place.depth + 1,
        )
        return _merged(self.subschema(target, inside), beside)

    def _repair_keyword(
        self, repaired: JsonObject, keyword: str, value: JsonValue, place: _Place
    ) -> None:
        if keyword in _DROPPED or (value is None and keyword not in _NULL_IS_DATA):
            return
        below = place.below(keyword)
        if keyword in _SCHEMA_MAPS:
            repaired[keyword] = self._schema_map(value, below)
        elif keyword in _SCHEMA_LISTS:
            repaired[keyword] = self._schema_list(value, below)
        elif keyword == "items" and isinstance(value, list):
            # The old way to write a tuple; providers take only its new name.
            repaired["prefixItems"] = self._schema_list(value, below)
        elif keyword in _SCHEMAS_OR_FLAGS and isinstance(value, bool):
            repaired[keyword] = value
        elif keyword in _SCHEMAS or keyword in _SCHEMAS_OR_FLAGS:
            repaired[keyword] = self.subschema(value, below)
        elif keyword == "dependencies" and isinstance(value, dict):
            repaired[keyword] = {
                name: self._copy(item, below)
                if isinstance(item, list)
                else self.subschema(item, below.below(name))
                for name, item in value.items()
            }
        elif not (keyword == "required" and not isinstance(value, list)):
            repaired[keyword] = self._copy(value, below)

    def _schema_map(self, value: JsonValue, place: _Place) -> JsonObject:
        if value == []:
            # PHP's way to write an empty object.
            return {}
        if not isinstance(value, dict):
            raise SchemaProblem(f"{place.pointer} must be an object of schemas, got {value!r:.80}")
        return {name: self.subschema(item, place.below(name)) for name, item in value.items()}

    def _schema_list(self, value: JsonValue, place: _Place) -> list[JsonValue]:
        if not isinstance(value, list):
            raise SchemaProblem(f"{place.pointer} must be a list of schemas, got {value!r:.80}")
        return [self.subschema(item, place.below(str(n))) for n, item in enumerate(value)]

    def _copy(self, value: JsonValue, place: _Place) -> JsonValue:
        self._count(place)
        if isinstance(value, dict):
            return {key: self._copy(item, place) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item, place) for item in value]
        return value

    def _count(self, place: _Place) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise SchemaProblem(
                f"the input schema has more than {MAX_NODES} values once its references are inlined"
            )
        if place.depth > MAX_DEPTH:
            raise SchemaProblem(f"the input schema is nested deeper than {MAX_DEPTH} levels")


def _complete(schema: JsonObject) -> None:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" in kinds:
        schema.setdefault("properties", {})
    if "array" in kinds or "prefixItems" in schema:
        schema.setdefault("items", schema.pop("additionalItems", {}))


def _outline(target: JsonValue) -> JsonObject:
    if not isinstance(target, dict):
        return {}
    outline: JsonObject = {
        key: target[key] for key in ("type", "description") if isinstance(target.get(key), str)
    }
    _complete(outline)
    return outline


def _merged(target: JsonObject, beside: JsonObject) -> JsonObject:
    """The referenced schema with the keywords that stood beside the reference."""
    if "properties" in target and "properties" in beside:
        beside = _without_empty_properties(beside)
    clashes = {
        key
        for key in beside
        if key in target and key not in _ANNOTATIONS and target[key] != beside[key]
    }
    if not clashes:
        return {**target, **beside}
    rest = {key: value for key, value in beside.items() if key in _ANNOTATIONS}
    limits = {key: value for key, value in beside.items() if key not in _ANNOTATIONS}
    return {"allOf": [target, limits], **rest}


def _without_empty_properties(schema: JsonObject) -> JsonObject:
    if schema["properties"]:
        return schema
    return {key: value for key, value in schema.items() if key != "properties"}
