"""The agents app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from agents.python_tools import AT_THREAD_END
from agents.system_assistants import create_system_assistants


class AgentsConfig(AppConfig):
    """Registers the app and its system checks."""

    name = "agents"
    verbose_name = _("Agents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, have the system assistants made after ``migrate``, and the
        database connections of tools' threads closed."""
        post_migrate.connect(create_system_assistants, sender=self)
        AT_THREAD_END.append(connections.close_all)
        # Checks register themselves when imported, which needs the app registry.
        from agents import checks  # noqa: F401
