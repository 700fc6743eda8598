"""The Content-Security-Policy of every page.

Place in the house: ``toolloop_site``, a middleware. Nothing inline, nothing from other hosts, no
eval. Django's admin (5.2) works under the same policy: its scripts and styles are files of its own,
so nothing is relaxed there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

GetResponse = Callable[[HttpRequest], "HttpResponseBase | Awaitable[HttpResponseBase]"]


class ContentSecurityPolicyMiddleware:
    """Adds the policy to every response that has none of its own."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """The response with the header."""
        if iscoroutinefunction(self):
            return self._respond(request)
        return _with_policy(self.get_response(request))  # type: ignore[arg-type]

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        return _with_policy(await self.get_response(request))  # type: ignore[misc]


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    return response
