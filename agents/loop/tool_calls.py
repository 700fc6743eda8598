"""One tool call: prepared, executed. Every fault becomes that call's result.

Place in the house: ``agents.loop``. The hooks around a call are in ``call_hooks.py``, the calls of
one turn together in ``turn_calls.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agents.loop.approval import Decision
from agents.loop.arguments import (
    ArgumentsProblem,
    equal_key,
    parse_arguments,
    validate_arguments,
)
from agents.loop.catalog import OfferedTool
from agents.loop.correctable import is_correctable
from agents.loop.events import LimitReached, ToolCallProgressed, Turn
from agents.loop.history import INTERRUPTED_TEXT
from agents.loop.interfaces import ApprovalRequest, CallLimits
from agents.loop.messages import JsonObject, Message, Role, ToolCall
from agents.loop.results import (
    NO_OUTPUT,
    Outcome,
    ToolReply,
    ToolResult,
    reply_text,
    result_images,
)
from agents.loop.shorten import shorten
from agents.loop.state import RunState

ENFORCE_SECONDS = 10.0
"""How long after its hard limit a call may still take to say so, before the loop ends it itself."""

SILENT_FAILURE = "The tool failed without saying why."

TRUNCATED_TEXT = (
    "The answer was cut off by the length limit, so the arguments of this call may be incomplete. "
    "Nothing was executed. Send the call again, with shorter arguments."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A call that may run: its tool, its arguments, and the canonical text of those that the model
    sent, for comparisons.
    """

    call: ToolCall
    tool: OfferedTool
    arguments: JsonObject
    equal: str

    @property
    def needs_approval(self) -> bool:
        """Whether a person decides first."""
        return self.tool.decision is Decision.ASK


KeptResults = Mapping[tuple[str, str], ToolResult]
"""Results of earlier attempts by flat name and canonical arguments."""


def prepare_call(
    run: RunState, call: ToolCall, *, is_truncated: bool = False, kept: KeptResults | None = None
) -> PreparedCall | ToolResult:
    """The call ready to run, or at once its result: unknown, not allowed, invalid, kept."""
    tool = run.catalog.offered.get(call.name)
    if is_truncated:
        return refused_result(run, call, Outcome.INVALID_ARGUMENTS, TRUNCATED_TEXT, tool)
    if tool is None:
        refusal = run.catalog.refusal(call.name)
        refused = refused_result(run, call, refusal.outcome, refusal.text)
        return replace(refused, server=refusal.server, tool=refusal.tool)
    try:
        arguments = parse_arguments(call.arguments)
        validate_arguments(arguments, tool.validator)
    except ArgumentsProblem as problem:
        return refused_result(
            run, call, Outcome.INVALID_ARGUMENTS, _invalid_text(call, problem), tool
        )
    equal = equal_key(arguments)
    if kept and (call.name, equal) in kept:
        return replace(kept[call.name, equal], call=call, is_kept=True, duration_ms=0.0)
    return PreparedCall(call=call, tool=tool, arguments=arguments, equal=equal)


async def ask_approval(run: RunState, prepared: PreparedCall) -> tuple[ToolResult | None, str]:
    """``None`` when a person allows the call, else its result; and who decided."""
    request = ApprovalRequest(
        run=run.request.run,
        call=prepared.call,
        server=prepared.tool.spec.server,
        tool=prepared.tool.spec.name,
        arguments=prepared.arguments,
    )
    approval = await run.outside.approver.decide(request)
    if approval.is_allowed:
        return None, approval.by
    reason = approval.reason or "A person did not allow this call."
    refused = refused_result(run, prepared.call, Outcome.DENIED, reason, prepared.tool)
    return replace(refused, arguments=prepared.arguments), approval.by


async def execute_call(
    run: RunState, prepared: PreparedCall, *, turn: Turn, attempt: int
) -> ToolResult:
    """The result of sending the call, once. Raises nothing but ``CancelledError``."""
    limits = call_limits(run, prepared.tool)

    async def on_progress(progress: float, total: float | None, message: str) -> None:
        await run.emit(
            ToolCallProgressed,
            turn=turn,
            attempt=attempt,
            call=prepared.call,
            progress=progress,
            total=total,
            message=message,
        )

    started = run.clock.monotonic()
    try:
        assert run.tools is not None
        async with asyncio.timeout(limits.hard_seconds + ENFORCE_SECONDS):
            work = run.tools.call_tool(
                prepared.tool.spec, prepared.arguments, limits=limits, on_progress=on_progress
            )
            reply = await run.outside.open_calls.execute(prepared.call.key, work)
    except TimeoutError:
        reply = ToolReply(
            outcome=Outcome.TIMEOUT, error=f"No answer within {limits.hard_seconds:g} seconds."
        )
    except Exception as error:  # the tool executor: a fault of the client is this call's result
        reply = ToolReply(outcome=Outcome.PROTOCOL_ERROR, error=f"{type(error).__name__}: {error}")
    duration = (run.clock.monotonic() - started) * 1000
    return _result_of(run, prepared, reply, duration)


async def limit_result(run: RunState, result: ToolResult, turn: Turn, max_chars: int) -> ToolResult:
    """The result with a text of at most ``max_chars``; the whole stays in ``full_text``."""
    text = shorten(result.text, max_chars)
    if text == result.text:
        return result
    await run.emit(
        LimitReached,
        turn=turn,
        option="tool_result_max_chars",
        detail=f"{result.call.name}: kept {len(text):,} of {len(result.full_text):,} characters",
    )
    return replace(result, text=text, is_truncated=True)


def unfinished_result(
    run: RunState, call: ToolCall, sent: float | None, *, is_interrupted: bool = False
) -> ToolResult:
    """The result of a call that was open when the run was stopped or ran out of time; or of one
    that was sent by a process that ended, so that nobody knows what came of it. ``sent`` is when it
    was sent, ``None`` where it was not.
    """
    tool = run.catalog.offered.get(call.name)
    if is_interrupted:
        text = INTERRUPTED_TEXT.removeprefix("Error: ")
        result = refused_result(run, call, Outcome.INTERRUPTED, text, tool)
    else:
        result = refused_result(run, call, Outcome.CANCELLED, "The call was cancelled.", tool)
    if sent is None:
        return result
    return replace(result, duration_ms=(run.clock.monotonic() - sent) * 1000)


def result_message(result: ToolResult) -> Message:
    """The tool message of a result."""
    return Message(
        role=Role.TOOL,
        content=result.text,
        tool_call_id=result.call.id,
        call_key=result.call.key,
        images=result.images,
        failed=result.is_failure,
    )


def call_limits(run: RunState, tool: OfferedTool) -> CallLimits:
    """The limits of one call: the server's or tool's own where set, else the assistant's."""
    idle = tool.limits.idle_seconds or run.limits.tool_timeout_seconds
    hard = tool.limits.hard_seconds or run.limits.tool_max_seconds
    return CallLimits(idle_seconds=min(idle, hard), hard_seconds=hard)


def _invalid_text(call: ToolCall, problem: ArgumentsProblem) -> str:
    came = call.arguments if isinstance(call.arguments, str) else equal_key(call.arguments)
    return f"Invalid arguments for {call.name}: {problem}. Received: {shorten(came, 300)}"


def refused_result(
    run: RunState,
    call: ToolCall,
    outcome: Outcome,
    text: str,
    tool: OfferedTool | None = None,
) -> ToolResult:
    """A result of a call that was not sent."""
    return ToolResult(
        call=call,
        server=tool.spec.server if tool else "",
        tool=tool.spec.name if tool else "",
        outcome=outcome,
        text=f"Error: {text}",
        full_text=f"Error: {text}",
        error=text,
        is_correctable=is_correctable(outcome, text=text, rpc_code=None, own_names=()),
    )


def _result_of(
    run: RunState, prepared: PreparedCall, reply: ToolReply, duration_ms: float
) -> ToolResult:
    spec = prepared.tool.spec
    text = reply_text(reply)
    error = ""
    if reply.outcome is not Outcome.OK:
        error = text if text != NO_OUTPUT else ""
        error = "\n".join(part for part in (reply.error, error) if part)
        error = error or SILENT_FAILURE
        text = f"Error: {error}"
    return ToolResult(
        call=prepared.call,
        server=spec.server,
        tool=spec.name,
        outcome=reply.outcome,
        text=text,
        full_text=text,
        error=error,
        is_correctable=is_correctable(
            reply.outcome,
            text=error,
            rpc_code=reply.rpc_code,
            own_names=own_names(prepared.tool),
        ),
        arguments=prepared.arguments,
        parts=reply.parts,
        structured=reply.structured,
        duration_ms=duration_ms,
        images=result_images(reply),
    )


def own_names(tool: OfferedTool) -> tuple[str, ...]:
    """Names that may stand in an error text without meaning anything: the tool's own."""
    schema = tool.spec.input_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = tuple(properties) if isinstance(properties, dict) else ()
    return (tool.name, tool.spec.name, tool.spec.server, *names)
