#!/usr/bin/env python
"""Toolloop's command line: ``python manage.py <command>``."""

from __future__ import annotations

import importlib
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

STOPPED = 130
"""Exit code after SIGINT, as shells have it."""


def main() -> None:
    """Run the command that was asked for; nonsense in the settings is one line and exit code 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "toolloop_site.settings")
    try:
        importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"])
    except ImproperlyConfigured as error:
        sys.exit(f"manage.py: {error}")
    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(STOPPED)


if __name__ == "__main__":
    main()
