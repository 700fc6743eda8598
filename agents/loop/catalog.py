"""What the model is offered in one run, and what was left out and why.

Place in the house: ``agents.loop``, pure. The whitelist acts twice: it builds this catalog, and
only what stands in it can be executed. At execution a name is looked up here, never split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agents.loop.approval import ApprovalPolicy, Decision
from agents.loop.arguments import Validator, build_validator
from agents.loop.interfaces import ServerListing, ToolLimits, ToolSpec
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.results import Outcome
from agents.loop.schemas import SchemaProblem, provider_schema
from agents.loop.tool_names import assign_names, encode


class LeftOut(StrEnum):
    """Why a tool is not offered."""

    NOT_WHITELISTED = "not_whitelisted"
    DENIED_BY_POLICY = "denied_by_policy"
    OVER_LIMIT = "over_limit"
    SERVER_UNAVAILABLE = "server_unavailable"
    INVALID_SCHEMA = "invalid_schema"
    NEEDS_REVIEW = "needs_review"
    NAME_COLLISION = "name_collision"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoice:
    """A server of the run in its place; ``allowed_tools`` is the whitelist (``None`` = all)."""

    server: str
    allowed_tools: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool that the model may call under ``name``; ``definition`` is what is sent."""

    name: str
    spec: ToolSpec
    definition: JsonObject
    validator: Validator | None
    limits: ToolLimits
    decision: Decision
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutTool:
    """A tool that is not offered. ``tool`` is empty where a whole server is missing."""

    name: str
    server: str
    tool: str
    reason: LeftOut
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a name cannot be called; ``server`` and ``tool`` where the catalog knows them."""

    outcome: Outcome
    text: str
    server: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCatalog:
    """One run's tools. ``servers`` tells per server its protocol or its error."""

    offered: Mapping[str, OfferedTool] = field(default_factory=dict)
    left_out: tuple[LeftOutTool, ...] = ()
    servers: tuple[JsonObject, ...] = ()

    @property
    def definitions(self) -> tuple[JsonObject, ...]:
        """The ``tools`` array of a request, in the order offered."""
        return tuple(tool.definition for tool in self.offered.values())

    def refusal(self, name: str) -> Refusal:
        """The outcome and text for a name that was not offered."""
        for entry in self.left_out:
            if entry.tool and name == entry.name:
                return _refusal_of(entry)
        for entry in self.left_out:
            if not entry.tool and name.startswith(entry.name):
                return _refusal_of(entry)
        known = ", ".join(self.offered) or "none"
        text = f"There is no tool named {name!r}. Available tools: {known}."
        return Refusal(outcome=Outcome.UNKNOWN_TOOL, text=text)

    def report(self) -> JsonObject:
        """The report for the trace, JSON ready."""
        offered: list[JsonValue] = [
            {
                "name": tool.name,
                "server": tool.spec.server,
                "tool": tool.spec.name,
                "decision": tool.decision.value,
                "rule": tool.rule,
            }
            for tool in self.offered.values()
        ]
        left_out: list[JsonValue] = [
            {
                "name": entry.name,
                "server": entry.server,
                "tool": entry.tool,
                "reason": entry.reason.value,
                "detail": entry.detail,
            }
            for entry in self.left_out
        ]
        return {"offered": offered, "left_out": left_out, "servers": list(self.servers)}


NO_LIMITS: Mapping[str, ToolLimits] = {}


def build_catalog(
    choices: Sequence[ServerChoice],
    listings: Mapping[str, ServerListing | str],
    policy: ApprovalPolicy,
    *,
    max_tools: int,
    tool_limits: Mapping[str, ToolLimits] = NO_LIMITS,
) -> ToolCatalog:
    """The catalog of a run: servers in order, their tools in the server's order, filtered and
    limited.

    ``listings`` holds each server's tools, or the reason (text) why it does not answer;
    ``tool_limits`` the limits of single tools by ``server.tool``.
    """
    accepted: list[tuple[ToolSpec, ToolLimits, JsonObject]] = []
    left_out: list[LeftOutTool] = []
    for choice in choices:
        listing = listings[choice.server]
        if isinstance(listing, str):
            left_out.append(_missing_server(choice.server, listing))
            continue
        seen: set[str] = set()
        for spec in listing.tools:
            verdict = _judge(spec, choice, policy, seen)
            seen.add(spec.name)
            if isinstance(verdict, LeftOutTool):
                left_out.append(verdict)
            elif len(accepted) >= max_tools:
                left_out.append(_left_out(spec, LeftOut.OVER_LIMIT, f"max_tools is {max_tools}"))
            else:
                own = tool_limits.get(f"{spec.server}.{spec.name}")
                limits = listing.limits if own is None else listing.limits.narrowed(own)
                accepted.append((spec, limits, verdict))
    return ToolCatalog(
        offered=_offer(accepted, policy),
        left_out=tuple(left_out),
        servers=tuple(_server_report(choice.server, listings[choice.server]) for choice in choices),
    )


def _judge(
    spec: ToolSpec, choice: ServerChoice, policy: ApprovalPolicy, seen: set[str]
) -> JsonObject | LeftOutTool:
    """The schema to send for a tool, or why it is left out."""
    decision, rule = policy.decide(spec.server, spec.name)
    if decision is Decision.DENY:
        return _left_out(spec, LeftOut.DENIED_BY_POLICY, f"rule {rule}: deny")
    if choice.allowed_tools is not None and spec.name not in choice.allowed_tools:
        return _left_out(spec, LeftOut.NOT_WHITELISTED)
    if spec.name in seen:
        return _left_out(spec, LeftOut.NAME_COLLISION, "the server lists this name twice")
    if spec.needs_review:
        return _left_out(spec, LeftOut.NEEDS_REVIEW, "its definition changed")
    if spec.invalid_reason:
        return _left_out(spec, LeftOut.INVALID_SCHEMA, spec.invalid_reason)
    try:
        return _prepared(spec).sent
    except SchemaProblem as problem:
        return _left_out(spec, LeftOut.INVALID_SCHEMA, str(problem))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedSchema:
    """A schema as it is sent, and its validator. ``given`` keeps its ``id()`` from being reused."""

    given: JsonValue
    sent: JsonObject
    validator: Validator | None


_prepared_schemas: dict[int, _PreparedSchema] = {}
_MAX_PREPARED = 2000


def _prepared(spec: ToolSpec) -> _PreparedSchema:
    """What is made of a tool's schema: once, as open servers list the same objects to every run.

    Raises ``SchemaProblem``.
    """
    schema = spec.input_schema
    known = _prepared_schemas.get(id(schema))
    if known is None:
        known = _PreparedSchema(
            given=schema, sent=provider_schema(schema), validator=build_validator(schema)
        )
        if len(_prepared_schemas) >= _MAX_PREPARED:
            _prepared_schemas.clear()
        _prepared_schemas[id(schema)] = known
    return known


def _offer(
    accepted: Sequence[tuple[ToolSpec, ToolLimits, JsonObject]], policy: ApprovalPolicy
) -> dict[str, OfferedTool]:
    names = assign_names([(spec.server, spec.name) for spec, _, _ in accepted])
    offered = {}
    for name, (spec, limits, schema) in zip(names, accepted, strict=True):
        decision, rule = policy.decide(spec.server, spec.name)
        function: JsonObject = {
            "name": name,
            "description": spec.description or spec.title,
            "parameters": schema,
        }
        offered[name] = OfferedTool(
            name=name,
            spec=spec,
            definition={"type": "function", "function": function},
            validator=_prepared(spec).validator,
            limits=limits,
            decision=decision,
            rule=rule,
        )
    return offered


def _refusal_of(entry: LeftOutTool) -> Refusal:
    if entry.reason is LeftOut.DENIED_BY_POLICY:
        outcome = Outcome.DENIED
        text = f"The operator does not allow the tool {entry.server}.{entry.tool}."
    elif entry.reason is LeftOut.SERVER_UNAVAILABLE:
        outcome = Outcome.SERVER_UNAVAILABLE
        text = f"The server {entry.server} does not answer now."
    else:
        outcome = Outcome.NOT_ALLOWED
        text = f"The tool {entry.server}.{entry.tool} is not available here ({entry.reason.value})."
    return Refusal(outcome=outcome, text=text, server=entry.server, tool=entry.tool)


def _left_out(spec: ToolSpec, reason: LeftOut, detail: str = "") -> LeftOutTool:
    return LeftOutTool(
        name=assign_names([(spec.server, spec.name)])[0],
        server=spec.server,
        tool=spec.name,
        reason=reason,
        detail=detail,
    )


def _missing_server(server: str, error: str) -> LeftOutTool:
    prefix = encode(server, "x").removesuffix("x")
    return LeftOutTool(
        name=prefix, server=server, tool="", reason=LeftOut.SERVER_UNAVAILABLE, detail=error
    )


def _server_report(server: str, listing: ServerListing | str) -> JsonObject:
    if isinstance(listing, str):
        return {"server": server, "protocol": "", "tools": 0, "error": listing}
    return {
        "server": server,
        "protocol": listing.protocol,
        "tools": len(listing.tools),
        "error": None,
    }


def read_server_choices(items: Sequence[JsonValue]) -> list[ServerChoice]:
    """Server choices from the forms of the bundle's ``mcp.servers``.

    An item is an id, ``{"server_id", "tools"}``, ``{"id": [...]}`` or ``{"id": {"tools": [...]}}``.
    Raises ``ValueError`` that says what was expected and what came.
    """
    choices: list[ServerChoice] = []
    for item in items:
        server, tools = _read_server_item(item)
        if any(choice.server == server for choice in choices):
            raise ValueError(f"the server {server} is named twice")
        choices.append(ServerChoice(server=server, allowed_tools=_read_whitelist(tools)))
    return choices


def _read_server_item(item: JsonValue) -> tuple[str, JsonValue]:
    if isinstance(item, str):
        return item, None
    if isinstance(item, dict) and isinstance(item.get("server_id"), str):
        return str(item["server_id"]), item.get("tools")
    if isinstance(item, dict) and len(item) == 1:
        [(server, tools)] = item.items()
        return server, tools.get("tools") if isinstance(tools, dict) else tools
    raise ValueError(f"expected a server id or {{'server_id', 'tools'}}, got {item!r:.80}")


def _read_whitelist(tools: JsonValue) -> frozenset[str] | None:
    if tools is None:
        return None
    if isinstance(tools, list | tuple) and all(isinstance(tool, str) for tool in tools):
        return frozenset(str(tool) for tool in tools)
    raise ValueError(f"tools must be null or a list of names, got {tools!r:.80}")
