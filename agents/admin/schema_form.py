"""A form for the arguments of a tool, made from its JSON Schema, and back to arguments.

Place in the house: ``agents.admin``, pure. Objects become groups, lists of plain values one value a
line, fixed values a choice; what no field can say (several types, lists of objects, deep nesting)
is entered as JSON. Fields are named by JSON pointers, as in ``/filter/tags``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.loop.messages import JsonObject, JsonValue
from agents.loop.schema_refs import SchemaDocument, SchemaProblem

MOST_DEPTH = 4
"""Groups in groups; what lies deeper is entered as JSON."""

MOST_FIELDS = 300
"""Fields of a form; groups beyond are entered as JSON."""

_PLAIN = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_ANNOTATIONS = frozenset({"description", "title", "default", "examples"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field. ``kind`` is ``group`` (then ``fields`` are in it), ``text``, ``integer``,
    ``number``, ``boolean``, ``choice``, ``lines`` or ``json``.

    ``choices`` are ``(JSON text, label)``; ``item`` is the kind of a line's values.
    """

    pointer: str
    name: str
    kind: str
    is_required: bool = False
    description: str = ""
    start: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    item: str = "text"
    fields: tuple[FormField, ...] = ()


class FieldFault(ValueError):
    """Raised for a value that its field cannot take; says what was expected and what came."""

    def __init__(self, pointer: str, text: str) -> None:
        super().__init__(text)
        self.pointer = pointer


def form_fields(schema: JsonValue) -> tuple[FormField, ...]:
    """The fields for an object of this schema; none where it says nothing of its properties."""
    if not isinstance(schema, dict):
        return ()
    return _properties(_Schemas(schema), schema, "", 0)


def read_arguments(fields: tuple[FormField, ...], posted: Mapping[str, str]) -> JsonObject:
    """The arguments that the posted texts mean; empty fields are left out unless they are required.

    Raises ``FieldFault`` for the first one that cannot be read.
    """
    found: JsonObject = {}
    for field in fields:
        if field.kind == "group":
            inner = read_arguments(field.fields, posted)
            if inner or field.is_required:
                found[field.name] = inner
            continue
        text = posted.get(field.pointer, "")
        if text or (field.is_required and field.kind == "text"):
            found[field.name] = _read(field, text)
    return found


def start_values(fields: tuple[FormField, ...]) -> dict[str, str]:
    """What stands in the fields at first: the schema's defaults."""
    found: dict[str, str] = {}
    for field in fields:
        found |= start_values(field.fields) if field.fields else {field.pointer: field.start}
    return found


class _Schemas:
    """Schemas with their references followed; ``left`` fields may still be made of them."""

    def __init__(self, root: JsonObject) -> None:
        self._document = SchemaDocument(root)
        self.left = MOST_FIELDS

    def plain(self, schema: JsonValue) -> JsonObject:
        """A schema without ``$ref`` and without the choice "or nothing" at its top."""
        seen: set[str] = set()
        current = schema if isinstance(schema, dict) else {}
        while True:
            reference, options = current.get("$ref"), current.get("anyOf") or current.get("oneOf")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                current = self._followed(current, reference)
            elif isinstance(options, list) and (only := _only_option(options)) is not None:
                current = {**only, **{k: v for k, v in current.items() if k in _ANNOTATIONS}}
            else:
                return current

    def _followed(self, schema: JsonObject, reference: str) -> JsonObject:
        try:
            target = self._document.resolve(reference, near=schema)
        except SchemaProblem:
            target = None
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**(target if isinstance(target, dict) else {}), **beside}


def _only_option(options: list[JsonValue]) -> JsonObject | None:
    """The one schema of ``anyOf`` that is not "null"; ``None`` where there are several."""
    real = [o for o in options if isinstance(o, dict) and o.get("type") != "null"]
    return real[0] if len(real) == 1 else None


def _properties(
    schemas: _Schemas, schema: JsonObject, pointer: str, depth: int
) -> tuple[FormField, ...]:
    properties, required = schema.get("properties"), schema.get("required")
    names = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return ()
    schemas.left -= len(properties)
    return tuple(
        _field(schemas, name, value, f"{pointer}/{_escaped(name)}", name in names, depth)
        for name, value in properties.items()
    )


def _field(
    schemas: _Schemas, name: str, given: JsonValue, pointer: str, is_required: bool, depth: int
) -> FormField:
    schema = schemas.plain(given)
    kind, choices, item, fields = "json", (), "text", ()
    type_ = _type_of(schema)
    fixed = schema.get("enum") if isinstance(schema.get("enum"), list) else None
    if fixed is None and "const" in schema:
        fixed = [schema["const"]]
    if fixed is not None:
        kind, choices = "choice", tuple((_json(value), _label(value)) for value in fixed)
    elif type_ in _PLAIN:
        kind = _PLAIN[type_]
    elif type_ == "array" and (found := _PLAIN.get(_type_of(schemas.plain(schema.get("items"))))):
        kind, item = "lines", found
    elif type_ == "object" and depth < MOST_DEPTH and schemas.left > 0:
        fields = _properties(schemas, schema, pointer, depth + 1)
        kind = "group" if fields else "json"
    return FormField(
        pointer=pointer,
        name=name,
        kind=kind,
        is_required=is_required,
        description=str(schema.get("description") or schema.get("title") or ""),
        start=_start(kind, schema.get("default")),
        choices=choices,
        item=item,
        fields=fields,
    )


def _type_of(schema: JsonObject) -> str:
    """The one type of a schema; ``""`` where it has several or says none."""
    given = schema.get("type")
    if isinstance(given, list):
        real = [name for name in given if name != "null"]
        given = real[0] if len(real) == 1 else ""
    if not given and isinstance(schema.get("properties"), dict):
        return "object"
    return given if isinstance(given, str) else ""


def _start(kind: str, default: JsonValue) -> str:
    if default is None or kind == "group":
        return ""
    if kind == "text":
        return default if isinstance(default, str) else _json(default)
    if kind == "lines" and isinstance(default, list):
        return "\n".join(_label(value) for value in default)
    return _json(default)


def _read(field: FormField, text: str) -> JsonValue:
    if field.kind == "text":
        return text
    if field.kind == "lines":
        lines = [line for line in text.splitlines() if line.strip()]
        return [_read_plain(field, field.item, line) for line in lines]
    if field.kind in ("integer", "number"):
        return _read_plain(field, field.kind, text)
    return _read_json(field, text)


def _read_plain(field: FormField, kind: str, text: str) -> JsonValue:
    if kind == "text":
        return text
    value = _read_json(field, text.strip())
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {"boolean": isinstance(value, bool), "number": is_number, "integer": is_number}
    if not fits[kind]:
        raise FieldFault(field.pointer, _expected(kind, text))
    return value


def _read_json(field: FormField, text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        kind = field.item if field.kind == "lines" else field.kind
        raise FieldFault(field.pointer, _expected(kind, text)) from None
    return value


def _expected(kind: str, text: str) -> str:
    wanted = {
        "integer": _("a whole number, for example 3"),
        "number": _("a number, for example 2.5"),
        "boolean": _("true or false"),
    }.get(kind, _('JSON, for example {"a": 1} or ["x"]'))
    return _("expected %(wanted)s, got %(text)s") % {"wanted": wanted, "text": text[:80]}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _label(value: JsonValue) -> str:
    return value if isinstance(value, str) else _json(value)
