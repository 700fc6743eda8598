"""``manage.py seed_demo``: the demo assistant, its servers and the operator."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from agents.demo.seeding import seed_demo


class Command(BaseCommand):
    """Make what is missing of the demo; twice gives the same."""

    help = "Make the demo assistant, its three MCP servers and the user who may log in."

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, and tell how to log in."""
        self.stdout.write(seed_demo())
