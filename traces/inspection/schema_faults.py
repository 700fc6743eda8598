"""Where arguments break a tool's schema: the place in the arguments, the rule in the schema, and
what is wrong, in words.

Place in the house: ``traces.inspection``, pure. The engine has decided by itself; this only finds
again what it found. A schema that cannot be evaluated has no faults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import jsonschema
import jsonschema.exceptions
import referencing
import referencing.exceptions
from django.utils.translation import gettext as _
from jsonschema.exceptions import ValidationError

from traces.inspection.json_pieces import KEY, VALUE, Path, Place, value_at

MAX_FAULTS = 20
"""Faults that are looked for."""

MAX_REFERENCES = 20
"""References that lead to one another."""

SHOWN_CHARS = 60
"""How much of a value stands in a sentence."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. ``pointer`` is the JSON pointer of what is wrong (``""`` for the whole), ``text``
    goes on after it ("is missing"); ``argument`` and ``rule`` are the places to mark, if any."""

    pointer: str
    text: str
    argument: Place | None
    rule: Place | None


def find_faults(arguments: object, schema: object) -> list[Fault]:
    """The faults of arguments, in order, at most ``MAX_FAULTS``; none where all fits."""
    if not isinstance(schema, dict):
        return []
    named = schema.get("$schema")
    draft = jsonschema.Draft202012Validator
    if isinstance(named, str):
        draft = jsonschema.validators.validator_for({"$schema": named}, default=draft)
    try:
        # Nothing is ever fetched: a reference to the network stays unresolved.
        validator = draft(schema, registry=referencing.Registry())
        errors: Iterable[ValidationError] = validator.iter_errors(arguments)
        found = (fault for error in errors for fault in _faults(error, schema))
        # What is too much comes last: most of it explains itself by what is missing.
        return sorted(islice(found, MAX_FAULTS), key=_is_too_much)
    except _CANNOT_EVALUATE:
        return []


def pointer_of(path: Path) -> str:
    """A JSON pointer: ``/cities/0/name``."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _is_too_much(fault: Fault) -> bool:
    return fault.argument is not None and fault.argument[0] == KEY


def _faults(error: ValidationError, schema: dict[str, object]) -> Iterator[Fault]:
    path: Path = tuple(error.absolute_path)
    rule = _rule_path(schema, tuple(error.absolute_schema_path))
    match error.validator:
        case "required":
            yield _missing(error, path, rule)
        case "additionalProperties" | "unevaluatedProperties":
            for name in _unknown_names(error):
                yield Fault(
                    pointer=pointer_of((*path, name)),
                    text=_("is not known"),
                    argument=(KEY, (*path, name)),
                    rule=_place(schema, rule),
                )
        case _:
            yield Fault(
                pointer=pointer_of(path),
                text=_text(error),
                argument=(VALUE, path),
                rule=_place(schema, rule),
            )


def _missing(error: ValidationError, path: Path, rule: Path) -> Fault:
    expected = [str(name) for name in error.validator_value]
    missing = [name for name in expected if name not in error.instance]
    named = error.message.split(" is a required")[0].strip("'\"")
    name = named if named in missing else missing[0]
    return Fault(
        pointer=pointer_of((*path, name)),
        text=_("is missing"),
        # Where it should stand there is nothing to mark but an object without anything in it.
        argument=None if error.instance else (VALUE, path),
        rule=(VALUE, (*rule, expected.index(name))),
    )


def _unknown_names(error: ValidationError) -> list[str]:
    known = error.schema.get("properties", {})
    patterns = error.schema.get("patternProperties", {})
    extra = [name for name in error.instance if name not in known]
    return [name for name in extra if not any(re.search(p, name) for p in patterns)]


def _text(error: ValidationError) -> str:
    wanted, came = error.validator_value, _shown(error.instance)
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else [str(kind) for kind in wanted]
            return _type_text(_(" or ").join(kinds), came)
        case "const":
            return _type_text(_shown(wanted), came)
        case "enum":
            listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in wanted)
            listed = listed if len(listed) <= 200 else f"{listed[:199]}…"
            return _("must be one of %(wanted)s, not %(came)s") % {"wanted": listed, "came": came}
        case "anyOf" | "oneOf":
            return _("fits none of the allowed forms: %(came)s") % {"came": came}
    return _("breaks the rule %(rule)s %(wanted)s: %(came)s") % {
        "rule": error.validator,
        "wanted": _shown(wanted),
        "came": came,
    }


def _type_text(wanted: str, came: str) -> str:
    return _("must be %(wanted)s, not %(came)s") % {"wanted": wanted, "came": came}


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _rule_path(schema: dict[str, object], steps: Path) -> Path:
    """The place of a rule in the schema as it is written: ``jsonschema`` leaves references out."""
    path: Path = ()
    for step in steps:
        for _hop in range(MAX_REFERENCES):
            node = _lookup(schema, path)
            target = node.get("$ref") if isinstance(node, dict) and step not in node else None
            followed = _path_of(target) if isinstance(target, str) else None
            if followed is None:
                break
            path = followed
        path = (*path, step)
    return path


def _path_of(reference: str) -> Path | None:
    """Where ``#/$defs/City`` points to inside of the schema; ``None`` for anywhere else."""
    if reference == "#":
        return ()
    if not reference.startswith("#/"):
        return None
    steps = reference[2:].split("/")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _place(schema: dict[str, object], path: Path) -> Place | None:
    """What to mark of a rule: its value where that is short, else its name."""
    value = _lookup(schema, path)
    if value is None:
        return None
    is_large = isinstance(value, dict | list) and len(json.dumps(value, default=str)) > SHOWN_CHARS
    is_member = bool(path) and isinstance(path[-1], str)
    return (KEY, path) if is_large and is_member else (VALUE, path)


def _lookup(schema: object, path: Path) -> object:
    try:
        return value_at(schema, path)
    except LookupError:
        return None
