"""What a run needs from beyond the loop: models, servers, a person, other assistants.

Place in the house: ``agents.runs``, between the loop and providers, MCP and the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asgiref.sync import sync_to_async

from agents.loop.errors import DelegationRefused, HookError, ModelError, ModelNotFound
from agents.loop.events import Emit
from agents.loop.hooks import Delegation
from agents.loop.interfaces import Approver, Pausable, ToolCaller
from agents.loop.messages import Message
from agents.loop.open_calls import OpenCalls
from agents.loop.request import (
    FallbackAssistant,
    ModelTarget,
    RunOutcome,
    RunRequest,
)
from agents.loop.run import run_loop
from agents.models import Assistant, Run
from agents.python_tools import CallContext
from agents.runs import lifecycle
from agents.runs.model_choices import ModelChoice, load_provider, model_choice
from agents.runs.model_targets import as_they_stand, model_targets
from agents.runs.plans import (
    FALLBACK_ASSISTANT,
    RunPlan,
    load_assistant,
    load_child_plan,
)
from agents.runs.prompts import PromptReader
from agents.runs.provider_health import note_failure, note_success, refreshed
from agents.runs.resources import RunResources
from agents.runs.tool_review import ReviewedTools

MAX_DEPTH = 5
"""How deep assistants may delegate (section 10 of the contract)."""


class RunOutside:
    """The outside of one run, built from its plan."""

    def __init__(
        self, plan: RunPlan, *, resources: RunResources, approver: Approver, emit: Emit
    ) -> None:
        self._plan = plan
        self._troubled = {f.provider_id for f in plan.facts if f.failures or f.barred}
        self._resources = resources
        self._approver = approver
        self._emit = emit

    @property
    def approver(self) -> Approver:
        """Who is asked when the policy says ask."""
        return self._approver

    @property
    def open_calls(self) -> OpenCalls:
        """The calls of this process that can be stopped one by one."""
        return self._resources.open_calls

    @property
    def is_ending(self) -> bool:
        """Whether the process ends."""
        return self._resources.is_ending

    async def models(self, provider: str | None, model: str | None) -> tuple[ModelTarget, ...]:
        """The assistant's models, best first, or those that a create hook named."""
        if self._plan.hook_fault:
            raise HookError(self._plan.hook_fault)
        choice = self._plan.models
        if provider is not None:
            facts = await sync_to_async(load_provider)(provider)
            if facts is None:
                raise HookError(f"The create hook named the provider {provider!r}: unknown")
            choice = ModelChoice(
                provider=facts,
                model=model or "",
                fallback_provider=choice.fallback_provider,
                fallback_model=choice.fallback_model if choice.fallback_provider else "",
                further=choice.further,
            )
        elif model is not None:
            choice = ModelChoice(
                provider=choice.provider,
                model=model,
                fallback_provider=choice.fallback_provider,
                fallback_model=choice.fallback_model,
                further=choice.further,
            )
        return self._targets(choice, self._plan.assistant.assistant_id)

    async def note_provider(self, provider: str, error: ModelError | None) -> None:
        """Keep how the provider stands; one that simply answers again and again costs nothing."""
        if error is not None:
            self._resources.troubled.add(provider)
            await sync_to_async(note_failure)(provider, error)
        elif provider in self._resources.troubled or provider in self._troubled:
            self._resources.troubled.discard(provider)
            self._troubled.discard(provider)
            await sync_to_async(note_success)(provider)

    async def best_first(self, targets: Sequence[ModelTarget]) -> tuple[ModelTarget, ...]:
        """The same models as their providers stand now."""
        return await sync_to_async(as_they_stand)(targets)

    async def tools(self, servers: Sequence[str]) -> ToolCaller:
        """The callers of these servers, opened when they are used."""
        plan = self._plan
        chosen = {server: plan.servers[server] for server in servers}
        run = plan.run
        context = CallContext(
            user_id=run.user_id,
            assistant_id=run.assistant_id,
            conversation=run.conversation_id,
            run=run.pk,
        )
        return ReviewedTools(self._resources.pool.servers(chosen), plan.reviews, context)

    async def fallback(self) -> FallbackAssistant:
        """The assistant's own fallback assistant, or the one that comes with the application."""
        assistant, prompts = await sync_to_async(self._load_fallback)()
        choice = model_choice(assistant)
        if choice.provider is None:
            own = await sync_to_async(refreshed)(self._plan.models)
            choice = ModelChoice(
                provider=own.provider,
                model=assistant.model or own.model,
                fallback_provider=own.fallback_provider,
                fallback_model=own.fallback_model,
                further=own.further,
            )
        window = assistant.context_window or self._plan.assistant.context_window
        return FallbackAssistant(
            assistant_id=assistant.assistant_id,
            prompts=prompts,
            targets=self._targets(choice, assistant.assistant_id),
            options=assistant.options,
            context_window=window,
        )

    async def delegate(
        self, delegation: Delegation, conversation: Sequence[Message], timer: Pausable
    ) -> RunOutcome:
        """Run another assistant as a child run of this one."""
        child, plan = await sync_to_async(self._start_child)(delegation, tuple(conversation))
        outside = RunOutside(
            plan, resources=self._resources, approver=self._approver, emit=self._emit
        )
        request = replace(build_request(plan, child), timer_above=timer)
        return await run_loop(request, outside=outside, emit=self._emit)

    def _targets(self, choice: ModelChoice, assistant: str) -> tuple[ModelTarget, ...]:
        return model_targets(choice, assistant, self._resources.client)

    def _load_fallback(self) -> tuple[Assistant, tuple[Message, ...]]:
        """The fallback assistant and its prompts."""
        own = self._plan.run.assistant
        chosen = None
        if own is not None and own.fallback_assistant_id is not None:
            chosen = load_assistant(own.fallback_assistant.assistant_id)
        fallback = chosen or load_assistant(FALLBACK_ASSISTANT)
        if fallback is None:
            raise ModelNotFound(
                f"The assistant {FALLBACK_ASSISTANT} is missing.",
                hint="Run manage.py migrate: it comes with the application.",
            )
        return fallback, PromptReader(fallback, self._plan.run.user_id).read(fallback.prompts)

    def _start_child(
        self, delegation: Delegation, conversation: tuple[Message, ...]
    ) -> tuple[Run, RunPlan]:
        """The row and the plan of a child run. Raises ``DelegationRefused``."""
        assistant = load_assistant(delegation.assistant)
        if assistant is None or assistant.is_system:
            raise DelegationRefused(
                f"A hook delegated to the assistant {delegation.assistant!r}: unknown"
            )
        _refuse_circle(self._plan.run, assistant)
        child = lifecycle.start_child_run(self._plan.run, assistant, self._resources.owner)
        plan = load_child_plan(child, conversation)
        lifecycle.keep_configuration(child.pk, child.configuration)
        return child, plan


def build_request(plan: RunPlan, run: Run) -> RunRequest:
    """What the loop is asked to do for a plan."""
    return RunRequest(
        run=run.pk,
        conversation=run.conversation_id,
        trace=run.trace_id,
        assistant=plan.assistant,
        history=plan.history,
        message=plan.message,
        parent_run=run.parent_run_id,
        user=str(run.user_id),
        resume=plan.resume,
        only_compacts=plan.only_compacts,
    )


def _refuse_circle(run: Run, assistant: Assistant) -> None:
    """Refuse a delegation in a circle or deeper than ``MAX_DEPTH``."""
    chain: list[str] = []
    current: Run | None = run
    while current is not None:
        chain.append(current.assistant.assistant_id if current.assistant else "")
        current = current.parent_run
    if assistant.assistant_id in chain:
        way = " > ".join([*reversed(chain), assistant.assistant_id])
        raise DelegationRefused(f"Assistants delegate in a circle: {way}")
    if len(chain) > MAX_DEPTH:
        raise DelegationRefused(f"Assistants delegate more than {MAX_DEPTH} deep")
