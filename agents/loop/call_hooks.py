"""The hooks around a tool call: before it is sent, and after it has its result.

Place in the house: ``agents.loop``, above ``tool_calls`` and ``hook_context``: a hook may call
tools itself.
"""

from __future__ import annotations

from dataclasses import replace

from agents.loop.arguments import ArgumentsProblem, parse_arguments, validate_arguments
from agents.loop.correctable import is_correctable
from agents.loop.errors import HookError
from agents.loop.hook_context import build_context
from agents.loop.hooks import call_hook, read_tool_call_hook
from agents.loop.messages import JsonObject
from agents.loop.results import NO_OUTPUT, Outcome, ToolResult
from agents.loop.state import RunState
from agents.loop.tool_calls import SILENT_FAILURE, PreparedCall, own_names, refused_result


async def apply_before_hook(run: RunState, prepared: PreparedCall) -> PreparedCall | ToolResult:
    """The call as the before_tool_call hook wants it: with other arguments, or refused.

    Its arguments are validated like the model's. Raises ``HookError``.
    """
    hook = run.assistant.hooks.before_tool_call
    if hook is None:
        return prepared
    context = build_context(run)
    returned = await call_hook(run, "before_tool_call", hook, context, _call_for_hook(prepared))
    if returned is None:
        return prepared
    decision = read_tool_call_hook(returned, "before_tool_call", hook.path, {"arguments", "refuse"})
    if "refuse" in decision:
        reason = str(decision["refuse"] or "This call is not allowed.")
        refused = refused_result(run, prepared.call, Outcome.DENIED, reason, prepared.tool)
        return replace(refused, arguments=prepared.arguments)
    if "arguments" not in decision:
        return prepared
    given = decision["arguments"]
    if not isinstance(given, dict):
        raise HookError(
            f"The before_tool_call hook {hook.path} must return arguments as a dict, "
            f"got {given!r:.80}"
        )
    try:
        arguments = parse_arguments(given)
        validate_arguments(arguments, prepared.tool.validator)
    except ArgumentsProblem as problem:
        text = (
            f"Invalid arguments for {prepared.call.name} from the before_tool_call hook: {problem}"
        )
        return refused_result(run, prepared.call, Outcome.INVALID_ARGUMENTS, text, prepared.tool)
    except TypeError as problem:
        raise HookError(
            f"The before_tool_call hook {hook.path} returned arguments that are no JSON: {problem}"
        ) from problem
    return replace(prepared, arguments=arguments)


async def finish_call(run: RunState, prepared: PreparedCall, result: ToolResult) -> ToolResult:
    """The result after the after_tool_call hook."""
    hook = run.assistant.hooks.after_tool_call
    if hook is not None:
        returned = await call_hook(
            run,
            "after_tool_call",
            hook,
            build_context(run),
            _call_for_hook(prepared),
            {"outcome": result.outcome.value, "text": result.full_text, "error": result.error},
        )
        if returned is not None:
            change = read_tool_call_hook(
                returned, "after_tool_call", hook.path, {"content", "error"}
            )
            result = _changed(result, change, own_names(prepared.tool))
    return result


def _call_for_hook(prepared: PreparedCall) -> JsonObject:
    """A call as hooks see it."""
    return {
        "id": prepared.call.id,
        "name": prepared.call.name,
        "server": prepared.tool.spec.server,
        "tool": prepared.tool.spec.name,
        "arguments": prepared.arguments,
    }


def _changed(result: ToolResult, change: JsonObject, names: tuple[str, ...]) -> ToolResult:
    """The result as the after_tool_call hook wants it: nothing of the server's own is left."""
    if not change:
        return result
    outcome, error = Outcome.OK, ""
    content = change.get("content")
    text = ("" if content is None else str(content)) or NO_OUTPUT
    if "error" in change:
        outcome, error = Outcome.TOOL_ERROR, str(change["error"] or SILENT_FAILURE)
        text = f"Error: {error}"
    return replace(
        result,
        outcome=outcome,
        text=text,
        full_text=text,
        error=error,
        is_correctable=is_correctable(outcome, text=error, rpc_code=None, own_names=names),
        parts=(),
        structured=None,
        images=(),
    )
