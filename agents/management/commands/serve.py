"""``manage.py serve``: the application on this machine, ready to be used."""

from __future__ import annotations

import os
import socket
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from agents.demo.seeding import OPERATOR, seed_demo

HOST = "127.0.0.1"


class Command(BaseCommand):
    """Bring the database up to date, seed the demo, and serve with Daphne until stopped."""

    help = "Serve the application on 127.0.0.1, with the demo on a new database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The port."""
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 8000))

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the two lines that scripts wait for, then serve."""
        port = options["port"]
        _refuse_taken_port(port)
        call_command("migrate", verbosity=0, interactive=False)
        password = seed_demo()
        self.stdout.write(f"Toolloop: http://{HOST}:{port}/")
        self.stdout.write(f"Log in: {OPERATOR} / {password}")
        self.stdout.flush()
        from daphne.cli import CommandLineInterface  # late: it prepares Twisted for this process

        arguments = ["-b", HOST, "-p", str(port), "-v", "0", "--no-server-name"]
        CommandLineInterface().run([*arguments, "toolloop_site.asgi:application"])


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} of {HOST} cannot be used: {error.strerror}. Choose another: PORT=."
            ) from error
