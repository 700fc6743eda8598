"""Stored items and items of a bundle in one shape, so that they can be compared.

Place in the house: ``agents.bundle``. A shape is columns by name, references as ids, and what hangs
on an item (samples, servers with their whitelists) beside them.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import models

from agents.bundle.entries import AssistantEntry, ProviderEntry, ServerEntry
from agents.loop.messages import JsonObject, JsonValue
from agents.models import Assistant, GlobalPrompt, Provider, Server

ALL_TOOLS, NO_TOOL = "*", "-"
"""How a whitelist of all tools and one of none stand in a shape."""

REFERENCES = ("provider", "fallback_provider", "fallback_assistant")

_LIMITS = (
    "max_tools", "tool_result_max_chars", "turn_result_max_chars", "max_consecutive_errors",
    "repeat_limit", "run_timeout_seconds", "max_run_tokens", "tool_timeout_seconds",
    "tool_max_seconds", "parallel_calls", "parameter_attempts",
)  # fmt: skip


def path_of(kind: str, column: str) -> str:
    """Where a bundle names a column: ``max_tools`` of an assistant is ``limits/max_tools``."""
    if kind != "assistant":
        return column
    if column.endswith("_hook"):
        return f"hooks/{column.removesuffix('_hook')}"
    if column in _LIMITS:
        return f"limits/{column}"
    if column.startswith("compaction_"):
        return f"compaction/{column.removeprefix('compaction_')}"
    if column in ("tool_loop", "max_turn"):
        return f"mcp/options/{column}"
    return {"context_window": "compaction/context_window", "servers": "mcp/servers"}.get(
        column, column
    )


def provider_shape(entry: ProviderEntry) -> JsonObject:
    """A provider of a bundle."""
    return _columns(Provider, entry.fields)


def server_shape(entry: ServerEntry) -> JsonObject:
    """A server of a bundle with its samples."""
    samples = ((s.tool, s.name, s.description, s.input, s.output) for s in entry.samples)
    return {**_columns(Server, entry.fields), "samples": _samples(samples)}


def assistant_shape(entry: AssistantEntry) -> JsonObject:
    """An assistant of a bundle with its servers."""
    shape = {**_columns(Assistant, entry.fields), "provider": entry.provider}
    if entry.is_system:
        return shape
    links = [(c.server_id, None if c.tools is None else list(c.tools)) for c in entry.servers]
    return {
        **shape,
        "fallback_provider": entry.fallback_provider,
        "fallback_assistant": entry.fallback_assistant,
        "servers": _servers(links),
        "order": [server_id for server_id, _ in links],
        **{name: sorted(groups) for name, groups in entry.groups.items()},
    }


def stored_provider(row: Provider, names: Iterable[str]) -> JsonObject:
    """A stored provider, the columns named."""
    return _columns(Provider, {name: getattr(row, name) for name in names})


def stored_server(row: Server, names: Iterable[str]) -> JsonObject:
    """A stored server, the columns named, with its samples."""
    columns = _columns(Server, {name: getattr(row, name) for name in names})
    stored = row.samples.order_by("id") if row.pk else []
    samples = ((s.tool, s.name, s.description, s.input, s.output) for s in stored)
    return {**columns, "samples": _samples(samples)}


def stored_assistant(
    row: Assistant, names: Iterable[str], *, groups: Iterable[str], is_system: bool
) -> JsonObject:
    """A stored assistant, the columns and kinds of groups named, with its servers."""
    shape = _columns(Assistant, {name: getattr(row, name) for name in names})
    shape["provider"] = row.provider.provider_id if row.provider else ""
    if is_system:
        return shape
    stored = row.server_links.order_by("position").select_related("server") if row.pk else []
    links = [(link.server.server_id, link.allowed_tools) for link in stored]
    other, fallback = row.fallback_provider, row.fallback_assistant
    return {
        **shape,
        "fallback_provider": other.provider_id if other else "",
        "fallback_assistant": fallback.assistant_id if fallback else "",
        "servers": _servers(links),
        "order": [server_id for server_id, _ in links],
        **{
            name: sorted(getattr(row, name).values_list("name", flat=True)) if row.pk else []
            for name in groups
        },
    }


def stored_prompts() -> list[JsonValue]:
    """The global prompts."""
    rows = GlobalPrompt.objects.order_by("position").values_list("role", "content")
    return [{"role": role, "content": content} for role, content in rows]


def _columns(model: type[models.Model], fields: dict[str, object]) -> JsonObject:
    """Column values; numbers of seconds as fractions, as the database gives them."""
    shape: JsonObject = {}
    for name, value in fields.items():
        column = model._meta.get_field(name)
        is_number = isinstance(value, int) and isinstance(column, models.FloatField)
        shape[name] = float(value) if is_number else value  # type: ignore[arg-type,assignment]
    return shape


def _servers(links: Iterable[tuple[str, list[str] | None]]) -> JsonObject:
    return {
        server_id: ALL_TOOLS if tools is None else list(tools) or NO_TOOL
        for server_id, tools in links
    }


def _samples(
    samples: Iterable[tuple[str, str, str, JsonValue, JsonValue]],
) -> JsonObject:
    by_tool: dict[str, list[JsonValue]] = {}
    for tool, name, description, given, output in samples:
        by_tool.setdefault(tool, []).append(
            {"name": name, "description": description, "input": given, "output": output}
        )
    return dict(by_tool)
