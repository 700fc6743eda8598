"""``manage.py serve``: the application on this machine, ready to be used."""

from __future__ import annotations

import fcntl
import os
import socket
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from agents.demo.seeding import seed_demo

HOST = "127.0.0.1"


class Command(BaseCommand):
    """Bring the database up to date, seed the demo, and serve with Daphne until stopped."""

    help = "Serve the application on 127.0.0.1, with the demo on a new database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The port."""
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the two lines that scripts wait for, then serve."""
        port = _read_port(str(options["port"]))
        _refuse_taken_port(port)
        with _alone():
            try:
                call_command("migrate", verbosity=0, interactive=False)
            except OperationalError as error:
                raise CommandError(f"The database cannot be used: {error}".strip()) from error
            login = seed_demo()
        self.stdout.write(f"Toolloop: http://{HOST}:{port}/")
        self.stdout.write(login)
        self.stdout.flush()
        from daphne.cli import CommandLineInterface  # late: it prepares Twisted for this process

        arguments = ["-b", HOST, "-p", str(port), "-v", "0", "--no-server-name"]
        CommandLineInterface().run([*arguments, "toolloop_site.asgi:application"])


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process of this folder brings the database up to date."""
    folder = Path(settings.BASE_DIR) / "var"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "starting.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read_port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= port <= 65_535:
        raise CommandError(f"PORT must be a number from 1 to 65535, got {text!r:.40}.")
    return port


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} of {HOST} cannot be used: {error.strerror}. Choose another: PORT=."
            ) from error
