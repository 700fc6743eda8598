"""The web sockets of the agents app."""

from __future__ import annotations

from django.urls import path, re_path

from agents.consumers import ConversationConsumer, UnknownConsumer

websocket_urlpatterns = [
    path("ws/c/<str:conversation_id>/", ConversationConsumer.as_asgi()),
]

unknown_sockets = [re_path("", UnknownConsumer.as_asgi())]
"""The last ones of all: an address that nobody knows is no fault of this process."""
