"""The traces app."""

from __future__ import annotations

from django.apps import AppConfig


class TracesConfig(AppConfig):
    """Registers the app."""

    name = "traces"
    default_auto_field = "django.db.models.BigAutoField"
