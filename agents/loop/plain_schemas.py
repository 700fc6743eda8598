"""Schemas in the few keywords that every provider takes, for those that refuse the others.

Place in the house: ``agents.loop``, pure; after ``schemas``, where a provider is set so
(``plain_schemas``). What cannot be said in these keywords is said in the description: the model
still reads it, and the stored schema still decides about the arguments.
"""

from __future__ import annotations

import json

from agents.loop.messages import JsonObject, JsonValue

_LIMITS = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}
_ADDITIONAL = frozenset({"additionalProperties", "unevaluatedProperties", "additionalItems"})
_FORMATS = {
    "string": ("date-time",),
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}
_READ = frozenset(
    {
        "minimum", "maximum", "minItems", "maxItems", "type", "description", "properties",
        "required", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "nullable",
        "title",
    }
)  # fmt: skip
"""Keywords that are translated; every other one is told in words."""

_KINDS = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
_NOTE_CHARS = 300


def plain_tool(definition: JsonObject) -> JsonObject:
    """A tool's definition with a plain schema; without ``parameters`` where it takes none."""
    function = definition.get("function")
    parameters = function.get("parameters") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(parameters, dict):
        return definition
    plain = plain_schema(parameters)
    rest = {key: value for key, value in function.items() if key != "parameters"}
    return {
        **definition,
        "function": {**rest, "parameters": plain} if plain.get("properties") else rest,
    }


def plain_schema(schema: JsonObject) -> JsonObject:
    """The schema in plain keywords: one type, ``nullable``, texts in ``enum``, ``anyOf`` alone.

    ``schema`` must hold no references. It is not changed.
    """
    schema = _with_all(schema)
    forms, can_be_null = _forms(schema)
    plain: JsonObject = (
        _one_form(forms[0])
        if len(forms) == 1
        else {"anyOf": [plain_schema(form) for form in forms]}
    )
    if can_be_null:
        _take_null(plain)
    return plain


def _take_null(plain: JsonObject) -> None:
    """Let a plain schema, just made, take null as well."""
    forms = _objects(plain.get("anyOf"))
    for form in forms:
        _take_null(form)
    if not forms:
        plain["nullable"] = True


def _with_all(schema: JsonObject) -> JsonObject:
    """The schema with the parts of its ``allOf`` joined into it."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    joined: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    for part in map(_with_all, _objects(parts)):
        properties = {**_object(part.get("properties")), **_object(joined.get("properties"))}
        required = [*_list(joined.get("required")), *_list(part.get("required"))]
        joined = {**part, **joined}
        if properties:
            joined["properties"] = properties
        if required:
            joined["required"] = list(required)
    return joined


def _forms(schema: JsonObject) -> tuple[list[JsonObject], bool]:
    """The forms that a value may have, each whole, and whether it may be null; never none."""
    can_be_null = schema.get("nullable") is True or None in _list(schema.get("enum"))
    kinds = schema.get("type")
    common = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
    forms = [*_objects(schema.get("anyOf")), *_objects(schema.get("oneOf"))]
    if not forms and isinstance(kinds, list):
        forms = [{"type": kind} for kind in kinds]
    if isinstance(kinds, list):
        del common["type"]
    valued = [form for form in forms if not _is_null(form)]
    can_be_null = can_be_null or len(valued) < len(forms)
    return [_joined(common, form) for form in valued or [{}]], can_be_null


def _is_null(form: JsonObject) -> bool:
    return form.get("type") == "null" or ("const" in form and form["const"] is None)


def _joined(common: JsonObject, form: JsonObject) -> JsonObject:
    texts = [common.get("description"), form.get("description")]
    said = list(dict.fromkeys(text for text in texts if isinstance(text, str) and text))
    joined = _with_all({**form, "allOf": [*_list(form.get("allOf")), common]})
    return {**joined, "description": " ".join(said)} if said else joined


def _one_form(schema: JsonObject) -> JsonObject:
    if isinstance(schema.get("type"), list) or "anyOf" in schema or "oneOf" in schema:
        return plain_schema(schema)
    values = _values(schema)
    kind = _kind(schema, values)
    plain: JsonObject = {"type": kind}
    notes = [
        f"{key}: {_json(value)}" for key, value in schema.items() if _is_told(key, value, kind)
    ]
    if values and kind == "string" and all(isinstance(value, str) and value for value in values):
        plain["enum"] = list(values)
    elif values:
        notes.insert(0, f"one of {_json(list(values))}")
    if kind == "object":
        plain |= _object_parts(schema)
    if kind == "array":
        plain["items"] = _items(schema)
    plain |= {key: schema[key] for key in _LIMITS.get(kind, ()) if _fits(schema.get(key))}
    if schema.get("format") in _FORMATS.get(kind, ()):
        plain["format"] = schema["format"]
    said = schema.get("description")
    texts = [said] if isinstance(said, str) and said else []
    texts += [f"({'; '.join(notes)})"] if notes else []
    return {**plain, "description": " ".join(texts)} if texts else plain


def _object_parts(schema: JsonObject) -> JsonObject:
    properties: JsonObject = {
        name: plain_schema(item if isinstance(item, dict) else {})
        for name, item in _object(schema.get("properties")).items()
    }
    parts: JsonObject = {"properties": properties} if properties else {}
    required = [name for name in _list(schema.get("required")) if name in properties]
    if required:
        parts["required"] = list(dict.fromkeys(str(name) for name in required))
    return parts


def _items(schema: JsonObject) -> JsonObject:
    forms = _objects(schema.get("prefixItems"))
    items = schema.get("items")
    if isinstance(items, dict) and items:
        forms = [*forms, items]
    different = [form for n, form in enumerate(forms) if form not in forms[:n]]
    if len(different) > 1:
        return plain_schema({"anyOf": list(different)})
    return plain_schema(different[0] if different else {})


def _values(schema: JsonObject) -> list[JsonValue]:
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    return [value for value in values if value is not None]


def _kind(schema: JsonObject, values: list[JsonValue]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if "properties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    named = [name for type_, name in _KINDS if values and isinstance(values[0], type_)]
    # Who says nothing takes anything; text is what every provider can write.
    return named[0] if named else "string"


def _is_told(key: str, value: JsonValue, kind: str) -> bool:
    if key in _READ or value is None or (key == "format" and value in _FORMATS.get(kind, ())):
        return False
    return key not in _ADDITIONAL or (isinstance(value, dict) and bool(value))


def _json(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _NOTE_CHARS else f"{text[:_NOTE_CHARS]}..."


def _fits(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
