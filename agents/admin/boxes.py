"""What the part "Servers and tools" of an assistant's page shows.

Place in the house: ``agents.admin``. Built from the choices, stored or posted, and from what the
servers last listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from agents.admin.choices import AssistantChoices, LinkChoice
from agents.admin.marks import StateMark, annotation_marks, server_state
from agents.admin.tool_reviews import marks_of, new_name, waiting_names
from agents.bundle.approval_rules import split_rule
from agents.loop.approval import ApprovalPolicy, build_policy
from agents.loop.catalog import ServerChoice, build_catalog
from agents.loop.interfaces import ServerListing
from agents.loop.tokens import definition_tokens
from agents.models import Review, Server, Tool
from agents.runs.offer_preview import stored_listing

_WILD = "*?["


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """One tool. ``policy`` is what is chosen, ``exact`` the rule of its own, ``note`` what beats or
    explains it. ``is_gone``: the server does not list it (``gone_since``, where that is known);
    ``new_name`` is the tool that it may be now. ``waits``: its definition was not approved.
    """

    number: int
    name: str
    is_ticked: bool
    policy: str
    exact: str
    note: str = ""
    description: str = ""
    marks: tuple[tuple[str, str], ...] = ()
    tokens: int | None = None
    is_read_only: bool = False
    is_gone: bool = False
    gone_since: datetime | None = None
    key: int | None = None
    waits: bool = False
    new_name: str = ""
    new_key: int | None = None
    policy_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBox:
    """One server with its tools."""

    key: int
    number: int
    server_id: str
    transport: str
    state: StateMark
    mode: str
    is_checked: bool
    is_open: bool
    rows: tuple[ToolRow, ...]
    chosen: int
    listed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule with a pattern, and the tools that it fits today."""

    number: int
    key: str
    action: str
    today: str

    @property
    def number_text(self) -> str:
        """The number as text."""
        return str(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersView:
    """Everything of this part. ``free`` are servers that could be added."""

    boxes: tuple[ServerBox, ...]
    rules: tuple[RuleRow, ...]
    default: str
    has_default: bool
    free: tuple[Server, ...]
    tool_count: int
    new_rule: int

    @property
    def new_rule_name(self) -> str:
        """The name of the new rule's radio buttons."""
        return f"rule-{self.new_rule}-action"


def servers_view(choices: AssistantChoices) -> ServersView:
    """The view of these choices."""
    servers = {row.pk: row for row in Server.objects.prefetch_related("tools", "samples")}
    links = [link for link in choices.links if link.key in servers]
    names = [link.server_id for link in links]
    policy = build_policy(choices.approval, names)
    boxes = tuple(
        _box(number, link, servers[link.key], choices.approval, policy)
        for number, link in enumerate(links, start=1)
    )
    rules = _rules(choices.approval, names, boxes)
    taken = {link.key for link in links}
    return ServersView(
        boxes=boxes,
        rules=rules,
        default=choices.approval.get("default", "allow"),
        has_default="default" in choices.approval,
        free=tuple(row for row in servers.values() if row.pk not in taken),
        tool_count=sum(len(box.rows) for box in boxes),
        new_rule=len(rules) + 1,
    )


def _box(
    number: int,
    link: LinkChoice,
    server: Server,
    approval: Mapping[str, str],
    policy: ApprovalPolicy,
) -> ServerBox:
    stored = {tool.name: tool for tool in server.tools.all()}
    present = [tool for tool in stored.values() if tool.vanished_at is None]
    present.sort(key=lambda tool: (tool.position, tool.name))
    tokens = _tokens(server)
    gone = [name for name in link.ticked if name not in {tool.name for tool in present}]
    rows = []
    if link.mode == "these":
        rows = [_gone_row(name, stored.get(name), present) for name in gone]
    waiting = waiting_names(server) if server.review != Review.OFF else set()
    for tool in present:
        row = _row(tool, link, approval, policy, tokens)
        rows.append(replace(row, waits=tool.name in waiting))
    numbered = tuple(
        replace(row, number=place, policy_name=f"policy-{server.pk}-{place}")
        for place, row in enumerate(rows)
    )
    return ServerBox(
        key=server.pk,
        number=number,
        server_id=server.server_id,
        transport=_(server.get_transport_display()),
        state=server_state(server),
        mode=link.mode,
        is_checked=server.checked_at is not None,
        is_open=bool(numbered),
        rows=numbered,
        chosen=sum(1 for row in numbered if row.is_ticked and not row.is_gone),
        listed=len(present),
    )


def _row(
    tool: Tool,
    link: LinkChoice,
    approval: Mapping[str, str],
    policy: ApprovalPolicy,
    tokens: dict[str, int],
) -> ToolRow:
    decision, rule = policy.decide(link.server_id, tool.name)
    exact = approval.get(f"{link.server_id}.{tool.name}", "")
    shown = exact or decision.value
    note = ""
    if shown != decision.value:
        note = _("Denied by the rule %(rule)s; deny wins.") % {"rule": rule}
    elif not exact and rule != "default":
        note = _("by the rule %(rule)s") % {"rule": rule}
    return ToolRow(
        number=0,
        name=tool.name,
        is_ticked=link.mode == "all" or (link.mode == "these" and tool.name in link.ticked),
        policy=shown,
        exact=exact,
        note=note,
        description=" ".join((tool.description or tool.title).split()),
        marks=(
            *annotation_marks(tool.annotations),
            *(("ann warn", mark.word) for mark in marks_of(tool)),
        ),
        tokens=tokens.get(tool.name),
        is_read_only=bool((tool.annotations or {}).get("readOnlyHint") is True),
        key=tool.pk,
    )


def _gone_row(name: str, tool: Tool | None, present: Sequence[Tool]) -> ToolRow:
    found = new_name(tool, name, present)
    return ToolRow(
        number=0,
        name=name,
        is_ticked=True,
        policy="",
        exact="",
        is_gone=True,
        gone_since=tool.vanished_at if tool is not None else None,
        new_name=found.name if found else "",
        new_key=found.pk if found else None,
    )


def _tokens(server: Server) -> dict[str, int]:
    """What each tool of a server would cost if it were offered alone."""
    listing = stored_listing(server, even_failed=True)
    if not isinstance(listing, ServerListing):
        return {}
    catalog = build_catalog(
        [ServerChoice(server=server.server_id)],
        {server.server_id: listing},
        ApprovalPolicy(),
        max_tools=len(listing.tools),
    )
    return {tool.spec.name: definition_tokens(tool.definition) for tool in catalog.offered.values()}


def _rules(
    approval: Mapping[str, str],
    names: Sequence[str],
    boxes: Sequence[ServerBox],
) -> tuple[RuleRow, ...]:
    """The rules that have no row of a tool: patterns, and names that no server lists; in the order
    of the alphabet, since PostgreSQL keeps no other."""
    rows = {box.server_id: [row.name for row in box.rows if not row.is_gone] for box in boxes}
    found: list[RuleRow] = []
    for key, action in sorted(approval.items()):
        if key == "default":
            continue
        owner = split_rule(key, names)
        is_row = owner is not None and owner[1] in rows.get(owner[0], [])
        if is_row and not any(mark in key for mark in _WILD):
            continue
        fitting = _fitting(key, names, rows)
        found.append(
            RuleRow(number=len(found) + 1, key=key, action=action, today=", ".join(fitting))
        )
    return tuple(found)


def _fitting(key: str, names: Sequence[str], rows: dict[str, list[str]]) -> list[str]:
    policy = build_policy({key: "ask"}, names)
    return [
        tool
        for server, tools in rows.items()
        for tool in tools
        if policy.decide(server, tool)[1] != "default"
    ]
