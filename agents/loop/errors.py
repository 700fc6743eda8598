"""What can go wrong outside of a tool, by class.

Place in the house: ``agents.loop``; providers and runs raise these. A tool never raises: it
produces a result whose outcome says what happened (``agents.loop.results``).

    LoopError
    ├── ModelError                 the provider gave no usable answer
    │   ├── ModelUnreachable       connection refused, cut or timed out        tried again
    │   ├── ModelOverloaded        408, 409, 429, 5xx, an error in the stream  tried again
    │   ├── ModelKeyRefused        401, 403, no key
    │   ├── ModelBilling           402, no credit, no quota
    │   ├── ModelNotFound          404: unknown model or wrong base URL
    │   ├── ModelRefused           any other 4xx, an answer that is no answer
    │   └── ContextTooLong         the request does not fit the model's window
    ├── HookError                  a hook raised, or returned what it may not
    │   └── DelegationRefused      unknown assistant, a cycle, or too deep
    └── ServerUnavailable          an MCP server does not answer
"""

from __future__ import annotations


class LoopError(Exception):
    """Raised when something outside of a tool goes wrong; the text is one clear line for people."""


class ModelError(LoopError):
    """Raised when a provider gave no usable answer.

    ``message`` is one line for people; ``hint`` says what to do; ``detail`` is the provider's own
    text for the trace. ``retry_after`` is the provider's wish in seconds, or ``None``.
    """

    is_retryable = False

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        detail: str = "",
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        self.status = status
        self.code = code
        self.retry_after = retry_after

    @property
    def is_of_the_request(self) -> bool:
        """Whether the request is at fault, so that others would not take it either."""
        return False


class ModelUnreachable(ModelError):
    """Raised when the connection was refused, cut in the middle, or nothing came in time."""

    is_retryable = True


class ModelOverloaded(ModelError):
    """Raised for 408, 409, 429 and 5xx, and for an error event inside the stream."""

    is_retryable = True


class ModelKeyRefused(ModelError):
    """Raised for 401 and 403, and where a key is named but not set."""


class ModelNotFound(ModelError):
    """Raised for 404: the model or the address is not known there."""


class ModelRefused(ModelError):
    """Raised for any other 4xx and for a body that is no answer."""

    @property
    def is_of_the_request(self) -> bool:
        """True for a 4xx: what came back was no fault of the provider."""
        return self.status is not None and 400 <= self.status < 500


class ModelBilling(ModelError):
    """Raised when the provider's account cannot pay: no credit, no quota, no valid plan."""


class ContextTooLong(ModelError):
    """Raised when the provider says, by code or known body, that the request exceeds the window."""

    @property
    def is_of_the_request(self) -> bool:
        """Always: the conversation is what is too long."""
        return True


class HookError(LoopError):
    """Raised when a hook raised or returned something it may not.

    ``traceback`` is the hook's own traceback as text, for the trace.
    """

    def __init__(self, message: str, *, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class DelegationRefused(HookError):
    """Raised when a hook delegates to an unknown assistant, in a circle, or too deep."""


class ServerUnavailable(LoopError):
    """Raised when an MCP server cannot be reached or does not answer in time.

    ``server`` is its ``server_id``; ``reason`` is one line that says what failed and what to do.
    """

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"server {server}: {reason}")
        self.server = server
        self.reason = reason
