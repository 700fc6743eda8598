"""After which calls an answer came, in a clause: how many, and which of them did no work.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from traces.inspection.formats import clauses
from traces.inspection.reading import is_failed_call, text
from traces.records import SpanRecord

_ONLY = {
    "failed": gettext_lazy("which failed"),
    "denied": gettext_lazy("which was denied"),
    "skipped": gettext_lazy("which was skipped"),
}

_SOME = {
    "failed": gettext_lazy("%(n)d failed"),
    "denied": gettext_lazy("%(n)d denied"),
    "skipped": gettext_lazy("%(n)d skipped"),
}


def after_calls(calls: Sequence[SpanRecord]) -> str:
    """The clause: "after 3 tool calls, of which 1 failed"; there is at least one call."""
    total = len(calls)
    outcomes = {text(span, "toolloop.outcome") for span in calls}
    if outcomes == {"not_allowed"}:
        return ngettext(
            "after asking for %(n)d tool that was not allowed",
            "after asking for %(n)d tools that were not allowed",
            total,
        ) % {"n": total}
    if outcomes == {"unknown_tool"}:
        return ngettext(
            "after asking for %(n)d tool that does not exist",
            "after asking for %(n)d tools that do not exist",
            total,
        ) % {"n": total}
    after = ngettext("after %(n)d tool call", "after %(n)d tool calls", total) % {"n": total}
    ways = Counter(map(_way, calls))
    found = {name: ways[name] for name in _ONLY if ways[name]}
    if total == 1:
        return clauses([after, *(str(_ONLY[name]) for name in found)])
    if not found:
        return after
    parts = clauses(str(_SOME[name]) % {"n": n} for name, n in found.items())
    return _("%(calls)s, of which %(parts)s") % {"calls": after, "parts": parts}


def _way(span: SpanRecord) -> str:
    return "failed" if is_failed_call(span) else text(span, "toolloop.outcome")
