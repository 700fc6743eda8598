"""Why a request went to another model than the assistant's first, in words.

Place in the house: ``traces.inspection``, pure. What is recorded is ``toolloop.passed_over``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traces.inspection.formats import duration, sentences
from traces.inspection.own_words import own_clause
from traces.inspection.reading import listed, text
from traces.inspection.words import gettext as _
from traces.inspection.words import ngettext
from traces.records import SpanRecord

Entry = Mapping[str, object]

FAILED = "failed"
"""The reason of a model that was asked in the same run and failed."""


def entries_of(span: SpanRecord) -> list[Entry]:
    """The models before the one that was asked, in the order of the chain."""
    return [one for one in listed(span, "toolloop.passed_over") if isinstance(one, dict)]


def passed_over_sentences(span: SpanRecord) -> str:
    """One sentence for each model that was passed over; empty where the first one was asked."""
    return sentences(_sentence(one, span.start_ns) for one in entries_of(span))


def stand_in_clause(spans: Sequence[SpanRecord]) -> str:
    """Who was asked in place of whom that rests or is barred: "p2 was asked in place of main
    (rests)". Empty where nobody was passed over."""
    span = next((one for one in reversed(spans) if entries_of(one)), None)
    if span is None:
        return ""
    others = [
        _("%(provider)s (%(why)s)") % {"provider": one.get("provider"), "why": _short(one)}
        for one in entries_of(span)
        if one.get("reason") != FAILED
    ]
    if not others:
        return ""
    names = {"provider": text(span, "gen_ai.provider.name"), "others": ", ".join(others)}
    return _("%(provider)s was asked in place of %(others)s") % names


def _short(one: Entry) -> str:
    match one.get("reason"):
        case "resting":
            return _("rests")
        case "key":
            return _("key refused")
        case "billing":
            return _("cannot pay")
    return _("cannot be asked")


def _sentence(one: Entry, at_ns: int) -> str:
    names = {
        "name": _("%(model)s at %(provider)s")
        % {"model": one.get("model") or _("no model"), "provider": one.get("provider")},
        "why": own_clause(str(one.get("error") or "")),
    }
    match one.get("reason"):
        case "failed":
            said = _("%(name)s had failed in this run")
        case "resting":
            return _resting(one, at_ns, names)
        case "key":
            said = _("%(name)s was passed over, its key had been refused")
        case "billing":
            said = _("%(name)s was passed over, its account could not pay")
        case _:
            said = _("%(name)s was passed over, it cannot be asked")
    return _with_error(said % names, names["why"])


def _resting(one: Entry, at_ns: int, names: Mapping[str, str]) -> str:
    until_ns, failures = one.get("until_ns"), one.get("failures")
    count = failures if isinstance(failures, int) else 1
    left = max(until_ns - at_ns, 0) if isinstance(until_ns, int) else 0
    words = ngettext(
        "%(name)s was passed over, it rested for another %(time)s after %(n)d failure",
        "%(name)s was passed over, it rested for another %(time)s after %(n)d failures in a row",
        count,
    )
    return _with_error(words % {**names, "n": count, "time": duration(left)}, names["why"])


def _with_error(said: str, error: str) -> str:
    return _("%(said)s (%(error)s)") % {"said": said, "error": error} if error else said
