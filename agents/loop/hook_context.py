"""What a hook can reach: the run's names, a line into the trace, and the run's own tools.

Place in the house: ``agents.loop``, above the tool calls: a hook's call goes through the same
policy.
"""

from __future__ import annotations

import asyncio

from agents.loop.errors import HookError
from agents.loop.hooks import HookContext
from agents.loop.messages import JsonObject, JsonValue, ToolCall
from agents.loop.results import ToolResult
from agents.loop.state import RunState
from agents.loop.tool_calls import (
    PreparedCall,
    ask_approval,
    execute_call,
    prepare_call,
)


def build_context(run: RunState) -> HookContext:
    """The context of one hook call. Must be made on the run's own event loop."""
    loop = asyncio.get_running_loop()
    notes: set[asyncio.Task[None]] = set()

    def log(text: str, /, level: str = "info", **fields: JsonValue) -> None:
        def start() -> None:
            task = loop.create_task(run.note(str(text), level=level, **fields))
            notes.add(task)
            task.add_done_callback(notes.discard)

        loop.call_soon_threadsafe(start)

    async def call_tool(name: str, arguments: JsonObject) -> JsonObject:
        return await _call_tool(run, name, arguments)

    def call_tool_sync(name: str, arguments: JsonObject) -> JsonObject:
        return asyncio.run_coroutine_threadsafe(call_tool(name, arguments), loop).result()

    return HookContext(
        assistant=run.assistant.assistant_id,
        user=run.request.user,
        conversation=run.request.conversation,
        run=run.request.run,
        metadata=run.metadata,
        log=log,
        tools=tuple(run.catalog.offered),
        call_tool=call_tool,
        call_tool_sync=call_tool_sync,
    )


async def _call_tool(run: RunState, name: str, arguments: JsonObject) -> JsonObject:
    """A hook's own call: looked up, validated, approved and executed like a model's, not stored."""
    if run.tools is None:
        raise HookError("tools can be called from the hooks after create: the catalog is not built")
    run.hook_calls += 1
    key = f"{run.request.run}:hook:{run.hook_calls}"
    call = ToolCall(id="", name=name, arguments=arguments, key=key)
    prepared = prepare_call(run, call)
    result = prepared if isinstance(prepared, ToolResult) else await _execute(run, prepared)
    await run.note(
        f"A hook called {name}: {result.outcome.value}",
        outcome=result.outcome.value,
        result=result.full_text[:2000],
    )
    return {
        "outcome": result.outcome.value,
        "text": result.full_text,
        "structured": result.structured,
    }


async def _execute(run: RunState, prepared: PreparedCall) -> ToolResult:
    if prepared.needs_approval:
        refused, _by = await ask_approval(run, prepared)
        if refused is not None:
            return refused
    return await execute_call(run, prepared, turn=run.turns, attempt=1)
