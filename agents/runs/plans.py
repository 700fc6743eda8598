"""From the database to what a run needs: the assistant, its providers, its servers, the history.

Place in the house: ``agents.runs``. Synchronous reading in one go; the values are free of the ORM,
so that an async run never touches the database by accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.module_loading import import_string

from agents.loop.approval import Decision
from agents.loop.catalog import ServerChoice
from agents.loop.compaction import CompactionRules
from agents.loop.errors import HookError
from agents.loop.hooks import Hook, Hooks
from agents.loop.interfaces import ToolLimits
from agents.loop.limits import RunLimits
from agents.loop.messages import JsonObject, Message
from agents.loop.request import AssistantConfig, Resume
from agents.mcp_client.config import ServerConfig
from agents.models import (
    Assistant,
    AssistantServer,
    Conversation,
    OnToolError,
    Provider,
    Run,
    Server,
    ToolSample,
)
from agents.models import Message as StoredMessage
from agents.runs.model_choices import ModelChoice, ProviderFacts, model_choice
from agents.runs.prompts import PromptReader
from agents.runs.resuming import last_call_row, read_resume
from agents.runs.server_configs import server_config
from agents.runs.statements import fetch_row, fetch_rows
from agents.runs.stored_messages import is_command, loop_message, read_path, split_path
from agents.runs.tool_review import ServerReview, load_reviews
from agents.runs.trust import is_trusted_module

FALLBACK_ASSISTANT = "toolloop.loop_fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Everything that was read for one run. ``leaf_id`` is the conversation's last message."""

    run: Run
    assistant: AssistantConfig
    models: ModelChoice
    servers: dict[str, ServerConfig]
    reviews: dict[str, ServerReview] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    message: Message | None = None
    leaf_id: str | None = None
    hook_fault: str = ""
    resume: Resume | None = None
    last_call_message: str = ""
    only_compacts: bool = False

    @property
    def facts(self) -> list[ProviderFacts]:
        """Every provider that the run may ask."""
        chosen = [self.models.provider, self.models.fallback_provider]
        return [facts for facts in (*chosen, *(f for f, _ in self.models.further)) if facts]


def load_plan(run_id: str) -> RunPlan:
    """The plan of a claimed root run: its configuration is read now and kept as a snapshot."""
    run = fetch_row(Run, id=run_id)
    run.conversation = fetch_row(Conversation, id=run.conversation_id)
    run.assistant = _fetch_assistant(run)
    path = split_path(read_path(run), run.message_id)
    before = run.configuration
    plan = _plan(
        run,
        history=path.history,
        message=None if path.asked is None else loop_message(path.asked),
        leaf_id=run.conversation.leaf_id,
        own=path.own,
        only_compacts=path.asked is not None and is_command(path.asked),
    )
    if before:
        # Another process had begun this run; where this one goes on is shown in the conversation.
        turn = plan.resume.turn if plan.resume is not None else 0
        run.configuration = {**run.configuration, "resumed": [*before.get("resumed", []), turn]}
    return plan


def load_child_plan(run: Run, conversation: Sequence[Message]) -> RunPlan:
    """The plan of a child run: the given conversation is its history."""
    return _plan(run, history=tuple(conversation), message=None, leaf_id=None)


def load_assistant(assistant_id: str) -> Assistant | None:
    """The row of an assistant with what a plan needs, or ``None``."""
    return (
        Assistant.objects.select_related(
            "provider", "fallback_provider", "fallback_assistant__provider"
        )
        .filter(assistant_id=assistant_id)
        .first()
    )


def _plan(
    run: Run,
    *,
    history: tuple[Message, ...],
    message: Message | None,
    leaf_id: str | None,
    own: Sequence[StoredMessage] = (),
    only_compacts: bool = False,
) -> RunPlan:
    assistant = run.assistant
    if assistant is None:
        raise ValueError(f"the assistant of run {run.pk} was deleted")
    links = _fetch_links(assistant)
    hooks, fault = _load_hooks(assistant)
    config = assistant_config(assistant, links, hooks, user_id=run.user_id)
    run.configuration = {**snapshot(assistant, links), "deciders": _deciders(assistant)}
    return RunPlan(
        run=run,
        assistant=config,
        models=model_choice(assistant),
        servers={
            link.server.server_id: server_config(link.server, _fetch_samples(link.server))
            for link in links
        },
        reviews=load_reviews(link.server for link in links),
        history=history,
        message=message,
        leaf_id=leaf_id,
        hook_fault=fault,
        resume=read_resume(run, own, loop_message) if own else None,
        last_call_message=last_call_row(own),
        only_compacts=only_compacts,
    )


def _fetch_assistant(run: Run) -> Assistant | None:
    """A run's assistant with its providers."""
    if run.assistant_id is None:
        return None
    assistant = fetch_row(Assistant, id=run.assistant_id)
    if assistant.provider_id is not None:
        assistant.provider = fetch_row(Provider, id=assistant.provider_id)
    if assistant.fallback_provider_id is not None:
        assistant.fallback_provider = fetch_row(Provider, id=assistant.fallback_provider_id)
    return assistant


def _fetch_links(assistant: Assistant) -> list[AssistantServer]:
    """An assistant's links with their servers, in order."""
    links = fetch_rows(AssistantServer, {"assistant_id": assistant.pk}, order="position")
    for link in links:
        link.server = fetch_row(Server, id=link.server_id)
    return links


def _fetch_samples(server: Server) -> list[ToolSample]:
    """A server's samples; those of one tool are in order."""
    return fetch_rows(ToolSample, {"server_id": server.pk}, order="position")


def assistant_config(
    assistant: Assistant,
    links: Sequence[AssistantServer],
    hooks: Hooks,
    *,
    user_id: int | None = None,
) -> AssistantConfig:
    """An assistant as the loop sees it; ``links`` are its servers in order, stored or not yet."""
    reader = PromptReader(assistant, user_id)
    presets = assistant.prompt_presets or {}
    return AssistantConfig(
        assistant_id=assistant.assistant_id,
        name=assistant.name,
        global_prompts=reader.global_prompts(),
        prompts=reader.read(assistant.prompts),
        prompt_presets={name: reader.read(prompts) for name, prompts in presets.items()},
        disable_global_prompts=assistant.disable_global_prompts,
        servers=tuple(_choice(link) for link in links),
        options=assistant.options,
        hooks=hooks,
        tool_loop=assistant.tool_loop,
        fails_on_tool_error=assistant.on_tool_error == OnToolError.FAIL,
        sandbox=assistant.sandbox,
        approval=assistant.approval,
        limits=_limits(assistant),
        tool_limits={key: _tool_limits(value) for key, value in assistant.tool_limits.items()},
        context_window=assistant.context_window,
        compaction=CompactionRules(
            enabled=assistant.compaction_enabled,
            trigger_ratio=assistant.compaction_trigger_ratio,
            reserve_tokens=assistant.compaction_reserve_tokens,
            model=assistant.compaction_model,
        ),
    )


def _choice(link: AssistantServer) -> ServerChoice:
    allowed = link.allowed_tools
    return ServerChoice(
        server=link.server.server_id,
        allowed_tools=None if allowed is None else frozenset(allowed),
    )


_LIMIT_FIELDS = tuple(RunLimits.__dataclass_fields__)


def _limits(assistant: Assistant) -> RunLimits:
    return RunLimits(**{name: getattr(assistant, name) for name in _LIMIT_FIELDS})


def _tool_limits(stored: JsonObject) -> ToolLimits:
    """The limits of one tool; the names are those of a bundle."""
    return ToolLimits(
        idle_seconds=stored.get("tool_timeout_seconds"),
        hard_seconds=stored.get("tool_max_seconds"),
        result_chars=stored.get("tool_result_max_chars"),
        calls=stored.get("max_calls"),
        is_polling=stored.get("polling") is True,
    )


def snapshot(assistant: Assistant, links: Sequence[AssistantServer]) -> JsonObject:
    """What a run used, without secrets: names of variables, never their values."""
    provider = assistant.provider
    fallback_provider = assistant.fallback_provider
    return {
        "assistant": assistant.assistant_id,
        "version": assistant.version,
        "name": assistant.name,
        "provider": provider.provider_id if provider else None,
        "base_url": provider.base_url if provider else None,
        "model": assistant.model or (provider.default_model if provider else ""),
        "fallback_provider": fallback_provider.provider_id if fallback_provider else None,
        "fallback_model": assistant.fallback_model,
        "further_models": assistant.further_models,
        "prompts": assistant.prompts,
        "prompt_presets": assistant.prompt_presets,
        "disable_global_prompts": assistant.disable_global_prompts,
        "options": assistant.options,
        "tool_loop": assistant.tool_loop,
        "on_tool_error": assistant.on_tool_error,
        "sandbox": assistant.sandbox,
        "approval": assistant.approval,
        "hooks": {
            "create": assistant.create_hook or None,
            "next": assistant.next_hook or None,
            "before_tool_call": assistant.before_tool_call_hook or None,
            "after_tool_call": assistant.after_tool_call_hook or None,
        },
        "limits": {name: getattr(assistant, name) for name in _LIMIT_FIELDS},
        "tool_limits": assistant.tool_limits,
        "servers": [
            {
                "server_id": link.server.server_id,
                "transport": link.server.transport,
                "allowed_tools": link.allowed_tools,
            }
            for link in links
        ],
    }


def _deciders(assistant: Assistant) -> list[str]:
    """The groups that decide on calls in place of the person who chats; none where nobody is
    asked."""
    if Decision.ASK not in assistant.approval.values():
        return []
    return sorted(assistant.approver_groups.values_list("name", flat=True))


def _load_hooks(assistant: Assistant) -> tuple[Hooks, str]:
    """The hooks, and what is wrong with them: a run with a broken hook fails visibly."""
    try:
        return (
            Hooks(
                create=load_hook(assistant.create_hook),
                next=load_hook(assistant.next_hook),
                before_tool_call=load_hook(assistant.before_tool_call_hook),
                after_tool_call=load_hook(assistant.after_tool_call_hook),
            ),
            "",
        )
    except HookError as error:
        return Hooks(), str(error)


def load_hook(path: str) -> Hook | None:
    """The hook behind a dotted path. Raises ``HookError`` where it may not or cannot be used."""
    if not path:
        return None
    module = path.rpartition(".")[0]
    if not is_trusted_module(module):
        raise HookError(
            f"The hook {path} is not on the list of allowed modules: add {module} to "
            "TOOLLOOP_HOOK_MODULES or import the assistant from a bundle"
        )
    return import_hook(path)


def import_hook(path: str) -> Hook:
    """The hook behind the dotted path of a trusted module. Raises ``HookError``."""
    try:
        function = import_string(path)
    except Exception as error:  # the module is foreign: whatever its import raises is a hook fault
        raise HookError(f"The hook {path} cannot be imported: {error}") from error
    if not callable(function):
        raise HookError(f"The hook {path} is no callable, but {type(function).__name__}")
    return Hook(path=path, function=function)
