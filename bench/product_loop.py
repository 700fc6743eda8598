"""The product's own loop, with everything: history, limits, stored messages and a stored trace.

Place in the house: ``bench``. Does what ``manage.py run_assistant`` does for one message, with
servers and provider kept open as in a web process. Import it after Django is set up.
"""

from __future__ import annotations

import json

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management import call_command

from agents.bundle.importing import import_bundle
from agents.models import Assistant
from agents.runs import lifecycle
from agents.runs.approvers import terminal_approver
from agents.runs.resources import RunResources
from agents.runs.sinks import RunEvents
from agents.runs.terminal import JsonLines
from agents.runs.worker import execute_run


def prepare_database(model_url: str, server_url: str, turns: tuple[int, ...]) -> AbstractBaseUser:
    """Make the tables and one assistant for each number of turns; the user who will ask."""
    call_command("migrate", verbosity=0)
    bundle = {
        "version": 1,
        "providers": [{"id": "bench", "base_url": model_url, "default_model": "turns-5"}],
        "servers": [{"server_id": "bench", "transport": "http", "url": server_url}],
        "assistants": [
            {
                "id": f"turns-{count}",
                "name": f"{count} turns",
                "provider": "bench",
                "model": f"turns-{count}",
                "prompts": [{"role": "system", "content": "You help."}],
                "mcp": {"servers": ["bench"], "options": {"max_turn": count + 1}},
            }
            for count in turns
        ],
    }
    outcome = import_bundle(json.dumps(bundle), name="bench")
    if outcome.faults:
        raise SystemExit(f"the bundle of the bench is refused: {outcome.faults}")
    return get_user_model().objects.create_user("bench")


class ProductLoop:
    """Runs of one process, as the product makes them; without the trace if asked to."""

    def __init__(self, user: AbstractBaseUser, *, has_trace: bool = True) -> None:
        self._user = user
        self._assistants: dict[int, Assistant] = {}
        self._resources = RunResources() if has_trace else RunResources(observers=[])

    async def run(self, turns: int) -> str:
        """One conversation with so many tool turns, stored and traced; the final text."""
        run_id = await sync_to_async(self._submit)(turns)
        outcome = await execute_run(
            run_id,
            resources=self._resources,
            approver=terminal_approver(),
            observers=[JsonLines(write=lambda line: None)],
        )
        await RunEvents(_ignore, self._resources.observers).flush()
        if outcome.status != "completed" or outcome.turns != turns:
            raise SystemExit(f"the run went wrong: {outcome}")
        return outcome.answer

    async def close(self) -> None:
        """End connections."""
        await self._resources.close()

    def _submit(self, turns: int) -> str:
        if turns not in self._assistants:
            self._assistants[turns] = Assistant.objects.get(assistant_id=f"turns-{turns}")
        conversation = lifecycle.start_conversation(self._user, self._assistants[turns])
        run = lifecycle.submit_message(conversation, "Call echo until you are done.")
        if not lifecycle.claim_run(run.pk, self._resources.owner):
            raise SystemExit("the run could not be claimed")
        return run.pk


async def _ignore(event: object) -> None:
    """There is no required sink here."""
