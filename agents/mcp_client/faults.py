"""What went wrong between us and a server, in one line and with its outcome.

Place in the house: pure; imported at the first connect, for it knows the errors of ``mcp``.
"""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from agents.loop.results import Outcome
from agents.mcp_client.http import FAULT, status_fault
from agents.mcp_client.transports import CannotStart

_LONGEST_LINE = 1200


class Fault(Exception):
    """Raised when a request to a server has no usable answer.

    ``outcome`` is what the call's result will say, ``code`` the JSON-RPC code if there was one.
    ``is_hang_up`` tells that the connection itself ended.
    """

    def __init__(
        self, outcome: Outcome, reason: str, *, code: int | None = None, is_hang_up: bool = False
    ) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.code = code
        self.is_hang_up = is_hang_up


def one_line(text: str) -> str:
    """The text on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def fault_from(error: Exception) -> Fault:
    """The fault that an exception of the SDK or its libraries stands for."""
    if isinstance(error, MCPError):
        return _fault_from_answer(error)
    if isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
        return Fault(Outcome.SERVER_UNAVAILABLE, "the server hung up", is_hang_up=True)
    if isinstance(error, httpx2.HTTPError):
        return Fault(Outcome.SERVER_UNAVAILABLE, describe_opening(error))
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        return Fault(
            Outcome.PROTOCOL_ERROR,
            f"the server's answer does not fit the protocol: {where}: {first['msg']}",
        )
    return Fault(Outcome.PROTOCOL_ERROR, f"{type(error).__name__}: {error}")


def describe_opening(error: BaseException) -> str:
    """One line on why a connection could not be opened or did not last."""
    leaves = list(_leaves(error))
    known = [text for leaf in leaves if (text := _known_text(leaf))]
    return known[0] if known else "; ".join(f"{type(leaf).__name__}: {leaf}" for leaf in leaves)


def _known_text(error: BaseException) -> str:
    if isinstance(error, CannotStart):
        return str(error)
    if isinstance(error, MCPError):
        fault = _fault_from_answer(error)
        if fault.outcome is Outcome.PROTOCOL_ERROR:
            return f"the server refuses the handshake: {fault.reason}"
        return fault.reason
    if isinstance(error, httpx2.HTTPStatusError):
        location = error.response.headers.get("location")
        if error.response.has_redirect_location and location:
            return f"redirect to another place not followed: {location.partition('?')[0]}"
        return status_fault(error.response.status_code)
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"cannot connect ({error}): is the server running, is the URL right?"
    if isinstance(error, httpx2.HTTPError):
        return f"the connection broke ({error or type(error).__name__})"
    return ""


def _fault_from_answer(error: MCPError) -> Fault:
    text, code = error.message, error.code
    if isinstance(error.data, dict) and FAULT in error.data:
        return Fault(Outcome.SERVER_UNAVAILABLE, text)
    if code == types.REQUEST_TIMEOUT:
        return Fault(Outcome.TIMEOUT, f"the server reports a timeout: {text}", code=code)
    if code == types.CONNECTION_CLOSED and text == "Connection closed":
        return Fault(Outcome.SERVER_UNAVAILABLE, "the server hung up", is_hang_up=True)
    if code == types.CONNECTION_CLOSED and text.startswith("SSE stream"):
        return Fault(
            Outcome.SERVER_UNAVAILABLE, f"the connection broke before the answer came ({text})"
        )
    if text.startswith(("Failed to parse", "Redirect to", "Unexpected content type")):
        return Fault(Outcome.PROTOCOL_ERROR, text, code=code)
    return Fault(Outcome.PROTOCOL_ERROR, f"{text or 'no text'} (JSON-RPC error {code})", code=code)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
