"""Events and live runs as JSON, for the way between processes.

Place in the house: ``agents.runs``, pure. The fields of the dataclasses say how they are read back;
nothing but the classes named here is ever made.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from agents.loop import events
from agents.loop.interfaces import ModelAnswer, ModelDelta, Usage
from agents.loop.messages import Image, Message, Role, ToolCall
from agents.loop.results import ContentPart, Outcome, PartKind, ToolResult
from agents.runs.live import LiveBar, LiveCall, LiveRun

EVENTS: dict[str, type[events.Event]] = {
    kind.__name__: kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
}
"""Every event by its name."""

_NESTED: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        ContentPart, Image, LiveBar, LiveCall, Message, ModelAnswer, ModelDelta, ToolCall,
        ToolResult, Usage, events.RunFinished,
    )
}  # fmt: skip
_ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (Outcome, PartKind, Role)}


def encode_event(event: events.Event) -> str:
    """The event as one line of JSON."""
    return _dump({"event": type(event).__name__, **_plain(event)})


def decode_event(text: str) -> events.Event:
    """The event of ``encode_event``. Raises ``ValueError`` on anything else."""
    value = _load(text)
    kind = EVENTS.get(str(value.pop("event", "")))
    if kind is None:
        raise ValueError(f"expected an event of agents.loop.events, got {text!r:.80}")
    event: events.Event = _made(kind, value)
    return event


def encode_live(live: LiveRun) -> str:
    """A live run as one line of JSON."""
    return _dump(_plain(live))


def decode_live(text: str) -> LiveRun:
    """The live run of ``encode_live``. Raises ``ValueError`` on anything else."""
    live: LiveRun = _made(LiveRun, _load(text))
    return live


def _dump(value: dict[str, Any]) -> str:
    # ASCII alone: half a character of a model or tool must arrive as it is.
    return json.dumps(value, separators=(",", ":"))


def _load(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {text!r:.80}")
    return value


def _plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, Enum) else value


def _made(kind: Callable[..., Any], value: dict[str, Any]) -> Any:
    """An instance; fields that this version does not know are left out."""
    hints = _hints(kind)
    try:
        return kind(**{name: _read(hints[name], value[name]) for name in hints if name in value})
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"the fields of {kind} do not fit: {error}") from error


@functools.cache
def _hints(kind: Callable[..., Any]) -> dict[str, str]:
    # All kinds are dataclasses, which no annotation of the standard library can say.
    return {item.name: str(item.type) for item in fields(kind)}  # type: ignore[arg-type]


def _read(hint: str, value: Any) -> Any:
    """A value as its field is annotated."""
    if value is None:
        return None
    hint = hint.removesuffix(" | None")
    if hint in _NESTED:
        return _made(_NESTED[hint], value)
    if hint in _ENUMS:
        return _ENUMS[hint](value)
    if hint.startswith("dict[str, Live"):
        return {key: _read(_inner(hint), item) for key, item in value.items()}
    if hint.startswith("list["):
        return [_read(_inner(hint), item) for item in value]
    if "tuple[" in hint and isinstance(value, list):
        return tuple(_read(_inner(hint), item) for item in value)
    return value


def _inner(hint: str) -> str:
    """The annotation of the items of ``tuple[X, ...]``, ``list[X]`` or ``dict[str, X]``."""
    inside = hint.partition("[")[2].rpartition("]")[0]
    if inside.startswith("str, "):
        return inside.removeprefix("str, ")
    return inside.removesuffix(", ...")
