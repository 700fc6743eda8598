"""A Python function as a tool: its schema from the signature, its arguments from JSON.

Place in the house: under ``python_servers``; imported at the first use, for pydantic is slow to
import.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import typing_extensions
from pydantic import PydanticUserError, TypeAdapter, ValidationError

from agents.loop.interfaces import ToolSpec
from agents.loop.messages import JsonObject, JsonValue
from agents.python_tools import ToolMark, mark_of

_UNCHECKED = inspect.Parameter.empty


class BadArguments(Exception):
    """Raised when arguments do not fit the function; the text names each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTool:
    """A function, what is told of it, and how to turn each JSON argument into what it wants."""

    spec: ToolSpec
    function: Callable[..., Any]
    adapters: dict[str, TypeAdapter[Any]]

    @property
    def is_async(self) -> bool:
        """Whether the function is awaited rather than run in a thread."""
        inner = inspect.unwrap(self.function)
        while isinstance(inner, functools.partial):
            inner = inner.func
        return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
            getattr(inner, "__call__", None)  # noqa: B004 - the method itself is wanted
        )

    def bind(self, arguments: JsonObject) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments for the function. Raises ``BadArguments``."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        faults: list[str] = []
        parameters = _parameters(self.function)
        for name, value in arguments.items():
            try:
                adapter = self.adapters.get(name)
                named[name] = adapter.validate_python(value) if adapter else value
            except ValidationError as error:
                faults.append(f"argument {name}: {error.errors(include_url=False)[0]['msg']}")
        for parameter in parameters.values():
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in named:
                positional.append(named.pop(parameter.name))
        if not faults:
            faults = _misfits(self.function, positional, named)
        if faults:
            raise BadArguments("; ".join(faults))
        return positional, named


def tools_of_module(server: str, module: ModuleType) -> tuple[PythonTool, ...]:
    """The marked functions of a module in order, or all its public ones if none is marked."""
    own = {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not inspect.isclass(value)
    }
    marked = {name: value for name, value in own.items() if mark_of(value) and callable(value)}
    if marked:
        once = {id(value): (name, value) for name, value in reversed(marked.items())}
        chosen = [once[key] for key in reversed(once)]
    else:
        chosen = [
            (name, value)
            for name, value in own.items()
            if inspect.isfunction(value) and not name.startswith("_")
        ]
    return tuple(_tool_from(server, name, function) for name, function in chosen)


def _tool_from(server: str, name: str, function: Callable[..., Any]) -> PythonTool:
    mark = mark_of(function) or ToolMark()
    hints = {
        "readOnlyHint": mark.read_only,
        "idempotentHint": mark.idempotent,
        "destructiveHint": mark.destructive,
    }
    schema, adapters = _schema_of(function)
    spec = ToolSpec(
        server=server,
        name=mark.name or name,
        description=mark.description or inspect.getdoc(function) or "",
        input_schema=schema,
        annotations={key: value for key, value in hints.items() if value is not None},
    )
    return PythonTool(spec=spec, function=function, adapters=adapters)


def _schema_of(function: Callable[..., Any]) -> tuple[JsonObject, dict[str, TypeAdapter[Any]]]:
    hints = _annotations(function)
    properties: JsonObject = {}
    definitions: JsonObject = {}
    adapters: dict[str, TypeAdapter[Any]] = {}
    required: list[JsonValue] = []
    takes_more = False
    for name, parameter in _parameters(function).items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_more = True
            continue
        schema: JsonObject = {}
        adapter = _adapter_for(hints.get(name, parameter.annotation))
        if adapter is not None:
            schema = adapter.json_schema()
            adapters[name] = adapter
            found = schema.pop("$defs", {})
            definitions.update(found if isinstance(found, dict) else {})
        default: object = parameter.default
        if default is parameter.empty:
            required.append(name)
        elif default is None or isinstance(default, bool | int | float | str):
            schema["default"] = default
        properties[name] = _without_titles(schema)
    whole: JsonObject = {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    whole["additionalProperties"] = takes_more
    if definitions:
        whole["$defs"] = _without_titles(definitions)
    return whole, adapters


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        # A name that exists for type checkers only: the parameter takes anything.
        return {}


def _adapter_for(annotation: Any) -> TypeAdapter[Any] | None:
    if annotation is _UNCHECKED or annotation is Any or isinstance(annotation, str):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(_with_new_typed_dicts(annotation))
        adapter.json_schema()
    except (PydanticUserError, TypeError, NameError, RecursionError):
        return None
    return adapter


def _with_new_typed_dicts(annotation: Any) -> Any:
    """The annotation as pydantic takes it: before Python 3.12 it refuses ``typing.TypedDict``."""
    if typing.is_typeddict(annotation):
        fields = {
            name: typing_extensions.Required[_with_new_typed_dicts(kind)]
            if name in annotation.__required_keys__
            else typing_extensions.NotRequired[_with_new_typed_dicts(kind)]
            for name, kind in typing.get_type_hints(annotation).items()
        }
        return typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[operator]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None or origin in (typing.Literal, Callable, typing.Annotated):
        return annotation
    replaced = tuple(_with_new_typed_dicts(part) for part in inner)
    if replaced == inner:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, replaced)
    return origin[replaced]


def _misfits(
    function: Callable[..., Any], positional: list[Any], named: dict[str, Any]
) -> list[str]:
    try:
        inspect.signature(function).bind(*positional, **named)
    except TypeError as error:
        return [f"arguments do not fit: {error}"]
    return []


def _without_titles(schema: JsonObject) -> JsonObject:
    """The schema without pydantic's titles, which only repeat the names."""
    cleaned: JsonObject = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            cleaned[key] = {
                name: _without_titles(item) if isinstance(item, dict) else item
                for name, item in value.items()
            }
        elif isinstance(value, dict) and key not in ("default", "const"):
            cleaned[key] = _without_titles(value)
        elif isinstance(value, list) and key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            cleaned[key] = [
                _without_titles(item) if isinstance(item, dict) else item for item in value
            ]
        else:
            cleaned[key] = value
    return cleaned
