"""The Tools and policy tab: what was discovered, whitelisted, offered and called in a run.

Place in the house: ``traces.inspection``, pure. From the catalog's report of the run; calls that
were refused stand below it with their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from traces.inspection.detail_models import (
    FunnelStepView,
    PolicyView,
    RefusedView,
    ServerPolicyView,
    ToolPolicyView,
)
from traces.inspection.formats import count, json_text
from traces.inspection.links import span_href
from traces.inspection.marks import call_state
from traces.inspection.own_words import own_line
from traces.inspection.reading import Reading, hashes_of, listed, number, outcome_of, text
from traces.records import SpanRecord

RULES = {
    "not_whitelisted": gettext_lazy("not in the assistant's list of this server's tools"),
    "denied_by_policy": gettext_lazy("the assistant's policy denies it"),
    "over_limit": gettext_lazy("the limit of tools was reached before it"),
    "server_unavailable": gettext_lazy("its server did not answer"),
    "invalid_schema": gettext_lazy("its schema cannot be sent to a provider"),
    "needs_review": gettext_lazy("its definition changed and waits for review"),
    "name_collision": gettext_lazy("its server lists the name twice"),
}
"""What each reason of the catalog means."""

_DECISIONS = {"allow": gettext_lazy("allowed"), "ask": gettext_lazy("a person is asked")}

_BEFORE_THE_LIST = ("not_whitelisted", "denied_by_policy")
"""Reasons that end a tool's way before it is listed for the assistant."""

REFUSALS = ("unknown_tool", "not_allowed", "denied")

Entry = Mapping[str, object]


def policy_view(reading: Reading, run: str) -> PolicyView | None:
    """The catalog of a run; ``None`` where none was built."""
    policy = _policy_span(reading, run)
    if policy is None:
        return None
    report = reading.payload(policy, "toolloop.catalog")
    calls = [s for s in reading.spans if s.run == run and s.kind == "tool_call"]
    refused = tuple(_refused(calls))
    return PolicyView(
        funnel=_funnel(report, calls),
        servers=tuple(_servers(reading, run, report, calls)),
        refused=refused,
        refused_line=_refused_line(len(refused)),
        missing="" if isinstance(report, dict) else _("The catalog is no longer stored."),
    )


def policy_hashes(reading: Reading, run: str) -> list[str]:
    """The payloads that the tab needs: the report, and the definitions sent first."""
    policy, request = _policy_span(reading, run), _first_request(reading, run)
    found = list(hashes_of(policy, "toolloop.catalog")) if policy else []
    return found + (list(hashes_of(request, "gen_ai.tool.definitions")) if request else [])


def offered_count(reading: Reading, run: str) -> str:
    """How many tools were offered, for the tab's badge."""
    policy = _policy_span(reading, run)
    report = reading.payload(policy, "toolloop.catalog") if policy else None
    return count(len(_entries(report, "offered"))) if isinstance(report, dict) else ""


def _policy_span(reading: Reading, run: str) -> SpanRecord | None:
    return next((s for s in reading.spans if s.run == run and s.kind == "policy"), None)


def _first_request(reading: Reading, run: str) -> SpanRecord | None:
    return next((s for s in reading.spans if s.run == run and s.kind == "model"), None)


def _funnel(report: object, calls: Sequence[SpanRecord]) -> tuple[FunnelStepView, ...]:
    offered = _entries(report, "offered")
    left_out = [entry for entry in _entries(report, "left_out") if entry.get("tool")]
    unlisted = sum(entry.get("reason") in _BEFORE_THE_LIST for entry in left_out)
    names = {str(entry.get("name")) for entry in offered}
    asked = {text(span, "toolloop.call.name") for span in calls}
    called, refused = names & asked, asked - names
    discovered = len(offered) + len(left_out)
    steps = (
        ("discovered", discovered, _("discovered")),
        ("whitelisted", discovered - unlisted, _("whitelisted")),
        ("offered", len(offered), _("offered")),
        ("called", len(called), _("called")),
        ("hidden", len(left_out), _("hidden, see rule")),
    )
    if refused:
        steps = (*steps, ("refused", len(refused), _("asked for, refused")))
    return tuple(FunnelStepView(name=name, count=n, word=word) for name, n, word in steps)


def _servers(
    reading: Reading, run: str, report: object, calls: Sequence[SpanRecord]
) -> Iterator[ServerPolicyView]:
    sizes = _definition_sizes(reading, run)
    for server in _entries(report, "servers"):
        name, error = str(server.get("server")), str(server.get("error") or "")
        own = [
            *(_offered(entry, calls, sizes) for entry in _of(report, "offered", name)),
            *(_hidden(entry, calls) for entry in _of(report, "left_out", name)),
        ]
        yield ServerPolicyView(
            server=name,
            protocol=str(server.get("protocol") or ""),
            error=error,
            state=call_state("server_unavailable" if error else "ok"),
            tools=tuple(own),
        )


def _of(report: object, name: str, server: str) -> list[Entry]:
    return [e for e in _entries(report, name) if e.get("server") == server and e.get("tool")]


def _offered(entry: Entry, calls: Sequence[SpanRecord], sizes: Mapping[str, int]) -> ToolPolicyView:
    decision, rule = str(entry.get("decision") or "allow"), str(entry.get("rule") or "")
    size = sizes.get(str(entry.get("name")))
    return _tool(
        entry,
        calls,
        listed_="yes",
        offered="yes",
        decision=decision,
        detail="" if rule in ("", "default") else _("rule %(rule)s") % {"rule": rule},
        tokens=count(-(-size // 4)) if size else "",
    )


def _hidden(entry: Entry, calls: Sequence[SpanRecord]) -> ToolPolicyView:
    rule = str(entry.get("reason") or "")
    is_unlisted = rule in _BEFORE_THE_LIST
    return _tool(
        entry,
        calls,
        listed_="stopped" if is_unlisted else "yes",
        offered="no" if is_unlisted else "stopped",
        rule=rule,
        detail=str(entry.get("detail") or ""),
    )


def _tool(
    entry: Entry,
    calls: Sequence[SpanRecord],
    *,
    listed_: str,
    offered: str,
    decision: str = "",
    rule: str = "",
    detail: str = "",
    tokens: str = "",
) -> ToolPolicyView:
    name = str(entry.get("name") or "")
    own = [span for span in calls if text(span, "toolloop.call.name") == name]
    is_refused = bool(own) and offered != "yes"
    if is_refused:
        words = ngettext(
            "asked for %(n)d time, refused", "asked for %(n)d times, refused", len(own)
        )
    else:
        words = ngettext("called %(n)d time", "called %(n)d times", len(own))
    called = words % {"n": len(own)}
    return ToolPolicyView(
        tool=str(entry.get("tool") or ""),
        name=name,
        found="yes",
        listed=listed_,
        offered=offered,
        called=len(own),
        is_refused=is_refused,
        called_text=called if own else _("not called"),
        decision=decision,
        decision_text=str(_DECISIONS.get(decision, decision)),
        rule=rule,
        rule_text=str(RULES.get(rule, rule)),
        detail=detail,
        tokens=tokens,
        href=span_href(own[0]) if own else "",
    )


def _refused(calls: Sequence[SpanRecord]) -> Iterator[RefusedView]:
    for span in calls:
        outcome = outcome_of(span)
        if outcome in REFUSALS or _is_of_dead_server(span):
            yield RefusedView(
                name=text(span, "toolloop.call.name"),
                state=call_state(outcome),
                text=own_line(text(span, "toolloop.error"), 300),
                span=span.id,
                href=span_href(span),
            )


def _is_of_dead_server(span: SpanRecord) -> bool:
    """Whether a call was refused because its server had not answered when the run began."""
    is_unavailable = outcome_of(span) == "server_unavailable"
    return is_unavailable and not number(span.attributes.get("toolloop.duration_ms"))


def _refused_line(refused: int) -> str:
    if not refused:
        return _("No call was refused in this run: every name that the model used was offered.")
    return ngettext(
        "%(n)d call was refused in this run.", "%(n)d calls were refused in this run.", refused
    ) % {"n": refused}


def _definition_sizes(reading: Reading, run: str) -> dict[str, int]:
    """Characters of each tool's definition as it was sent, by flat name."""
    request = _first_request(reading, run)
    if request is None:
        return {}
    digests = hashes_of(request, "gen_ai.tool.definitions")
    names = (str(name) for name in listed(request, "toolloop.tools"))
    known = (
        (name, reading.payloads.get(digest)) for name, digest in zip(names, digests, strict=False)
    )
    return {n: len(json_text(value, indent=None)) for n, value in known if value is not None}


def _entries(report: object, name: str) -> list[Entry]:
    found = report.get(name) if isinstance(report, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
