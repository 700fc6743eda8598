"""The arguments of a tool call: read, repaired, checked against the tool's schema, compared.

Place in the house: ``agents.loop``, pure. Source of the rules: section 6, step 1 of the loop's
contract. A text that was cut off is never completed: half a command must not run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import NoReturn, Protocol

import jsonschema
import jsonschema.exceptions
import referencing
import referencing.exceptions

from agents.loop.loose_json import MAX_DEPTH, CutOff, Unreadable, read_object, repair_object
from agents.loop.messages import JsonObject, JsonValue

_LISTED_ERRORS = 3
_COUNTED_ERRORS = 20
_SHOWN_CHARS = 80
_FENCE = re.compile(r"```[A-Za-z0-9]*\s*(\{.*?)\s*(?:```\s*)?", re.DOTALL)
_HARMLESS_REST = re.compile(r"(?:[\s}\])`;,]|<[^<>{}\"]*>)*")
_CANNOT_EVALUATE = (
    jsonschema.exceptions.UnknownType,
    jsonschema.exceptions.SchemaError,
    referencing.exceptions.Unresolvable,
    re.error,
    RecursionError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    ValueError,
)
"""What ``jsonschema`` raises where a schema is broken: a bad pattern, an unknown ``$ref``."""


class ArgumentsProblem(ValueError):
    """Raised when arguments cannot be used.

    ``message`` is written for the model: what was expected and what came. ``pointer`` is the JSON
    pointer of the first fault in the arguments, ``""`` for the whole.
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.pointer = pointer


class Validator(Protocol):
    """A compiled schema, as ``jsonschema`` makes it."""

    def iter_errors(self, instance: JsonValue) -> Iterable[jsonschema.exceptions.ValidationError]:
        """Every way in which the instance breaks the schema."""
        ...


def parse_arguments(raw: str | JsonObject) -> JsonObject:
    """The arguments as an object; empty text, white space and ``null`` are ``{}``.

    An object is taken as it is. Text is read as strict JSON first (integers keep all digits), then
    repaired where its meaning is certain. Raises ``ArgumentsProblem``: cut off, no object, several
    objects, or not readable.
    """
    if not isinstance(raw, str):
        return _refuse_unsendable(raw)
    text = raw.strip().removeprefix("\ufeff").strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced.group(1)
    if text in ("", "null"):
        return {}
    try:
        value = _STRICT.decode(text)
    except RecursionError:
        raise _nested_too_deeply() from None
    except json.JSONDecodeError:
        value = _repair(text)
    except ArgumentsProblem:
        raise
    except ValueError:
        raise ArgumentsProblem("a number in the arguments has more than 4300 digits") from None
    if not isinstance(value, dict):
        raise ArgumentsProblem(f"the arguments must be an object in JSON, got {_shown(value)}")
    return _refuse_unsendable(value)


def build_validator(schema: JsonValue) -> Validator | None:
    """A validator of the draft that ``$schema`` names, else 2020-12; ``None`` without a schema.

    Nothing is ever fetched: a ``$ref`` to the network stays unresolved, and such a schema lets
    every call through.
    """
    if not isinstance(schema, dict):
        return None
    named = schema.get("$schema")
    draft = jsonschema.Draft202012Validator
    if isinstance(named, str):
        draft = jsonschema.validators.validator_for({"$schema": named}, default=draft)
    validator: Validator = draft(schema, registry=referencing.Registry())
    return validator


def validate_arguments(arguments: JsonObject, validator: Validator | None) -> None:
    """Return if the arguments fit the schema, else raise ``ArgumentsProblem`` with its faults.

    A schema that cannot be evaluated lets the call through: the server decides.
    """
    if validator is None:
        return
    try:
        errors = list(islice(filter(_is_real, validator.iter_errors(arguments)), _COUNTED_ERRORS))
        lines = [_describe(error) for error in errors[:_LISTED_ERRORS]]
    except _CANNOT_EVALUATE:
        return
    if not errors:
        return
    if len(errors) > _LISTED_ERRORS:
        more = len(errors) - _LISTED_ERRORS
        lines.append(f"and {more}{'+' if len(errors) == _COUNTED_ERRORS else ''} more")
    raise ArgumentsProblem(
        f"the arguments do not fit the tool's schema: {'; '.join(lines)}", _pointer(errors[0])
    )


def equal_key(arguments: JsonValue) -> str:
    """A text that is the same for equal arguments: compared as JSON, so ``1`` equals ``1.0``.

    The order of keys does not matter; ``true`` is not ``1``.
    """
    return json.dumps(_canonical(arguments), sort_keys=True, separators=(",", ":"))


def _unique_keys(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value: JsonObject = {}
    for key, item in pairs:
        if key in value and equal_key(value[key]) != equal_key(item):
            raise ArgumentsProblem(
                f"the arguments give {json.dumps(key)} twice with different values"
            )
        value[key] = item
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentsProblem(f"{name} is not a JSON value; use a number, a string or null")


_STRICT = json.JSONDecoder(
    strict=False, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant
)


def _nested_too_deeply() -> ArgumentsProblem:
    return ArgumentsProblem(f"the arguments are nested deeper than {MAX_DEPTH} levels")


def _repair(text: str) -> JsonValue:
    if not text.startswith("{"):
        raise ArgumentsProblem(
            f"the arguments must be an object in JSON and nothing else, got {_shown(text)}"
        )
    try:
        found = read_object(text)
        _refuse_rest(found.source, found.rest)
        value: JsonValue = _STRICT.decode(repair_object(found))
    except CutOff as cut:
        raise ArgumentsProblem(
            f"the arguments were cut off: {cut}. Send the whole object again, with every string "
            "and bracket closed and quotes inside strings escaped"
        ) from None
    except Unreadable as fault:
        raise ArgumentsProblem(f"the arguments must be an object in valid JSON: {fault}") from None
    except RecursionError:
        raise _nested_too_deeply() from None
    return value


def _refuse_rest(source: str, rest: str) -> None:
    rest = re.sub(r"^(?:\s+|//[^\n]*|/\*.*?\*/)+", "", rest, flags=re.DOTALL)
    if not rest or (_HARMLESS_REST.fullmatch(rest) and _is_strict(source)):
        return
    what = "another object" if rest.startswith("{") else "more text"
    raise ArgumentsProblem(
        f"the arguments must be one object in JSON and nothing else, but {what} follows it: "
        f"{_shown(rest)}"
    )


def _is_strict(source: str) -> bool:
    try:
        _STRICT.decode(source)
    except json.JSONDecodeError:
        return False
    return True


def _refuse_unsendable(value: JsonObject) -> JsonObject:
    """The value itself, if it can be written as JSON in UTF-8 at a sensible depth."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except RecursionError:
        raise _nested_too_deeply() from None
    except UnicodeEncodeError:
        raise ArgumentsProblem(
            "the arguments hold half of a character: an escape like \\ud83d needs its second half"
        ) from None
    except ValueError:
        raise ArgumentsProblem(
            "the arguments hold a number that JSON does not have: NaN, Infinity or one too large"
        ) from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deep(value):
        raise _nested_too_deeply()
    return value


def _is_deep(value: JsonValue) -> bool:
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, (dict, list)) for item in level)


def _canonical(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _is_real(error: jsonschema.exceptions.ValidationError) -> bool:
    # Draft 4 wrote "exclusiveMinimum": true beside "minimum"; later drafts read it as the number 1.
    is_exclusive = error.validator in ("exclusiveMinimum", "exclusiveMaximum")
    return not (is_exclusive and isinstance(error.validator_value, bool))


def _describe(error: jsonschema.exceptions.ValidationError) -> str:
    where = _pointer(error)
    return f"{where + ': ' if where else ''}{_expectation(error)}"


def _expectation(error: jsonschema.exceptions.ValidationError) -> str:
    expected, came = error.validator_value, _shown(error.instance)
    match error.validator:
        case "required":
            missing = [name for name in expected if name not in error.instance]
            named = error.message.split(" is a required")[0].strip("'\"")
            name = named if named in missing else missing[0]
            return f"the required property {json.dumps(name, ensure_ascii=False)} is missing"
        case "type":
            wanted = expected if isinstance(expected, str) else " or ".join(expected)
            return f"expected {wanted}, got {came}"
        case "enum":
            return f"expected one of {_shown(expected, 300)}, got {came}"
        case "const":
            return f"expected {_shown(expected)}, got {came}"
        case "additionalProperties" | "unevaluatedProperties":
            known = error.schema.get("properties", {})
            extra = [name for name in error.instance if name not in known]
            return f"unknown properties {_shown(extra)}; allowed are {_shown(list(known), 300)}"
        case "anyOf" | "oneOf" if error.context:
            forms = dict.fromkeys(_describe(inner) for inner in error.context)
            return f"fits none of the allowed forms ({' | '.join(islice(forms, _LISTED_ERRORS))})"
        case "pattern" | "format":
            return f"expected text of the {error.validator} {_shown(expected)}, got {came}"
        case _:
            return f"{error.validator} is {_shown(expected)}, got {came}"


def _pointer(error: jsonschema.exceptions.ValidationError) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    return "".join(f"/{step}" for step in steps)


def _shown(value: JsonValue, limit: int = _SHOWN_CHARS) -> str:
    text = value if isinstance(value, str) and not value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}..."
