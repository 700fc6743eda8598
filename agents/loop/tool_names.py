"""Flat names of tools: what the model calls a tool of a server.

Place in the house: ``agents.loop``, pure. Source of the rules: section 5 of the loop's contract.
A name is looked up in the table of its request, never split; ``decode`` serves people and exports.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

MAX_NAME_CHARS = 64
"""The longest name that providers accept, and the longest server id."""

_SERVER_ID = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS = 8


def is_valid_server_id(text: str) -> bool:
    """Whether the text may be a server id.

    ASCII letters, digits, hyphens and dots; at most 64 characters; no underscore, which separates
    server and tool in a flat name; no empty part between dots.
    """
    return len(text) <= MAX_NAME_CHARS and _SERVER_ID.fullmatch(text) is not None


def encode(server: str, tool: str) -> str:
    """The plain flat name: dots of the server become ``_``, then ``__``, then the tool.

    Empty when either is empty. The name may still hold what providers refuse: see ``assign_names``.
    """
    if not server or not tool:
        return ""
    return f"{server.replace('.', '_')}__{tool}"


def decode(flat: str) -> tuple[str, str]:
    """The server and the tool of a plain flat name. Raises ``ValueError`` that shows the name."""
    server, separator, tool = flat.partition("__")
    server = server.replace("_", ".")
    if not separator or not tool or not is_valid_server_id(server):
        raise ValueError(f"expected server__tool, for example echo__ping, got {flat!r:.100}")
    return server, tool


def assign_names(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The flat names for one request, in the order of ``(server, tool)`` pairs; each is unique.

    Characters that providers refuse become ``-``. A name that is too long, and each of those that
    would share one, is cut and ends in a hash of server and tool. The order of the pairs does not
    matter to any name.
    """
    plain = [_REFUSED.sub("-", encode(server, tool)) for server, tool in pairs]
    counts = Counter(plain)
    names: dict[int, str] = {
        position: name
        for position, name in enumerate(plain)
        if counts[name] == 1 and 0 < len(name) <= MAX_NAME_CHARS
    }
    used = set(names.values())
    for position in sorted(range(len(pairs)), key=lambda index: pairs[index]):
        if position not in names:
            names[position] = _free_name(plain[position], pairs[position], used)
            used.add(names[position])
    return [names[position] for position in range(len(pairs))]


def _free_name(plain: str, pair: tuple[str, str], used: set[str]) -> str:
    salt = 0
    while (name := _hashed_name(plain, pair, salt)) in used:
        salt += 1
    return name


def _hashed_name(plain: str, pair: tuple[str, str], salt: int) -> str:
    source = "\0".join([*pair, str(salt)] if salt else pair)
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{plain[: MAX_NAME_CHARS - _HASH_CHARS - 1]}_{digest}"
