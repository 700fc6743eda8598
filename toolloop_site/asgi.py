"""The ASGI application: HTTP by Django, web sockets by the consumers of the apps.

Daphne offers no lifespan: where its reactor runs, the supervisor is started with it and drained
before it stops.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

# The app registry must be ready before these are imported.
from agents.chat.fragments import render_all, render_event
from agents.routing import unknown_sockets, websocket_urlpatterns
from agents.runs.web_process import drain_web_process, start_web_process
from toolloop_site.origins import SameOrigin
from traces.routing import websocket_urlpatterns as trace_sockets

SOCKETS = [*websocket_urlpatterns, *trace_sockets, *unknown_sockets]

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": AllowedHostsOriginValidator(
            SameOrigin(AuthMiddlewareStack(URLRouter(SOCKETS)))
        ),
    }
)


def follow_reactor() -> None:
    """Start taking runs when Twisted's reactor runs, and drain before it stops."""
    from twisted.internet import defer, reactor  # only where Daphne has chosen the reactor already

    def drain() -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(drain_web_process()))

    def start() -> None:
        # Start-up events fire before asyncio's loop runs; the reactor's next turn is inside it.
        reactor.callLater(0, start_web_process, render_event, render_all)

    reactor.callWhenRunning(start)
    reactor.addSystemEventTrigger("before", "shutdown", drain)


if "daphne.server" in sys.modules:
    follow_reactor()

# What is loaded by now stays, and a large page makes many objects that are soon dropped without a
# circle: a collector that looks less often saves a quarter of the time of such a page.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 20)
