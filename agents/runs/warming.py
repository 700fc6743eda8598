"""Connects to the servers of all assistants before the first message needs them.

Place in the house: ``agents.runs``. A person who opens a page sees which servers answer and what
they offer; the first run finds its connections open.
"""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async

from agents.loop.errors import ServerUnavailable
from agents.models import Server
from agents.runs.resources import RunResources
from agents.runs.server_configs import server_config
from agents.runs.tool_store import store_failure, store_listing


async def warm_servers(resources: RunResources) -> None:
    """Open every server that an assistant has; store what it offers or why it is silent."""
    servers = await sync_to_async(_used_servers)()
    await asyncio.gather(*(_warm(server, resources) for server in servers))


async def _warm(server: Server, resources: RunResources) -> None:
    config = await sync_to_async(server_config)(server)
    tools = resources.pool.servers({server.server_id: config})
    try:
        listing = await tools.list_tools(server.server_id)
    except ServerUnavailable as error:
        await sync_to_async(store_failure)(server, error.reason)
    else:
        await sync_to_async(store_listing)(server, listing)


def _used_servers() -> list[Server]:
    used = Server.objects.filter(assistant_links__isnull=False).distinct()
    return list(used.prefetch_related("samples"))
