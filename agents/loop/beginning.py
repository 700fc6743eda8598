"""Before the first answer: the run's state, the create hook, the models, the catalog, the prompts.

Place in the house: ``agents.loop``. Fills the ``RunState``; the loop itself is in ``run.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.loop.catalog import ServerChoice, read_server_choices
from agents.loop.circles import Circles
from agents.loop.errors import HookError, ServerUnavailable
from agents.loop.events import CatalogBuilt, Emit, RunStarted
from agents.loop.hook_context import build_context
from agents.loop.hooks import CreateDecision, call_hook, read_create
from agents.loop.interfaces import Clock, ServerListing, ToolCaller
from agents.loop.limits import Guards
from agents.loop.messages import Message, Role, message_to_dict, text_of
from agents.loop.offer import make_offer, usual_prompts
from agents.loop.request import Outside, RunRequest
from agents.loop.state import RunState, RunTimer


def open_run(request: RunRequest, outside: Outside, emit: Emit, clock: Clock) -> RunState:
    """The state of a run that begins now."""
    limits = request.assistant.limits
    used = request.resume.elapsed_seconds if request.resume is not None else 0.0
    new = [] if request.message is None or request.only_compacts else [request.message]
    return RunState(
        request=request,
        outside=outside,
        clock=clock,
        sink=emit,
        guards=Guards(limits, Circles(limits.repeat_limit)),
        timer=RunTimer(max(limits.run_timeout_seconds - used, 1.0), request.timer_above),
        messages=[*request.history, *new],
        metadata=dict(request.metadata),
    )


async def announce_run(run: RunState) -> None:
    """Tell the sinks that the run began."""
    request = run.request
    await run.emit(
        RunStarted,
        conversation=request.conversation,
        trace=request.trace,
        assistant=request.assistant.assistant_id,
        assistant_name=request.assistant.name,
        parent_run=request.parent_run,
        user=request.user,
        message=text_of(request.message.content) if request.message is not None else "",
        limits=run.limits.as_json(context_window=request.assistant.context_window),
    )


async def ask_create_hook(run: RunState) -> CreateDecision:
    """What the create hook wants; nothing where there is none. Raises ``HookError``."""
    hook = run.assistant.hooks.create
    if hook is None:
        return CreateDecision()
    messages = [message_to_dict(message) for message in run.messages]
    returned = await call_hook(run, "create", hook, build_context(run), messages)
    decision = CreateDecision() if returned is None else read_create(returned, hook.path)
    run.metadata.update(decision.metadata)
    if decision.messages is not None:
        run.messages = list(decision.messages)
    return decision


async def build_request(run: RunState, decision: CreateDecision) -> None:
    """Everything the first request needs. Raises ``ModelError`` and ``HookError``."""
    run.options = {**run.assistant.options, **decision.options}
    prompts = _choose_prompts(run, decision)
    run.system_prompts = [text_of(p.content) for p in prompts if p.role is Role.SYSTEM]
    run.targets = await run.outside.models(decision.provider, decision.model)
    await _build_offer(run, _choose_servers(run, decision), prompts)


def _choose_prompts(run: RunState, decision: CreateDecision) -> list[Message]:
    """Global prompts, then the assistant's or the chosen preset."""
    assistant, own = run.assistant, None
    if decision.prompt_preset is not None:
        if decision.prompt_preset not in assistant.prompt_presets:
            known = ", ".join(assistant.prompt_presets) or "none"
            raise HookError(
                f"The create hook chose the prompt preset {decision.prompt_preset!r}; "
                f"{assistant.assistant_id} has {known}"
            )
        own = assistant.prompt_presets[decision.prompt_preset]
    return usual_prompts(assistant, own=own, without_global=decision.disable_global_prompts)


def _choose_servers(run: RunState, decision: CreateDecision) -> list[ServerChoice]:
    """The assistant's servers, or those of them that the hook chose; nothing is ever widened."""
    own = {choice.server: choice for choice in run.assistant.servers}
    if decision.mcp_servers is None:
        return list(own.values())
    try:
        chosen = read_server_choices(decision.mcp_servers)
    except ValueError as error:
        raise HookError(
            f"The create hook returned mcp_servers that cannot be used: {error}"
        ) from error
    others = [choice.server for choice in chosen if choice.server not in own]
    if others:
        raise HookError(
            f"The create hook named servers that {run.assistant.assistant_id} does not have: "
            f"{', '.join(others)}; it has {', '.join(own) or 'none'}"
        )
    return [_narrowed(choice, own[choice.server].allowed_tools) for choice in chosen]


def _narrowed(choice: ServerChoice, whitelist: frozenset[str] | None) -> ServerChoice:
    if whitelist is None:
        return choice
    wanted = whitelist if choice.allowed_tools is None else choice.allowed_tools & whitelist
    return ServerChoice(server=choice.server, allowed_tools=wanted)


async def _build_offer(
    run: RunState, choices: Sequence[ServerChoice], prompts: Sequence[Message]
) -> None:
    """Ask all servers at once for their tools; one that does not answer is left out."""
    servers = [choice.server for choice in choices]
    run.tools = tools = await run.outside.tools(servers)
    listings = await asyncio.gather(*(_list_tools(tools, server) for server in servers))
    offer = make_offer(
        run.assistant,
        prompts=prompts,
        choices=choices,
        listings=dict(zip(servers, listings, strict=True)),
    )
    run.policy, run.catalog, run.prompts = offer.policy, offer.catalog, list(offer.prompts)
    await run.emit(CatalogBuilt, report=run.catalog.report())


async def _list_tools(tools: ToolCaller, server: str) -> ServerListing | str:
    try:
        return await tools.list_tools(server)
    except ServerUnavailable as error:
        return error.reason
