"""Arguments that can be made up for a tool, from its samples or its schema.

Place in the house: ``agents.runs.loop_checks``, pure.
"""

from __future__ import annotations

import math

from agents.loop.arguments import ArgumentsProblem, build_validator, validate_arguments
from agents.loop.interfaces import ToolSpec
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.schemas import SchemaProblem, provider_schema

_TEXTS = ("test", "2026-01-01", "2026-01-01T00:00:00Z", "12:00", "1", "a", "test@example.org",
    "https://example.org/", "00000000-0000-0000-0000-000000000000", "UTC", "en", "EUR",
)  # fmt: skip
"""Texts that are tried in turn, the plainest first."""

_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "12:00:00Z",
    "email": "test@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "ipv4": "127.0.0.1",
    "hostname": "example.org",
}
_MAX_DEPTH = 6
_MAX_ITEMS = 10


def make_arguments(spec: ToolSpec) -> JsonObject | None:
    """Arguments that fit the tool's schema: a sample's, else the required ones made up; ``None``
    where none were found."""
    made = [sample.input for sample in spec.samples if isinstance(sample.input, dict)]
    try:
        schema = provider_schema(spec.input_schema)
    except SchemaProblem:
        return None
    made.append(_object(schema, 0))
    validator = build_validator(spec.input_schema)
    for arguments in made:
        try:
            validate_arguments(arguments, validator)
        except ArgumentsProblem:
            continue
        return arguments
    return None


def free_texts(spec: ToolSpec) -> int:
    """How many required arguments are texts of which the schema does not say what they may be: what
    is made up for them will hardly mean anything."""
    schema = spec.input_schema if isinstance(spec.input_schema, dict) else {}
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return 0
    found = [properties.get(name) for name in required if isinstance(name, str)]
    return sum(_is_free_text(part) for part in found if isinstance(part, dict))


def optional_arguments(spec: ToolSpec) -> int:
    """How many arguments may be left away: their defaults are unknown, and may take long."""
    schema = spec.input_schema if isinstance(spec.input_schema, dict) else {}
    required, properties = schema.get("required"), schema.get("properties")
    count = len(properties) if isinstance(properties, dict) else 0
    return max(count - (len(required) if isinstance(required, list) else 0), 0)


def _is_free_text(schema: JsonObject) -> bool:
    is_said = any(key in schema for key in ("enum", "const", "default", "examples", "pattern"))
    return schema.get("type") == "string" and not is_said and schema.get("format") not in _FORMATS


def _value(schema: JsonValue, depth: int) -> JsonValue:
    """A value for a schema; it is judged by the validator afterwards."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "test"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum", "anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and options:
            return options[0] if key in ("examples", "enum") else _value(options[0], depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        return _object(schema, depth)
    if kind == "array":
        return _list(schema, depth)
    if kind in ("integer", "number"):
        return _number(schema)
    return {"boolean": False, "null": None}.get(str(kind), _text(schema))


def _object(schema: JsonObject, depth: int) -> JsonObject:
    required, properties = schema.get("required"), schema.get("properties")
    names = (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )
    known = properties if isinstance(properties, dict) else {}
    return {name: _value(known.get(name), depth + 1) for name in names}


def _list(schema: JsonObject, depth: int) -> list[JsonValue]:
    least = schema.get("minItems")
    count = min(least, _MAX_ITEMS) if isinstance(least, int) else 0
    return [_value(schema.get("items"), depth + 1) for _ in range(count)]


def _number(schema: JsonObject) -> int | float:
    """1, or the nearest whole number within the limits."""
    low, above = _limit(schema, "minimum"), _limit(schema, "exclusiveMinimum")
    high, below = _limit(schema, "maximum"), _limit(schema, "exclusiveMaximum")
    least = max(math.ceil(low) if low is not None else 1, 1 if low is None else -(10**18))
    if above is not None:
        least = max(least, math.floor(above) + 1)
    most = math.floor(high) if high is not None else None
    if below is not None:
        most = math.ceil(below) - 1 if most is None else min(most, math.ceil(below) - 1)
    value = least if most is None else min(least, most)
    step = schema.get("multipleOf")
    if isinstance(step, int) and step > 1:
        value = -(-value // step) * step
    return value


def _limit(schema: JsonObject, name: str) -> float | None:
    value = schema.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def _text(schema: JsonObject) -> str:
    validator = build_validator({**schema, "type": "string"})
    named = _FORMATS.get(str(schema.get("format")))
    for text in (named, *_TEXTS) if named else _TEXTS:
        least = schema.get("minLength")
        text = text.ljust(min(least, 200), "x") if isinstance(least, int) else text
        if validator is None or not any(True for _ in validator.iter_errors(text)):
            return text
    return "test"
