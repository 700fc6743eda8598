"""Finds what a ``$ref`` inside one JSON Schema points to; never looks anywhere else.

Place in the house: ``agents.loop``, pure; used by ``agents.loop.schemas``.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote, urldefrag, urljoin

from agents.loop.messages import JsonObject, JsonValue

_DATA = frozenset({"default", "enum", "const", "examples", "example"})
_MAPS = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies"}
)


class SchemaProblem(ValueError):
    """Raised when a schema cannot be brought into a shape that providers accept; says why."""


class SchemaDocument:
    """A schema with the places that its references can name.

    Known are the document itself, subschemas with an ``$id`` of their own, and anchors.
    """

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._base = _own_id(root)
        self._resources: dict[str, JsonObject] = {}
        self._anchors: dict[str, JsonObject] = {}
        self._homes: dict[int, JsonObject] = {}
        for schema, home in _walk(root, root):
            self._homes[id(schema)] = home
            self._note_names(schema)

    def resolve(self, reference: str, *, near: JsonObject) -> JsonValue:
        """What the reference in the schema ``near`` points to. Raises ``SchemaProblem``."""
        address, fragment = urldefrag(reference)
        home = self._homes.get(id(near), self._root)
        if address:
            found = self._resources.get(address) or self._resources.get(
                urljoin(self._base, address)
            )
            if found is None:
                raise SchemaProblem(
                    f"$ref {reference!r:.200} leads out of the schema; references are not fetched"
                )
            home = found
        for start in (home, self._root):
            target = self._within(start, unquote(fragment))
            if target is not _NOWHERE:
                return target  # type: ignore[return-value]
        raise SchemaProblem(f"$ref {reference!r:.200} points to nothing in the schema")

    def _within(self, start: JsonObject, fragment: str) -> JsonValue | object:
        if not fragment:
            return start
        if not fragment.startswith("/"):
            return self._anchors.get(fragment, _NOWHERE)
        value: JsonValue = start
        for step in fragment[1:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _NOWHERE
        return value

    def _note_names(self, schema: JsonObject) -> None:
        own_id = _own_id(schema)
        if own_id.startswith("#"):
            self._anchors.setdefault(own_id[1:], schema)
        elif own_id:
            self._resources.setdefault(urldefrag(own_id).url, schema)
            self._resources.setdefault(urljoin(self._base, urldefrag(own_id).url), schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if isinstance(name, str):
                self._anchors.setdefault(name, schema)


_NOWHERE = object()


def _own_id(schema: JsonObject) -> str:
    own_id = schema.get("$id")
    return own_id if isinstance(own_id, str) else ""


def _walk(root: JsonObject, home: JsonObject) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Every subschema with its resource: the document, or a schema with its own ``$id``."""
    waiting: list[tuple[JsonValue, JsonObject]] = [(root, home)]
    while waiting:
        value, home = waiting.pop()
        if isinstance(value, list):
            waiting.extend((item, home) for item in reversed(value))
        elif isinstance(value, dict):
            own_id = _own_id(value)
            home = value if own_id and not own_id.startswith("#") else home
            yield value, home
            for keyword, item in value.items():
                if keyword in _MAPS and isinstance(item, dict):
                    waiting.extend((child, home) for child in item.values())
                elif keyword not in _DATA:
                    waiting.append((item, home))
