"""What the model would be offered by an assistant, stored or not yet: for operators.

Place in the house: ``agents.runs``. The offer is made by ``agents.loop.offer`` as in a run; the
tools are those that were last listed, so nobody waits for a server. A create hook is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.loop.catalog import LeftOutTool, OfferedTool
from agents.loop.hooks import Hooks
from agents.loop.interfaces import Sample, ServerListing, ToolSpec
from agents.loop.messages import JsonObject, JsonValue, text_of
from agents.loop.offer import Offer, make_offer, usual_prompts
from agents.loop.prompts import recall_section, samples_section
from agents.loop.request import AssistantConfig
from agents.loop.schemas import SchemaProblem, provider_schema
from agents.loop.tokens import definition_tokens, estimate_tokens
from agents.loop.wire import Wire
from agents.mcp_client.discovery import invalid_reason
from agents.models import Assistant, AssistantServer, Server, Tool
from agents.runs.model_choices import provider_facts, wire_rules
from agents.runs.plans import assistant_config
from agents.runs.server_configs import server_config
from agents.runs.tool_review import ServerReview, load_review

NEVER_CHECKED = "never asked for its tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferPreview:
    """The parts of every request of a run, and estimates of their size in tokens.

    ``tools`` is the ``tools`` array, ``messages`` what stands before the conversation: both as they
    are sent. ``offered`` tells of each tool in the same order.
    """

    tools: tuple[JsonObject, ...]
    messages: tuple[JsonObject, ...]
    offered: tuple[OfferedTool, ...]
    left_out: tuple[LeftOutTool, ...]
    tool_tokens: tuple[int, ...]
    prompt_tokens: int
    samples_tokens: int

    @property
    def tokens(self) -> int:
        """Estimated tokens of all of it."""
        return sum(self.tool_tokens) + self.prompt_tokens + self.samples_tokens


def preview_offer(assistant: Assistant, links: Sequence[AssistantServer]) -> OfferPreview:
    """The offer of an assistant with these servers in order; neither needs to be stored."""
    config = assistant_config(assistant, links, Hooks())
    offer = _offer(config, links)
    sections = [recall_section(offer.catalog.offered), samples_section(offer.catalog.offered)]
    wire = Wire(wire_rules(provider_facts(assistant.provider)))
    tools = wire.tools(offer.catalog.definitions)
    return OfferPreview(
        tools=tools,
        messages=wire.messages(offer.prompts),
        offered=tuple(offer.catalog.offered.values()),
        left_out=offer.catalog.left_out,
        tool_tokens=tuple(definition_tokens(entry) for entry in tools),
        prompt_tokens=sum(
            estimate_tokens(text_of(prompt.content)) for prompt in usual_prompts(config)
        ),
        samples_tokens=sum(map(estimate_tokens, sections)),
    )


def stored_listing(server: Server, *, even_failed: bool = False) -> ServerListing | str:
    """A server's tools as they were last listed, or why none can be offered now.

    With ``even_failed`` the tools of a server that did not answer last time too.
    """
    if server.last_error and not even_failed:
        return server.last_error
    if server.checked_at is None:
        return NEVER_CHECKED
    config = server_config(server)
    rows = [row for row in server.tools.all() if row.vanished_at is None]
    rows.sort(key=lambda row: row.position)
    review = load_review(server)
    return ServerListing(
        server=server.server_id,
        tools=tuple(_spec(server, row, config.samples.get(row.name, ()), review) for row in rows),
        protocol=server.protocol,
        limits=config.limits,
    )


def schema_problem(schema: JsonValue) -> str:
    """Why a tool with this input schema is not offered; empty where it is."""
    if reason := invalid_reason(schema):
        return reason
    try:
        provider_schema(schema)
    except SchemaProblem as problem:
        return str(problem)
    return ""


def _offer(config: AssistantConfig, links: Sequence[AssistantServer]) -> Offer:
    return make_offer(
        config,
        prompts=usual_prompts(config),
        choices=config.servers,
        listings={link.server.server_id: _as_listed(link.server) for link in links},
    )


def _as_listed(server: Server) -> ServerListing | str:
    """The tools as a run gets them: those that the server lists twice stand there twice."""
    listing = stored_listing(server)
    if isinstance(listing, str):
        return listing
    twice = {row.name for row in server.tools.all() if row.is_listed_twice}
    again = tuple(spec for spec in listing.tools if spec.name in twice)
    return replace(listing, tools=(*listing.tools, *again))


def _spec(server: Server, row: Tool, samples: tuple[Sample, ...], review: ServerReview) -> ToolSpec:
    return ToolSpec(
        server=server.server_id,
        name=row.name,
        description=row.description,
        input_schema=row.input_schema,
        title=row.title,
        output_schema=row.output_schema,
        annotations=row.annotations or {},
        samples=samples,
        needs_review=review.needs_review(row.name, row.definition_hash),
        invalid_reason=invalid_reason(row.input_schema),
    )
