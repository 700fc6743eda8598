"""The numbers of the header: where the time went, tokens, turns, and what can be jumped to.

Place in the house: ``traces.inspection``, pure. Tokens are summed over the requests of all runs of
the trace, so that child runs are counted once; cached tokens are part of the input and reasoning is
part of the output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.costs import MILLION, charges_of
from traces.inspection.formats import clauses, count, duration, money, percent, place
from traces.inspection.intervals import (
    APPROVAL,
    BACK_OFF,
    CATALOG,
    HOOKS,
    MODEL,
    TOOLS,
    time_by_sort,
)
from traces.inspection.links import span_href
from traces.inspection.marks import call_state, kind_view
from traces.inspection.reading import (
    Reading,
    asks_the_model,
    integer,
    is_counted,
    limits_of,
    number,
    text,
)
from traces.inspection.row_bars import first_token_in
from traces.inspection.view_models import CostView, CountView, PartView, TokensView, TotalsView
from traces.records import SpanRecord

_NOT_RUN = ("denied", "skipped", "not_allowed")
"""Outcomes of calls that were not to run, each with a count of its own."""


def totals_view(reading: Reading) -> TotalsView:
    """All numbers of the header."""
    wall = reading.end_ns - reading.start_ns
    used, limit = _turns(reading)
    calls = sum(span.kind == "tool_call" for span in reading.spans)
    return TotalsView(
        wall=duration(wall),
        wall_ns=wall,
        parts=_parts(reading, wall),
        tokens=tokens_view(reading),
        cost=cost_view(reading),
        first_token=_first_token(reading),
        turns=count(used),
        turns_note=_turns_note(reading, limit),
        turns_used=used,
        turns_limit=limit,
        calls=ngettext("%(n)s tool call", "%(n)s tool calls", calls) % {"n": count(calls)},
    )


def counts(reading: Reading) -> tuple[CountView, ...]:
    """Errors, calls that were not to run (among the errors those that were not allowed), parameter
    retries, provider retries and fallbacks, with the spans to jump to."""
    errors = reading.failed
    retries = [span for span in reading.spans if span.kind == "retry"]
    again = [span for span in reading.spans if "toolloop.retry.error" in span.attributes]
    fallbacks = [span for span in reading.spans if span.kind == "fallback"]
    # What stopped is little beside all calls.
    calls = [span for span in reading.spans if span.id in reading.stops]
    denied, skipped, refused = (_ended_as(calls, outcome) for outcome in _NOT_RUN)
    n = len(errors), len(retries), len(again), len(fallbacks)
    return (
        _count("errors", errors, ngettext("%(n)d error", "%(n)d errors", n[0])),
        _count("denied", denied, _("%(n)d denied")),
        _count("skipped", skipped, _("%(n)d skipped")),
        _count("not_allowed", refused, _("%(n)d not allowed")),
        _count("parameter_retries", retries, ngettext("%(n)d retry", "%(n)d retries", n[1])),
        _count(
            "provider_retries",
            again,
            ngettext("%(n)d provider retry", "%(n)d provider retries", n[2]),
        ),
        _count("fallbacks", fallbacks, ngettext("%(n)d fallback", "%(n)d fallbacks", n[3])),
    )


def _ended_as(calls: Sequence[SpanRecord], outcome: str) -> list[SpanRecord]:
    return [span for span in calls if text(span, "toolloop.outcome") == outcome]


def _count(name: str, spans: Sequence[SpanRecord], words: str) -> CountView:
    marks = {"parameter_retries": "retry", "provider_retries": "retry", "fallbacks": "fallback"}
    kind = marks.get(name)
    return CountView(
        name=name,
        count=len(spans),
        text=words % {"n": len(spans)},
        family="s-bad" if name == "errors" and spans else "s-wait" if name in _NOT_RUN else "",
        icon="error" if name == "errors" else call_state(name).icon if name in _NOT_RUN else "",
        kind=kind_view(kind) if kind else None,
        spans=tuple(span.id for span in spans),
        href=span_href(spans[0]) if spans else "",
    )


def _parts(reading: Reading, wall: int) -> tuple[PartView, ...]:
    by_sort = time_by_sort(reading)

    def spent(*sorts: int) -> int:
        return sum(by_sort.get(sort, 0) for sort in sorts)

    waited = _detail(
        [
            (_("approval"), spent(APPROVAL)),
            (_("back-off"), spent(BACK_OFF)),
            (_("tool lists of servers"), spent(CATALOG)),
        ]
    )
    own = _detail([(_("hooks"), spent(HOOKS))])
    rows = (
        ("model", _("model"), spent(MODEL), "b km", ""),
        ("tools", _("tools"), spent(TOOLS), "b kc", ""),
        ("waiting", _("waiting"), spent(APPROVAL, BACK_OFF, CATALOG), "", waited),
        ("own", _("own"), spent(-1, HOOKS), "b kt", own),
    )
    parts, before = [], 0
    for name, word, ns, css, detail in rows:
        parts.append(
            PartView(
                name=name,
                word=word,
                ns=ns,
                text=duration(ns),
                percent=percent(ns / wall if wall else 0),
                x=place(before / wall if wall else 0),
                width=place(ns / wall if wall else 0),
                css=css,
                is_hatched=name == "waiting",
                detail=detail,
            )
        )
        before += ns
    return tuple(parts)


def _detail(parts: Sequence[tuple[str, int]]) -> str:
    return clauses(
        _("%(name)s %(time)s") % {"name": name, "time": duration(ns)} for name, ns in parts if ns
    )


def tokens_view(reading: Reading) -> TokensView:
    """The tokens of all requests."""
    answered = [s for s in reading.spans if s.kind == "model" and s.status == "ok"]
    uncounted = sum(not is_counted(span) for span in answered)
    estimated = sum(bool(span.attributes.get("toolloop.usage.is_estimated")) for span in answered)
    given, made = token_sum(answered, "input_tokens"), token_sum(answered, "output_tokens")
    cached = _part(answered, "cache_read.input_tokens", "input_tokens", _("%(n)s cached"))
    reasoning = _part(answered, "reasoning.output_tokens", "output_tokens", _("%(n)s reasoning"))
    return TokensView(
        input_count=given,
        output_count=made,
        input=count(given),
        output=count(made),
        cached=cached,
        reasoning=reasoning,
        is_estimated=bool(uncounted or estimated),
        estimated=_estimated(uncounted, estimated),
        children=_children(reading, answered),
    )


def cost_view(reading: Reading) -> CostView:
    """What all answered requests cost, with the receipt: tokens times price, model by model."""
    answered = [s for s in reading.spans if s.kind == "model" and s.status == "ok"]
    lines: dict[tuple[str, str, float, str], int] = {}
    unpriced = 0
    for span in answered:
        charges = charges_of(span.attributes)
        if charges is None:
            unpriced += 1
            continue
        for charge in charges:
            model = text(span, "gen_ai.response.model")
            key = model, charge.kind, charge.price, charge.currency
            lines[key] = lines.get(key, 0) + charge.tokens
    amounts = {key: tokens * key[2] / MILLION for key, tokens in lines.items()}
    has_price = unpriced < len(answered)
    note = ""
    if has_price and unpriced:
        note = ngettext("%(n)d request has no price", "%(n)d requests have no price", unpriced) % {
            "n": unpriced
        }
    return CostView(
        total=_total(amounts) if has_price else "",
        amount=sum(amounts.values()),
        receipt=tuple(_receipt_line(key, tokens, amounts[key]) for key, tokens in lines.items()),
        note=note,
    )


def _total(amounts: Mapping[tuple[str, str, float, str], float]) -> str:
    """The sum; currencies are not added to each other."""
    sums: dict[str, float] = {}
    for (_model, _kind, _price, currency), amount in amounts.items():
        sums[currency] = sums.get(currency, 0.0) + amount
    return " + ".join(_in_currency(*line) for line in sums.items()) or money(0)


def _in_currency(currency: str, amount: float) -> str:
    return f"{money(amount)} {currency}".rstrip()


def _receipt_line(key: tuple[str, str, float, str], tokens: int, amount: float) -> str:
    model, kind, price, currency = key
    words = {"input": _("input"), "cached": _("cached"), "output": _("output")}
    return _("%(model)s %(kind)s: %(tokens)s × %(price)s a million = %(amount)s") % {
        "model": model,
        "kind": words[kind],
        "tokens": count(tokens),
        "price": f"{price:g}",
        "amount": _in_currency(currency, amount),
    }


def token_sum(spans: Sequence[SpanRecord], name: str) -> int:
    """The sum of one kind of tokens over requests."""
    attribute = f"gen_ai.usage.{name}"
    return sum(integer(span, attribute) for span in spans)


def _part(spans: Sequence[SpanRecord], name: str, whole: str, words: str) -> str:
    """Tokens that are a part of others; more than the whole is cut to it and told."""
    told = token_sum(spans, name)
    if not told:
        return ""
    part, all_of_it = f"gen_ai.usage.{name}", f"gen_ai.usage.{whole}"
    fitting = sum(min(integer(span, part), integer(span, all_of_it)) for span in spans)
    said = words % {"n": count(fitting)}
    if told == fitting:
        return said
    return _("%(part)s at most: the provider's counts contradict each other") % {"part": said}


def _estimated(uncounted: int, estimated: int) -> str:
    if uncounted:
        return ngettext(
            "%(n)d request without a count from the provider",
            "%(n)d requests without a count from the provider",
            uncounted,
        ) % {"n": uncounted}
    return _("estimated") if estimated else ""


def _children(reading: Reading, answered: Sequence[SpanRecord]) -> str:
    below = [span for span in answered if span.run != reading.trace.run]
    if not below:
        return ""
    tokens = token_sum(below, "input_tokens") + token_sum(below, "output_tokens")
    runs = len({span.run for span in below})
    return ngettext(
        "%(tokens)s of them in %(n)d child run", "%(tokens)s of them in %(n)d child runs", runs
    ) % {"tokens": count(tokens), "n": runs}


def _first_token(reading: Reading) -> str:
    """From the first request to the first chunk of the first answer."""
    requests = [span for span in reading.spans if asks_the_model(span)]
    for span in requests:
        first = first_token_in(reading, span)
        if first is not None:
            return duration(first - requests[0].start_ns)
    return ""


def _turns(reading: Reading) -> tuple[int, int]:
    """Loop turns used by the root run, and how many it may use (0 where that is not known)."""
    used = max(
        (
            int(span.turn)
            for span in reading.spans
            if span.kind == "turn" and span.run == reading.trace.run and span.turn.isdigit()
        ),
        default=0,
    )
    return used, int(number(limits_of(reading, reading.trace.run).get("max_turn")))


def _turns_note(reading: Reading, limit: int) -> str:
    if not any(span.kind == "turn" for span in reading.spans):
        return ""
    first = _("and the first")
    return _("of %(limit)s, and the first") % {"limit": count(limit)} if limit else first
