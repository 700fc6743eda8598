"""From a file to a JSON value.

Place in the house: ``agents.bundle``. Accepts JSON and YAML. Broken syntax is one finding with its
line; what parses but is no JSON (dates, keys that are no text, NaN, an endless alias) or names a
key twice is found with its JSON pointer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from agents.bundle.relaxed_json import plain_json
from agents.bundle.report import Report, child_pointer, describe
from agents.loop.messages import JsonValue

MAX_VALUES = 500_000
MAX_DEPTH = 100


class BundleUnreadable(Exception):
    """Raised when there is no value to judge: no file, no text, broken syntax. One line."""


class _PairsWithRepeats(dict[str, object]):
    """A JSON object that remembers which keys came more than once."""

    repeats: tuple[str, ...] = ()


def read_bundle_text(path: str) -> str:
    """The text of a file, of standard input for ``-``. Raises ``BundleUnreadable``."""
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise BundleUnreadable(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleUnreadable(
            f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again"
        ) from error


def parse_bundle(text: str, report: Report, *, name: str = "") -> JsonValue:
    """The value of a bundle's text; ``name`` is the file's, its ending tells JSON from YAML.

    Findings about the value go into ``report``. Raises ``BundleUnreadable`` for broken syntax.
    """
    ending = Path(name).suffix.lower()
    is_json = ending == ".json" or (
        ending not in (".yaml", ".yml") and text.lstrip().startswith(("{", "["))
    )
    value = _parse_json(text, report) if is_json else _parse_yaml(text, report)
    return check_value(value, report)


def parse_relaxed(text: str, report: Report) -> JsonValue:
    """The value of JSON that may hold comments, as ``parse_bundle`` gives it."""
    return check_value(_parse_json(plain_json(text), report), report)


def _parse_json(text: str, report: Report) -> object:
    try:
        value = json.loads(text, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BundleUnreadable(f"broken JSON, {where}: {error.msg}") from error
    except RecursionError as error:
        raise BundleUnreadable("broken JSON: nested too deeply") from error
    except ValueError as error:
        raise BundleUnreadable(f"broken JSON: {error}") from error
    return value


def _pairs(pairs: list[tuple[str, object]]) -> _PairsWithRepeats:
    value = _PairsWithRepeats(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        value.repeats = tuple(key for key in value if keys.count(key) > 1)
    return value


class _PlainLoader(yaml.SafeLoader):
    """YAML as JSON knows it: dates stay text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(text: str, report: Report) -> object:
    loader = _PlainLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        for pointer, key, line in _repeated_keys(node):
            report.fault(pointer, f"the key {key!r} stands here twice (line {line})")
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BundleUnreadable(f"broken YAML{where}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise BundleUnreadable(f"broken YAML: {' '.join(str(error).split())}") from error
    except (RecursionError, ValueError) as error:
        raise BundleUnreadable(f"broken YAML: {error}") from error
    finally:
        loader.dispose()


def _repeated_keys(root: yaml.Node) -> Iterator[tuple[str, str, int]]:
    """``(pointer, key, line)`` of every key that comes again in its mapping; each node once."""
    seen: set[int] = set()
    waiting: list[tuple[str, yaml.Node]] = [("", root)]
    while waiting:
        pointer, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(child_pointer(pointer, n), item) for n, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key_node, value_node in node.value:
                key = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
                if key in keys and key_node.tag != "tag:yaml.org,2002:merge":
                    yield child_pointer(pointer, key), key, key_node.start_mark.line + 1
                keys.add(key)
                waiting.append((child_pointer(pointer, key), value_node))


def check_value(root: object, report: Report) -> JsonValue:
    """``root`` as it is; whatever below it is no JSON, or could not be stored, becomes a fault."""
    waiting: list[tuple[str, object, int]] = [("", root, 0)]
    count = 0
    while waiting:
        pointer, value, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH or count > MAX_VALUES:
            raise BundleUnreadable(
                f"nested more than {MAX_DEPTH} deep or more than {MAX_VALUES:,} values: "
                "is an alias endless?"
            )
        if isinstance(value, list):
            members = list(enumerate(value))
        elif isinstance(value, dict):
            _check_keys(pointer, value, report)
            members = list(value.items())
        else:
            _check_scalar(pointer, value, report)
            continue
        waiting += [
            (child_pointer(pointer, key), item, depth + 1) for key, item in reversed(members)
        ]
    return root  # type: ignore[return-value]


def _check_keys(pointer: str, value: dict[object, object], report: Report) -> None:
    for key in getattr(value, "repeats", ()):
        report.fault(child_pointer(pointer, key), f"the key {key!r} stands here twice")
    for key in value:
        if not isinstance(key, str):
            report.fault(pointer, f"keys must be text, got {describe(key)}: put it in quotes")
        else:
            _check_scalar(pointer, key, report)


def _check_scalar(pointer: str, value: object, report: Report) -> None:
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            report.fault(pointer, "expected text that can be stored, got NUL or half a character")
    elif isinstance(value, float) and not math.isfinite(value):
        report.fault(pointer, f"expected a finite number, got {value}")
    elif value is not None and not isinstance(value, (bool, int, float)):
        report.fault(pointer, f"expected a JSON value, got {describe(value)}")
