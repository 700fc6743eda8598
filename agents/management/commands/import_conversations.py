"""``manage.py import_conversations FILE --user NAME``: conversations from JSON Lines."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from typing import Any, BinaryIO

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError

from agents.models import Assistant
from agents.transcripts.reading import read_transcript
from agents.transcripts.records import ConversationRecord, TranscriptRefused
from agents.transcripts.storing import store_conversations


class Command(BaseCommand):
    """Imports all conversations of a file for a person; with a fault, none."""

    help = "Import conversations from JSON Lines, all or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file and whose the conversations will be."""
        parser.add_argument("file", help="a file of export_conversation; - reads standard input")
        parser.add_argument("--user", metavar="NAME", required=True, help="whose they will be")
        parser.add_argument(
            "--assistant", metavar="ID", help="with this assistant, whichever the file names"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, judge, store; then tell in one line."""
        user = _find_user(options["user"])
        assistants = Assistant.objects.filter(is_system=False)
        instead = None
        if options["assistant"]:
            instead = assistants.filter(assistant_id=options["assistant"]).first()
            if instead is None:
                raise CommandError(f"There is no assistant {options['assistant']!r}.")
        name = options["file"]
        try:
            records = _read(name)
            store_conversations(user, records, assistants, instead=instead)
        except TranscriptRefused as fault:
            raise CommandError(f"{name}: {fault}. Nothing was imported.") from fault
        messages = sum(len(record.messages) for record in records)
        self.stdout.write(
            f"Imported {name}: conversations: {len(records)}, messages: {messages}, for {user}"
        )


def _read(name: str) -> tuple[ConversationRecord, ...]:
    if name == "-":
        return read_transcript(_binary(sys.stdin))
    try:
        with open(name, "rb") as file:
            return read_transcript(file)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}") from error


def _binary(stream: Any) -> BinaryIO:
    return getattr(stream, "buffer", None) or io.BytesIO(stream.read().encode())


def _find_user(name: str) -> AbstractBaseUser:
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}. Make one with manage.py createsuperuser.")
    return user
