"""What a model is offered: the tools, and the prompts before the conversation.

Place in the house: ``agents.loop``, pure. Runs make their offer here, and so does the preview that
an operator sees: there is one way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.loop.approval import ApprovalPolicy, build_policy
from agents.loop.catalog import ServerChoice, ToolCatalog, build_catalog
from agents.loop.interfaces import ServerListing
from agents.loop.messages import Message
from agents.loop.prompts import order_prompts, recall_section, samples_section
from agents.loop.request import AssistantConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """``prompts`` are in the order of the request, with the samples section in its place."""

    catalog: ToolCatalog
    policy: ApprovalPolicy
    prompts: tuple[Message, ...]


def usual_prompts(
    assistant: AssistantConfig,
    *,
    own: Sequence[Message] | None = None,
    without_global: bool | None = None,
) -> list[Message]:
    """Global prompts, then ``own`` (the assistant's by default)."""
    if without_global is None:
        without_global = assistant.disable_global_prompts
    above = () if without_global else assistant.global_prompts
    return [*above, *(assistant.prompts if own is None else own)]


def make_offer(
    assistant: AssistantConfig,
    *,
    prompts: Sequence[Message],
    choices: Sequence[ServerChoice],
    listings: Mapping[str, ServerListing | str],
) -> Offer:
    """The offer of one run; ``listings`` holds each server's tools, or why it does not answer."""
    named = [choice.server for choice in (*choices, *assistant.servers)]
    policy = build_policy(assistant.approval, list(dict.fromkeys(named)))
    catalog = build_catalog(
        choices,
        listings,
        policy,
        max_tools=assistant.limits.max_tools,
        tool_limits=assistant.tool_limits,
    )
    return Offer(
        catalog=catalog,
        policy=policy,
        prompts=tuple(
            order_prompts(
                prompts, recall_section(catalog.offered), samples_section(catalog.offered)
            )
        ),
    )
