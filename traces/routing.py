"""The web sockets of the traces app."""

from __future__ import annotations

from django.urls import path

from traces.consumers import TraceConsumer

websocket_urlpatterns = [
    path("ws/traces/<str:trace_id>/", TraceConsumer.as_asgi()),
]
