"""Puts the tool calls of a streamed answer together from their pieces.

Place in the house: ``agents.providers``, pure; used by ``openai_stream``. Source of the rules:
section 12 of the loop's contract. Providers differ in everything but the intention, so a piece is
given to a call by what it carries:

- A differing id is another call. Pieces without an id go to the latest call of their index, or,
  where they have no index either, to the latest call at all.
- A repeated name belongs to the same call. A name that comes after whole arguments together with
  more arguments starts another call, and so does a name that differs once arguments have begun.
- Before any arguments, a second name is the rest of the first (``ec``, ``ho__ping``) if it has an
  index or id to tell so and the first is no offered tool; else it starts another call.
- Two pieces with names in one chunk are two calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.loop.interfaces import ModelDelta
from agents.loop.messages import JsonObject, JsonValue, ToolCall

_OWN_FIELDS = frozenset({"index", "id", "type", "function", "name", "arguments"})


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call that grows."""

    position: int
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    value: JsonObject | None = None
    extra: JsonObject = field(default_factory=dict)
    chunk: int = 0

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)

    @property
    def has_arguments(self) -> bool:
        """Whether any arguments have come."""
        return self.value is not None or any(piece.strip() for piece in self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a whole object, so that more text cannot belong to them."""
        if self.value is not None:
            return True
        if not (self.pieces and self.pieces[-1].rstrip().endswith("}")):
            return False
        try:
            return isinstance(json.loads(self.text, strict=False), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What one delta says about one call."""

    index: int | None
    id: str
    name: str
    text: str
    value: JsonObject | None
    extra: JsonObject

    @property
    def has_arguments(self) -> bool:
        """Whether it brings arguments."""
        return self.value is not None or bool(self.text.strip())

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing about any call."""
        return not (self.id or self.name or self.has_arguments or self.extra)


class StreamCalls:
    """The calls of one answer. ``tool_names`` are the flat names that were offered."""

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        self._offered = frozenset(tool_names)
        self._calls: list[_Call] = []
        self._chunk = 0

    def feed(self, entries: list[JsonValue]) -> list[ModelDelta]:
        """Take the ``tool_calls`` of one delta; what grew, for those who watch."""
        self._chunk += 1
        pieces = [_read(entry) for entry in entries if isinstance(entry, dict)]
        return [self._take(piece) for piece in pieces if not piece.is_empty]

    def __bool__(self) -> bool:
        """Whether any call has begun."""
        return bool(self._calls)

    def finish(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began."""
        return tuple(
            ToolCall(
                id=call.id,
                name=call.name,
                arguments=call.text if call.value is None else call.value,
                extra=call.extra,
            )
            for call in self._calls
        )

    def _take(self, piece: _Piece) -> ModelDelta:
        call = self._find(piece)
        if call is None or self._begins_another(call, piece):
            call = _Call(position=len(self._calls), index=piece.index)
            self._calls.append(call)
        call.chunk = self._chunk
        if call.index is None:
            call.index = piece.index
        call.id = call.id or piece.id
        call.extra.update(piece.extra)
        return ModelDelta(
            call_index=call.position,
            call_name=_add_name(call, piece.name),
            call_arguments=_add_arguments(call, piece),
        )

    def _find(self, piece: _Piece) -> _Call | None:
        """The call that the piece continues, by index, then id."""
        near = [call for call in self._calls if call.index == piece.index]
        if piece.index is None:
            near = self._calls
        elif not near:
            near = [call for call in self._calls[-1:] if call.index is None]
        if piece.id:
            same = [call for call in near if call.id == piece.id]
            near = same or [call for call in near[-1:] if _lacks_this_id(call, piece)]
        return near[-1] if near else None

    def _begins_another(self, call: _Call, piece: _Piece) -> bool:
        if not piece.name or not call.name:
            return False
        if call.chunk == self._chunk:
            return True
        is_same_name = piece.name == call.name
        if not call.has_arguments:
            return not (is_same_name or self._is_rest_of_name(call, piece))
        if not call.is_whole:
            return not is_same_name
        is_resent = bool(piece.id) and piece.text == call.text and piece.value == call.value
        return not is_same_name or (piece.has_arguments and not is_resent)

    def _is_rest_of_name(self, call: _Call, piece: _Piece) -> bool:
        if piece.index is None and not piece.id:
            return False
        if self._offered:
            return call.name not in self._offered
        return True


def _read(entry: JsonObject) -> _Piece:
    function = entry.get("function")
    function = function if isinstance(function, dict) else entry
    arguments = function.get("arguments")
    value = arguments if isinstance(arguments, dict) else None
    text = arguments if isinstance(arguments, str) else ""
    if value is None and arguments is not None and not isinstance(arguments, str):
        text = json.dumps(arguments)
    name, call_id = function.get("name"), entry.get("id")
    return _Piece(
        index=_index_of(entry.get("index")),
        id=str(call_id) if isinstance(call_id, (str, int)) else "",
        name=name if isinstance(name, str) else "",
        text=text,
        value=value,
        extra={
            key: item for key, item in entry.items() if key not in _OWN_FIELDS and item is not None
        },
    )


def _index_of(index: JsonValue) -> int | None:
    if isinstance(index, str) and index.strip().isdecimal():
        return int(index)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _lacks_this_id(call: _Call, piece: _Piece) -> bool:
    """Whether the id came late: the call has none, and the piece looks like no other call."""
    return not call.id and (not piece.name or (piece.name == call.name and not call.is_whole))


def _add_name(call: _Call, name: str) -> str:
    if not name or name == call.name or (call.has_arguments and call.name):
        return ""
    if name.startswith(call.name):
        # The first name, or one that is sent again and longer each time.
        grown, call.name = name[len(call.name) :], name
        return grown
    call.name += name
    return name


def _add_arguments(call: _Call, piece: _Piece) -> str:
    if piece.value is not None:
        call.value = piece.value
        return json.dumps(piece.value, ensure_ascii=False)
    if not piece.text or call.value is not None:
        return ""
    if piece.text.lstrip().startswith("{") and call.has_arguments:
        before = call.text
        if before.strip() == "{}":
            # Some gateways send an empty object first and the real arguments after it.
            call.pieces.clear()
        elif piece.text == before and call.is_whole:
            return ""
    call.pieces.append(piece.text)
    return piece.text
