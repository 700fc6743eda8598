"""Which pages may open a web socket here: those of this site, on this port.

Place in the house: ``toolloop_site``. Cookies do not tell ports apart, so another application on
the same machine would else act for whoever is logged in here. Channels' own check compares hosts
alone; it stays in front, for ``ALLOWED_HOSTS``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings

DEFAULT_PORTS = {"http": 80, "https": 443}

Application = Callable[[dict[str, Any], Any, Any], Awaitable[Any]]


class SameOrigin:
    """Lets a socket through whose ``Origin`` is the ``Host`` asked, or is a trusted origin.

    Trusted are those of ``CSRF_TRUSTED_ORIGINS``, as for forms. A missing ``Origin`` is refused.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        """Hand over, or refuse with 403."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1")
        if origin in settings.CSRF_TRUSTED_ORIGINS or is_same(origin, host):
            return await self.application(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


def is_same(origin: str, host: str) -> bool:
    """Whether ``http://name:port`` and the header ``name:port`` mean the same place."""
    try:
        page, asked = urlsplit(origin), urlsplit(f"//{host}")
        default = DEFAULT_PORTS.get(page.scheme)
        return (
            default is not None
            and bool(page.hostname)
            and page.hostname == asked.hostname
            and (page.port or default) == (asked.port or default)
        )
    except ValueError:
        return False
