"""An assistant opened for a check: its configuration, its model, its offer. No run is stored.

Place in the house: ``agents.runs.loop_checks``. Everything is as in a run but for the hooks, which
may do anything and are not called, and for other assistants, who are neither asked nor delegated
to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents.loop.errors import DelegationRefused, ModelNotFound, ServerUnavailable
from agents.loop.events import Emit
from agents.loop.hooks import Delegation, Hooks
from agents.loop.interfaces import Pausable, ServerListing, ToolCaller
from agents.loop.messages import Message
from agents.loop.offer import Offer, make_offer, usual_prompts
from agents.loop.request import FallbackAssistant, ModelTarget, RunOutcome
from agents.models import Assistant, Run, new_id
from agents.runs.loop_checks.tools import CheckApprover, GuardedTools, Planned
from agents.runs.model_choices import model_choice
from agents.runs.outside import RunOutside
from agents.runs.plans import RunPlan, assistant_config
from agents.runs.resources import RunResources
from agents.runs.server_configs import server_config
from agents.runs.tool_review import load_reviews


def read_plan(assistant: Assistant, user_id: int | None) -> RunPlan:
    """The plan of a run that is not stored; ``user_id`` is who asks."""
    links = list(
        assistant.server_links.select_related("server")
        .prefetch_related("server__samples")
        .order_by("position")
    )
    run = Run(assistant=assistant, user_id=user_id, conversation_id=new_id(), trace_id=new_id())
    return RunPlan(
        run=run,
        assistant=assistant_config(assistant, links, Hooks(), user_id=user_id),
        models=model_choice(assistant),
        servers={link.server.server_id: server_config(link.server) for link in links},
        reviews=load_reviews(link.server for link in links),
    )


class CheckOutside(RunOutside):
    """The outside of a run for a check; ``planned`` are the calls that may be made."""

    def __init__(
        self, plan: RunPlan, *, resources: RunResources, planned: Planned, emit: Emit
    ) -> None:
        super().__init__(plan, resources=resources, approver=CheckApprover(planned), emit=emit)
        self._planned = planned

    async def tools(self, servers: Sequence[str]) -> ToolCaller:
        """The callers of these servers, guarded."""
        return GuardedTools(await super().tools(servers), self._planned)

    async def fallback(self) -> FallbackAssistant:
        """Nobody: that the loop did not end by itself is known by then."""
        raise ModelNotFound("A check asks no fallback.")

    async def delegate(
        self, delegation: Delegation, conversation: Sequence[Message], timer: Pausable
    ) -> RunOutcome:
        """Nobody: only hooks delegate."""
        raise DelegationRefused("A check delegates to nobody.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAssistant:
    """What the checks ask: the assistant's first model, and what it offers it."""

    plan: RunPlan
    target: ModelTarget
    offer: Offer


async def open_assistant(plan: RunPlan, resources: RunResources) -> OpenedAssistant:
    """Find the model and list the tools. Raises ``ModelError`` where no model is set."""
    outside = CheckOutside(plan, resources=resources, planned={}, emit=_tell_nobody)
    targets = await outside.models(None, None)
    config = plan.assistant
    servers = [choice.server for choice in config.servers]
    tools = await outside.tools(servers)
    listings = await asyncio.gather(*(_list_tools(tools, server) for server in servers))
    offer = make_offer(
        config,
        prompts=usual_prompts(config),
        choices=config.servers,
        listings=dict(zip(servers, listings, strict=True)),
    )
    return OpenedAssistant(plan=plan, target=targets[0], offer=offer)


async def _list_tools(tools: ToolCaller, server: str) -> ServerListing | str:
    try:
        return await tools.list_tools(server)
    except ServerUnavailable as error:
        return error.reason


async def _tell_nobody(event: object) -> None:
    """Nothing happens yet."""
