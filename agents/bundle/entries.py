"""The items of a valid bundle, as values.

Place in the house: ``agents.bundle``. Pure. Names of fields are those of the models, so that
importing is plain; every field has its value, the default where the file names none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.loop.messages import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    """One provider: ``fields`` are columns of ``agents.models.Provider``."""

    provider_id: str
    fields: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEntry:
    """One sample of a tool's use."""

    tool: str
    position: int
    name: str
    description: str
    input: JsonValue
    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server: ``fields`` are columns of ``agents.models.Server``."""

    server_id: str
    fields: dict[str, object]
    samples: tuple[SampleEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoice:
    """A server of an assistant; ``tools`` is the whitelist, ``None`` for all. ``pointer`` locates
    it.
    """

    server_id: str
    tools: tuple[str, ...] | None
    pointer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantEntry:
    """One assistant: ``fields`` are plain columns, references are ids (``""`` for none), ``groups``
    names of groups by what they may do.

    ``fields`` of a system assistant hold only what an operator may set there.
    """

    assistant_id: str
    fields: dict[str, object]
    provider: str = ""
    fallback_provider: str = ""
    fallback_assistant: str = ""
    servers: tuple[ServerChoice, ...] = ()
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A valid bundle. ``global_prompts`` is ``None`` where the file does not name them.

    ``trusted`` are ``(kind, value)`` pairs of hosts, environment names and modules that it uses.
    """

    providers: tuple[ProviderEntry, ...] = ()
    servers: tuple[ServerEntry, ...] = ()
    assistants: tuple[AssistantEntry, ...] = ()
    global_prompts: tuple[JsonObject, ...] | None = None
    trusted: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """What the database already has, for references.

    ``tools`` holds the tools of each server by ``server_id``; ``None`` where they were never
    discovered.
    """

    providers: frozenset[str] = frozenset()
    assistants: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    tools: dict[str, frozenset[str] | None] = field(default_factory=dict)
