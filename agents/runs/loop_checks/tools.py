"""Which tools a check asks for, and what it lets the model really do with them.

Place in the house: ``agents.runs.loop_checks``. A tool that does not say that it is read-only is
never executed unless a person named it: its result is made by hand.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from agents.loop.approval import Decision
from agents.loop.arguments import equal_key
from agents.loop.catalog import OfferedTool, ToolCatalog
from agents.loop.interfaces import (
    Approval,
    ApprovalRequest,
    CallLimits,
    OnProgress,
    ServerListing,
    ToolCaller,
    ToolSpec,
)
from agents.loop.messages import JsonObject
from agents.loop.results import ContentPart, Outcome, PartKind, ToolReply
from agents.runs.loop_checks.arguments import free_texts, make_arguments, optional_arguments

CODE_WORD = "amber-4711"
HAND_FED = f"The result is {CODE_WORD}."
"""The result that is made by hand."""

NOT_EXECUTED = (
    "This is a check of the tool loop: the tool was not executed, as it may change something. "
    "Do not call it again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that the model is asked for; ``is_by_hand`` where its result is made up."""

    tool: OfferedTool
    arguments: JsonObject
    is_by_hand: bool


def plan_calls(
    catalog: ToolCatalog, named: OfferedTool | None, arguments: JsonObject | None, *, most: int
) -> tuple[PlannedCall, ...]:
    """The calls to ask for, one to ``most``, the named tool first; none where no arguments were
    found for any tool.

    Read-only tools are preferred, then those that may be repeated; of these the ones whose
    arguments need no guessing.
    """
    planned: list[PlannedCall] = []
    if named is not None:
        found = arguments if arguments is not None else make_arguments(named.spec)
        if found is None:
            return ()
        planned.append(PlannedCall(tool=named, arguments=found, is_by_hand=False))
    for tool in sorted(catalog.offered.values(), key=_rank):
        found = make_arguments(tool.spec)
        is_by_hand = not is_read_only(tool.spec)
        if found is None or tool is named or (planned and is_by_hand):
            continue
        planned.append(PlannedCall(tool=tool, arguments=found, is_by_hand=is_by_hand))
    return _repeated(planned, named, most)


def _repeated(
    planned: list[PlannedCall], named: OfferedTool | None, most: int
) -> tuple[PlannedCall, ...]:
    """A single tool is asked for twice where a second call does no harm."""
    if len(planned) == 1:
        only = planned[0]
        limit = only.tool.limits.calls
        is_harmless = only.is_by_hand or is_read_only(only.tool.spec)
        if is_harmless and (limit is None or limit > 1):
            planned = [only, only]
    return tuple(planned[:most])


def is_read_only(spec: ToolSpec) -> bool:
    """Whether a tool changes nothing, by its server's word."""
    return spec.annotations.get("readOnlyHint") is True


def _rank(tool: OfferedTool) -> tuple[bool, bool, bool, bool, int, int]:
    spec = tool.spec
    return (
        not is_read_only(spec),
        not spec.is_repeatable,
        tool.decision is Decision.ASK,
        not spec.samples,
        free_texts(spec),
        optional_arguments(spec),
    )


Planned = Mapping[tuple[str, str], PlannedCall]
"""The calls that the model is asked for, by server and tool."""


class GuardedTools:
    """The callers of a run's servers for a check: what may change something is not executed, but
    for a planned call of a tool that a person named, once.
    """

    def __init__(self, tools: ToolCaller, planned: Planned) -> None:
        self._tools = tools
        self._planned = planned
        self._executed: set[tuple[str, str]] = set()

    async def list_tools(self, server: str) -> ServerListing:
        """Every tool of a server, as in a run."""
        return await self._tools.list_tools(server)

    def call_tool(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        *,
        limits: CallLimits,
        on_progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, ToolReply]:
        """Send one call, or answer it by hand."""
        place = (spec.server, spec.name)
        planned = self._planned.get(place)
        is_wanted = (
            planned is not None
            and not planned.is_by_hand
            and equal_key(planned.arguments) == equal_key(arguments)
            and place not in self._executed
        )
        if is_read_only(spec) or is_wanted:
            self._executed.add(place)
            return self._tools.call_tool(spec, arguments, limits=limits, on_progress=on_progress)
        return _reply_by_hand(is_planned=planned is not None and planned.is_by_hand)


async def _reply_by_hand(*, is_planned: bool) -> ToolReply:
    if is_planned:
        part = ContentPart(kind=PartKind.TEXT, text=HAND_FED)
        return ToolReply(outcome=Outcome.OK, parts=(part,))
    return ToolReply(outcome=Outcome.TOOL_ERROR, error=NOT_EXECUTED)


class CheckApprover:
    """Asks nobody: who started the check wants the planned calls, and no others."""

    def __init__(self, planned: Planned) -> None:
        self._planned = planned

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Allowed where it was planned."""
        if (request.server, request.tool) in self._planned:
            return Approval(is_allowed=True, by="check")
        return Approval(is_allowed=False, reason=NOT_EXECUTED, by="check")
