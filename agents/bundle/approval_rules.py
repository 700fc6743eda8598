"""The approval policy of an assistant, judged.

Place in the house: ``agents.bundle``. Pure. Keys are ``default``, ``server.tool``, or ``server.``
with a pattern such as ``*``. The part before the tool is the longest ``server_id`` of the assistant
that fits.
"""

from __future__ import annotations

from collections.abc import Iterable

from agents.bundle.reading import ObjectReader
from agents.bundle.report import Report, child_pointer, describe
from agents.loop.messages import JsonObject

ACTIONS = ("allow", "ask", "deny")


def check_approval_form(reader: ObjectReader) -> JsonObject:
    """The policy as it is; values other than allow, ask and deny become faults."""
    policy = reader.json_object("approval")
    for key, action in policy.items():
        if not isinstance(action, str) or action not in ACTIONS:
            where = child_pointer(reader.at("approval"), key)
            message = f"expected one of {', '.join(ACTIONS)}, got {describe(action)}"
            reader.report.fault(where, message)
    return policy


def split_rule(key: str, server_ids: Iterable[str]) -> tuple[str, str] | None:
    """``(server_id, tool or pattern)`` by the longest server that fits; ``None`` if none does."""
    fitting = [
        server_id
        for server_id in server_ids
        if key.startswith(f"{server_id}.") and len(key) > len(server_id) + 1
    ]
    if not fitting:
        return None
    server_id = max(fitting, key=len)
    return server_id, key[len(server_id) + 1 :]


def check_approval_servers(
    policy: JsonObject, server_ids: Iterable[str], pointer: str, report: Report
) -> None:
    """Report each rule that names no server of the assistant."""
    known = sorted(server_ids)
    for key in policy:
        if key != "default" and split_rule(key, known) is None:
            names = ", ".join(known) or "none"
            message = (
                "expected default, server.tool or server.* with a server of this assistant "
                f"({names})"
            )
            report.fault(child_pointer(pointer, key), message)
