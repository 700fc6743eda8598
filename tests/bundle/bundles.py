"""Bundles for tests: a small valid one, and ways to change it."""

from __future__ import annotations

import copy
import json
from typing import Any

from agents.bundle.entries import Bundle, KnownNames
from agents.bundle.parsing import parse_bundle
from agents.bundle.report import Report
from agents.bundle.validation import validate_bundle

BUNDLE: dict[str, Any] = {
    "version": 1,
    "providers": [{"id": "main", "base_url": "http://127.0.0.1:9001/v1"}],
    "servers": [
        {"server_id": "docs", "transport": "http", "url": "http://127.0.0.1:9100/mcp"},
        {"server_id": "docs.search", "transport": "http", "url": "http://127.0.0.1:9101/mcp"},
        {"server_id": "echo", "transport": "stdio", "command": "python3"},
        {"server_id": "local", "transport": "python", "module": "myproject.tools"},
    ],
    "assistants": [
        {"id": "helper", "provider": "main", "mcp": {"servers": ["echo", "docs", "docs.search"]}}
    ],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The valid bundle with one member set; ``path`` is ``servers/0/url``."""
    bundle = copy.deepcopy(BUNDLE)
    *parents, last = path.split("/")
    target: Any = bundle
    for key in parents:
        if isinstance(target, list):
            target = target[int(key)]
        else:
            target = target.setdefault(key, {})
    target[int(last) if isinstance(target, list) else last] = value
    return bundle


def judge(value: Any, known: KnownNames | None = None) -> tuple[Bundle, Report]:
    """The entries and the findings of a bundle's value, as if it came from a JSON file."""
    report = Report()
    parsed = parse_bundle(json.dumps(value), report, name="bundle.json")
    return validate_bundle(parsed, known or KnownNames(), report), report


def faults_of(value: Any, known: KnownNames | None = None) -> list[str]:
    """The pointers of all faults."""
    return [fault.pointer for fault in judge(value, known)[1].faults]


def warnings_of(value: Any, known: KnownNames | None = None) -> list[str]:
    """The pointers of all warnings."""
    return [warning.pointer for warning in judge(value, known)[1].warnings]
