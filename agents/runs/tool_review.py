"""Whether the definitions that servers list now are those that somebody approved.

Place in the house: ``agents.runs``, between a run and its servers. Under ``block`` a tool whose
definition changed is marked, and the catalog leaves it out until a person approves the new one.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import CallLimits, OnProgress, ServerListing, ToolCaller, ToolSpec
from agents.loop.messages import JsonObject
from agents.loop.results import ToolReply
from agents.models import Review, Server, ToolDefinition
from agents.python_tools import CALL, CallContext
from agents.runs.tool_store import MAX_NAME, definition_hash, store_failure, store_listing
from agents.texts import storable


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReview:
    """What is known of a server's definitions: by name and hash, whether it is approved.

    ``has_failed`` tells that it did not answer when it was last asked.
    """

    mode: str = Review.BLOCK
    has_failed: bool = False
    known: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    def knows(self, listing: ServerListing) -> bool:
        """Whether every definition of a listing is stored."""
        return all(
            definition_hash(spec) in self.known.get(name, ()) for name, spec in _named(listing)
        )

    def needs_review(self, name: str, digest: str) -> bool:
        """Whether a tool with this definition may not be offered."""
        return self.mode == Review.BLOCK and not self.known.get(name, {}).get(digest, False)

    def marked(self, listing: ServerListing) -> ServerListing:
        """The listing with what waits for a review marked, and what nobody could review."""
        if self.mode != Review.BLOCK and all(_can_be_kept(spec) for spec in listing.tools):
            return listing
        specs = tuple(self._marked(spec) for spec in listing.tools)
        return replace(listing, tools=specs)

    def _marked(self, spec: ToolSpec) -> ToolSpec:
        waits = not _can_be_kept(spec)
        waits = waits or self.needs_review(storable(spec.name), definition_hash(spec))
        return replace(spec, needs_review=True) if waits else spec


class ReviewedTools:
    """The callers of a run's servers; what they list is compared with what was approved.

    ``context`` is what Python tools learn of who calls them.
    """

    def __init__(
        self,
        tools: ToolCaller,
        reviews: Mapping[str, ServerReview],
        context: CallContext | None = None,
    ) -> None:
        self._tools = tools
        self._context = context
        self._reviews = dict(reviews)

    async def list_tools(self, server: str) -> ServerListing:
        """A server's tools. A definition that was never seen is stored before it is judged, and so
        is a server's failure."""
        review = self._reviews.get(server, ServerReview())
        try:
            listing = await self._tools.list_tools(server)
        except ServerUnavailable as error:
            if not review.has_failed:
                await sync_to_async(_store_failure)(server, error.reason)
            raise
        if review.has_failed or not review.knows(listing):
            review = self._reviews[server] = await sync_to_async(_store)(server, listing)
        return review.marked(listing)

    def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, ToolReply]:
        """Send one call, once."""
        CALL.set(self._context)
        return self._tools.call_tool(spec, arguments, limits=limits, on_progress=on_progress)


def load_reviews(servers: Iterable[Server]) -> dict[str, ServerReview]:
    """What is known of the definitions of these servers, by their ids."""
    return {server.server_id: load_review(server) for server in servers}


def load_review(server: Server) -> ServerReview:
    """What is known of one server's definitions."""
    known: dict[str, dict[str, bool]] = {}
    with connection.cursor() as cursor:
        # The ORM would build this anew for every run.
        cursor.execute(_KNOWN, [server.pk])
        for name, digest, is_approved in cursor.fetchall():
            known.setdefault(name, {})[digest] = bool(is_approved)
    return ServerReview(mode=server.review, has_failed=bool(server.last_error), known=known)


_KNOWN = (
    "SELECT name, definition_hash, approved_at IS NOT NULL "
    f"FROM {ToolDefinition._meta.db_table} WHERE server_id = %s"
)


def _store(server_id: str, listing: ServerListing) -> ServerReview:
    server = Server.objects.filter(server_id=server_id).first()
    if server is None:
        return ServerReview()
    store_listing(server, listing)
    return load_review(server)


def _store_failure(server_id: str, reason: str) -> None:
    for server in Server.objects.filter(server_id=server_id):
        store_failure(server, reason)


def _can_be_kept(spec: ToolSpec) -> bool:
    """Whether a tool's definition is stored: pages show no other tools."""
    return 0 < len(storable(spec.name)) <= MAX_NAME


def _named(listing: ServerListing) -> Iterator[tuple[str, ToolSpec]]:
    """The first tool of each name that can be stored."""
    seen: set[str] = set()
    for spec in listing.tools:
        name = storable(spec.name)
        if name not in seen and _can_be_kept(spec):
            seen.add(name)
            yield name, spec
