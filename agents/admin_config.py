"""Puts our admin site in the place of Django's.

Place in the house: ``agents``, named in the settings. Only a name: importing more here would need
the app registry.
"""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class ToolloopAdminConfig(AdminConfig):
    """Django's admin with the site of ``agents.admin_site``."""

    default_site = "agents.admin_site.ToolloopAdminSite"
