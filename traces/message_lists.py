"""Lists of hashes that repeat most of an earlier span's list, stored without the repetition.

Place in the house: ``traces``, at the bottom. Each request of a run sends what the one before it
sent and a little more. Its row holds ``["+<span>:<count>", hash, ...]``: the first ``count`` hashes
of that earlier span of the trace, then these. ``SharedList`` is such a list, read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_REFERENCE = re.compile(r"\+([0-9a-z-]+):([0-9]+)")

MAX_RUNS = 1000
"""Runs whose last list is remembered for writing."""

GONE = ""
"""Stands for a hash of a span that was never stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedList:
    """The first ``count`` hashes of ``base``, then ``own``; ``base`` is ``None`` if it is lost."""

    base: SharedList | list[str] | None
    count: int
    own: list[str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return self.count + len(self.own)

    def whole(self) -> list[str]:
        """All hashes in order."""
        parts: list[list[str]] = []
        node: SharedList | list[str] | None = self
        wanted = len(self)
        while isinstance(node, SharedList):
            if wanted > node.count:
                parts.append(node.own[: wanted - node.count])
                wanted = node.count
            node = node.base
        parts.append([GONE] * wanted if node is None else node[:wanted])
        return [digest for part in reversed(parts) for digest in part]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """The list that was stored last of a run, and how."""

    span: str
    position: int
    hashes: list[str]
    stored: list[str]


class ListWriter:
    """Shortens the lists of each run as they are stored, one process's."""

    def __init__(self) -> None:
        self._last: dict[str, _Written] = {}

    def shortened(self, run: str, span: str, position: int, hashes: list[str]) -> list[str]:
        """What stands in the row of a span; a later span of the run may refer to it.

        A span may be stored again: its row then says the same.
        """
        last = self._last.get(run)
        if last is not None and last.span == span and last.hashes == hashes:
            return last.stored
        if last is None or last.position >= position:
            stored = hashes
        else:
            same = _common(last.hashes, hashes)
            stored = [f"+{last.span}:{same}", *hashes[same:]] if same else hashes
        if last is None or last.position <= position:
            self._remember(
                run, _Written(span=span, position=position, hashes=hashes, stored=stored)
            )
        return stored

    def forget(self) -> None:
        """Refer to nothing that was stored so far."""
        self._last.clear()

    def _remember(self, run: str, written: _Written) -> None:
        self._last.pop(run, None)
        self._last[run] = written
        if len(self._last) > MAX_RUNS:
            del self._last[next(iter(self._last))]


def _common(before: list[str], after: list[str]) -> int:
    """How many hashes both lists begin with."""
    same = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        same += 1
    return same


def read_list(value: list[str], earlier: Mapping[str, object]) -> SharedList | list[str]:
    """The list that a row holds; ``earlier`` has the lists of earlier spans by id."""
    found = _REFERENCE.fullmatch(value[0]) if value else None
    if found is None:
        return value
    base = earlier.get(found[1])
    known = base if isinstance(base, SharedList | list) else None
    return SharedList(base=known, count=int(found[2]), own=value[1:])
