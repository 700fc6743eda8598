"""What one run is asked to do, with whom, and what came of it.

Place in the house: ``agents.loop``. ``agents.runs`` builds these values from the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agents.loop.catalog import ServerChoice
from agents.loop.compaction import CompactionRules
from agents.loop.errors import ModelError
from agents.loop.hooks import Delegation, Hooks
from agents.loop.interfaces import Approver, Model, Pausable, ToolCaller, ToolLimits
from agents.loop.limits import RunLimits
from agents.loop.messages import JsonObject, Message
from agents.loop.open_calls import OpenCalls
from agents.loop.results import ToolResult
from agents.loop.wire import WireRules


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTarget:
    """A model at a provider, ready to be asked, with the provider's rules and its number of
    retries. ``price`` is for a million tokens: ``input``, ``cached``, ``output``. ``passed_over``
    are the models before it in the chain, and why they do not answer: ``{"provider", "model",
    "reason", "error"}`` each. ``reason`` is ``failed`` (in this run), ``resting`` (with
    ``until_ns`` and ``failures``), ``key``, ``billing``, or ``unusable``.
    """

    provider: str
    model: str
    client: Model
    rules: WireRules
    max_retries: int = 2
    price: Mapping[str, float] = field(default_factory=dict)
    passed_over: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantConfig:
    """An assistant as the run uses it. ``context_window`` is tokens, ``None`` when unknown."""

    assistant_id: str
    name: str = ""
    global_prompts: tuple[Message, ...] = ()
    prompts: tuple[Message, ...] = ()
    prompt_presets: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    disable_global_prompts: bool = False
    servers: tuple[ServerChoice, ...] = ()
    options: JsonObject = field(default_factory=dict)
    hooks: Hooks = field(default_factory=Hooks)
    tool_loop: bool = True
    fails_on_tool_error: bool = False
    sandbox: bool = False
    approval: Mapping[str, str] = field(default_factory=dict)
    limits: RunLimits = field(default_factory=RunLimits)
    tool_limits: Mapping[str, ToolLimits] = field(default_factory=dict)
    context_window: int | None = None
    compaction: CompactionRules = field(default_factory=CompactionRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackAssistant:
    """Who answers at level 2: its prompts, models and window."""

    assistant_id: str
    prompts: tuple[Message, ...]
    targets: tuple[ModelTarget, ...]
    options: JsonObject = field(default_factory=dict)
    context_window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Where a run goes on that another process began: behind what it stored.

    ``messages`` are the run's own so far, the last answer with calls (``answer``, of ``turn`` and
    ``attempt``) and what results it has among them; ``results`` those of the whole run, in order.
    ``unsent`` holds the keys of calls that still waited for a person. ``takeover`` counts from 1,
    ``started_ns`` is when the run began, ``elapsed_seconds`` what it had used of its time.
    """

    answer: Message
    messages: tuple[Message, ...]
    results: tuple[ToolResult, ...]
    turn: int
    attempt: int
    unsent: frozenset[str] = frozenset()
    takeover: int = 1
    started_ns: int = 0
    elapsed_seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run: who, where, and the conversation so far.

    ``message`` is the new user message; ``None`` continues the conversation as it is.
    ``timer_above`` is the limit of the run that delegated: it stands still when this one's does.
    ``resume`` is set where another process had begun the run. ``only_compacts`` asks for nothing
    but a summary of the conversation.
    """

    run: str
    conversation: str
    trace: str
    assistant: AssistantConfig
    history: tuple[Message, ...] = ()
    message: Message | None = None
    parent_run: str | None = None
    user: str = ""
    timer_above: Pausable | None = None
    resume: Resume | None = None
    only_compacts: bool = False
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended: status, stop reason and level of section 8 of the contract, and its
    answer.
    """

    status: str
    stop_reason: str
    level: int | None
    answer: str
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


class Outside(Protocol):
    """All that a run needs from beyond the loop."""

    @property
    def approver(self) -> Approver:
        """Who is asked when the policy says ask."""
        ...

    @property
    def open_calls(self) -> OpenCalls:
        """Where calls that are executed can be stopped one by one."""
        ...

    @property
    def is_ending(self) -> bool:
        """Whether the process ends: a run that is cancelled then was stopped by nobody."""
        ...

    async def models(self, provider: str | None, model: str | None) -> tuple[ModelTarget, ...]:
        """The assistant's models, best first; a hook may name another provider or model.

        Raises ``ModelError`` where none is set and ``HookError`` for a name nobody knows.
        """
        ...

    async def note_provider(self, provider: str, error: ModelError | None) -> None:
        """Learn that a provider has answered (``None``), or has not after all its retries."""
        ...

    async def best_first(self, targets: Sequence[ModelTarget]) -> tuple[ModelTarget, ...]:
        """The same models as their providers stand now: those that rest behind the others."""
        ...

    async def tools(self, servers: Sequence[str]) -> ToolCaller:
        """A caller for these servers. Raises ``HookError`` for a server nobody knows."""
        ...

    async def fallback(self) -> FallbackAssistant:
        """Who answers at level 2. Raises ``ModelError`` where it has no model."""
        ...

    async def delegate(
        self, delegation: Delegation, conversation: Sequence[Message], timer: Pausable
    ) -> RunOutcome:
        """Run another assistant as a child. Raises ``DelegationRefused``."""
        ...
