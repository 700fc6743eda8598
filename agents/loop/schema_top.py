"""The top of a tool's schema: an object schema, as providers demand it.

Place in the house: ``agents.loop``, pure; used by ``agents.loop.schemas``. OpenAI and Anthropic
refuse ``anyOf``, ``oneOf``, ``allOf``, ``enum`` and ``not`` at the top of a tool's parameters: the
properties of all alternatives are offered together, and a sentence in the description says which
belong together. The stored schema still decides about the arguments.
"""

from __future__ import annotations

import json

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.schema_refs import SchemaProblem

_COMBINING = ("allOf", "anyOf", "oneOf")
_REFUSED = frozenset({*_COMBINING, "enum", "const", "not"})


def flatten_top(schema: JsonObject) -> JsonObject:
    """A repaired schema with ``type: object`` and ``properties`` and nothing refused at its top.

    Raises ``SchemaProblem`` if the schema does not describe an object.
    """
    if not _allows_object(schema):
        raise SchemaProblem(
            f"the input schema must describe an object, got type {json.dumps(schema.get('type'))}"
        )
    properties = dict(_object(schema.get("properties")))
    required = list(_texts(schema.get("required")))
    notes: list[str] = []
    for part in map(flatten_top, _parts(schema, "allOf")):
        _add_properties(properties, part, "allOf")
        required.extend(_texts(part.get("required")))
    for keyword in ("anyOf", "oneOf"):
        forms = _object_forms(schema, keyword)
        for form in forms:
            _add_properties(properties, form, "anyOf")
        groups = [_texts(form.get("required")) for form in forms]
        required.extend(_in_all(groups))
        notes.extend(_note_on(groups))
    top: JsonObject = {key: value for key, value in schema.items() if key not in _REFUSED}
    top |= {"type": "object", "properties": properties}
    if required:
        top["required"] = list(dict.fromkeys(required))
    if notes:
        top["description"] = " ".join([*_texts([schema.get("description")]), *notes])
    return top


def _object_forms(schema: JsonObject, keyword: str) -> list[JsonObject]:
    forms = _parts(schema, keyword)
    objects = [flatten_top(form) for form in forms if _allows_object(form)]
    if forms and not objects:
        raise SchemaProblem(
            f"the input schema must describe an object, but no form in {keyword} does"
        )
    return objects


def _allows_object(schema: JsonObject) -> bool:
    kinds = schema.get("type")
    if kinds is None:
        return schema.get("not") != {}
    return kinds == "object" or (isinstance(kinds, list) and "object" in kinds)


def _parts(schema: JsonObject, keyword: str) -> list[JsonObject]:
    parts = schema.get(keyword)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _add_properties(properties: JsonObject, part: JsonObject, keyword: str) -> None:
    for name, schema in _object(part.get("properties")).items():
        known = properties.get(name)
        if known is None or known == {}:
            properties[name] = schema
        elif known != schema:
            properties[name] = _combined(known, schema, keyword)


def _combined(known: JsonValue, schema: JsonValue, keyword: str) -> JsonValue:
    if isinstance(known, dict) and list(known) == [keyword]:
        parts = known[keyword]
        if isinstance(parts, list):
            return {keyword: parts if schema in parts else [*parts, schema]}
    return {keyword: [known, schema]}


def _note_on(groups: list[list[str]]) -> list[str]:
    different = list(dict.fromkeys(", ".join(group) for group in groups if group))
    if len(different) < 2:
        return []
    return [f"Give one of these groups of properties: {'; or '.join(different)}."]


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _in_all(groups: list[list[str]]) -> list[str]:
    first = groups[0] if groups else []
    return [name for name in first if all(name in group for group in groups)]
