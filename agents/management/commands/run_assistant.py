"""``manage.py run_assistant ASSISTANT --message TEXT``: runs in the terminal."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from contextlib import redirect_stdout
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError

from agents.models import Assistant, Conversation
from agents.runs import lifecycle
from agents.runs.terminal import JsonLines, PlainLines, run_messages

STOPPED = 130
"""Exit code after SIGINT, as shells have it."""


class Command(BaseCommand):
    """One run per ``--message``, one after the other in one conversation."""

    help = (
        "Run an assistant in the terminal. Exit code 0 if every run completed, 1 if not, "
        "130 if it was stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of ``docs/commands.md``."""
        parser.add_argument("assistant", help="the assistant's id")
        parser.add_argument(
            "--message", action="append", required=True, help="a user message; may be repeated"
        )
        parser.add_argument("--conversation", help="go on with the conversation of this id")
        parser.add_argument("--user", help="user name; by default the first superuser")
        parser.add_argument(
            "--json", action="store_true", help="write events, one JSON object a line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the messages and end with the right exit code."""
        user = _find_user(options["user"])
        assistant = _find_assistant(options["assistant"])
        conversation = _find_conversation(options["conversation"], user, assistant)
        observer = (
            JsonLines(write=self._write)
            if options["json"]
            else PlainLines(write=self._write, note=self._note)
        )
        # What tools and hooks print must not get between the events.
        with redirect_stdout(sys.stderr):
            outcomes = asyncio.run(
                run_messages(conversation, options["message"], observer=observer)
            )
        if outcomes is None:
            sys.exit(STOPPED)
        if any(outcome.status != "completed" for outcome in outcomes):
            sys.exit(1)

    def _write(self, line: str) -> None:
        # Half a character, from a model or a tool, must not cost the whole line.
        self.stdout.write(line.encode("utf-8", "replace").decode())
        self.stdout.flush()

    def _note(self, line: str) -> None:
        self.stderr.write(line.encode("utf-8", "replace").decode())
        self.stderr.flush()


def _find_user(name: str | None) -> AbstractBaseUser:
    users = get_user_model().objects
    if name is not None:
        user = users.filter(username=name).first()
        if user is None:
            raise CommandError(
                f"There is no user {name!r}. Make one with manage.py createsuperuser."
            )
        return user
    user = users.filter(is_superuser=True).order_by("pk").first()
    if user is None:
        user = users.create_superuser("operator")
        user.set_unusable_password()
        user.save()
    return user


def _find_assistant(assistant_id: str) -> Assistant:
    assistant = Assistant.objects.filter(assistant_id=assistant_id).first()
    if assistant is None:
        known = ", ".join(
            Assistant.objects.filter(is_system=False).values_list("assistant_id", flat=True)
        )
        raise CommandError(
            f"There is no assistant {assistant_id!r}. Known: {known or 'none'}. "
            "Import one with manage.py import_config FILE."
        )
    return assistant


def _find_conversation(
    conversation_id: str | None, user: AbstractBaseUser, assistant: Assistant
) -> Conversation:
    if conversation_id is None:
        return lifecycle.start_conversation(user, assistant)
    conversation = Conversation.objects.filter(pk=conversation_id, user=user).first()
    if conversation is None:
        raise CommandError(f"{user} has no conversation {conversation_id!r}.")
    if conversation.assistant_id != assistant.pk:
        raise CommandError(
            f"The conversation {conversation_id} is with another assistant: "
            f"{conversation.assistant.assistant_id}."
        )
    return conversation
