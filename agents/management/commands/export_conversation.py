"""``manage.py export_conversation ID | --user NAME``: conversations as JSON Lines."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from agents.models import Conversation
from agents.transcripts.writing import RunGoesOn, conversation_lines


class Command(BaseCommand):
    """Writes one conversation, or all of a person, to stdout or a file."""

    help = "Write conversations as JSON Lines: one by its id, or all of a person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which conversations, and where to."""
        parser.add_argument("id", nargs="?", help="the conversation's id, as in its address")
        parser.add_argument("--user", metavar="NAME", help="all conversations of this person")
        parser.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Export."""
        if (options["id"] is None) == (options["user"] is None):
            raise CommandError("Give either the id of a conversation or --user NAME.")
        lines = self._one(options["id"]) if options["id"] else self._all(options["user"])
        if not options["output"]:
            for line in lines:
                self.stdout.write(line, ending="")
            return
        path = Path(options["output"])
        try:
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error

    def _one(self, conversation_id: str) -> Iterator[str]:
        row = Conversation.objects.select_related("assistant").filter(pk=conversation_id).first()
        if row is None:
            raise CommandError(f"There is no conversation {conversation_id!r}.")
        try:
            return conversation_lines(row)
        except RunGoesOn as error:
            raise CommandError(str(error)) from error

    def _all(self, name: str) -> Iterator[str]:
        user = get_user_model().objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user {name!r}.")
        rows = Conversation.objects.select_related("assistant").filter(user=user)
        return self._lines_of(list(rows.order_by("created_at", "pk")))

    def _lines_of(self, rows: list[Conversation]) -> Iterator[str]:
        for row in rows:
            try:
                yield from conversation_lines(row)
            except RunGoesOn as error:
                self.stderr.write(f"left out: {error}")
