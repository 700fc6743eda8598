"""From the row of a server to what the MCP client needs.

Place in the house: ``agents.runs``, where the database meets the core. ``$ENV`` names stay names
here; the client fills them in at connecting.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from agents.loop.interfaces import Sample, ToolLimits
from agents.mcp_client.config import ServerConfig
from agents.models import Server, ToolSample, Transport


def server_config(server: Server, rows: Iterable[ToolSample] | None = None) -> ServerConfig:
    """The configuration of one server with its samples, which are read unless ``rows`` holds them.

    Of a tool's samples ``rows`` gives the order; prefetch ``samples`` for many servers.
    """
    samples: dict[str, tuple[Sample, ...]] = {}
    for row in server.samples.all() if rows is None else rows:
        sample = Sample(
            name=row.name, description=row.description, input=row.input, output=row.output
        )
        samples[row.tool] = (*samples.get(row.tool, ()), sample)
    return ServerConfig(
        server_id=server.server_id,
        transport=server.transport,
        command=server.command,
        args=tuple(server.args),
        env=dict(server.env),
        cwd=server.cwd or None,
        url=server.url,
        headers=dict(server.headers),
        module=server.module,
        limits=ToolLimits(
            idle_seconds=server.tool_timeout_seconds,
            hard_seconds=server.tool_max_seconds,
            parallel_calls=server.parallel_calls,
        ),
        samples=samples,
        refusal=_refusal(server),
    )


def _refusal(server: Server) -> str:
    if server.transport == Transport.STDIO and not settings.TOOLLOOP_ALLOW_STDIO:
        return "commands are switched off here (TOOLLOOP_ALLOW_STDIO)"
    return ""
