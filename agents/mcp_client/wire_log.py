"""The last messages that passed between us and one server, for whoever wonders what happened.

Place in the house: under ``pool``, which keeps one for each server. Without recording only names
and times are kept, which costs next to nothing; while somebody records, the messages too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

KEPT_MESSAGES = 200
RECORD_SECONDS = 600.0
"""Recording ends by itself."""

KEPT_CHARS = 4000
"""Characters of a recorded message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMessage:
    """One message: when (ns since 1970), which way, its method and id, an error's text, and the
    message as JSON (empty where nobody recorded)."""

    at_ns: int
    is_sent: bool
    method: str
    request_id: str = ""
    error: str = ""
    text: str = ""


class WireLog:
    """The messages of one server over all of its connections, in order."""

    def __init__(self) -> None:
        self._messages: deque[WireMessage] = deque(maxlen=KEPT_MESSAGES)
        self._record_until = 0.0

    @property
    def seconds_left(self) -> float:
        """How long whole messages are still recorded."""
        return max(0.0, self._record_until - time.monotonic())

    def record(self) -> None:
        """Keep whole messages for ten minutes from now."""
        self._record_until = time.monotonic() + RECORD_SECONDS

    def note(
        self,
        method: str,
        *,
        is_sent: bool,
        request_id: object = "",
        error: str = "",
        whole: Callable[[], str],
    ) -> None:
        """Add a message; ``whole`` gives it as JSON without secrets and is asked while recording.

        Never raises for what a message holds.
        """
        text = ""
        if self._record_until and self.seconds_left:
            try:
                text = whole()[:KEPT_CHARS]
            except ValueError as problem:
                text = f"cannot be shown: {problem}"
        self._messages.append(
            WireMessage(
                at_ns=time.time_ns(),
                is_sent=is_sent,
                method=method,
                request_id=str(request_id),
                error=error[:300],
                text=text,
            )
        )

    def messages(self) -> tuple[WireMessage, ...]:
        """What is kept, oldest first."""
        return tuple(self._messages)
