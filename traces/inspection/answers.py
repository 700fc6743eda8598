"""The numbers of a request and its answer: tokens, times, options.

Place in the house: ``traces.inspection``, pure.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from traces.inspection.detail_models import FactView
from traces.inspection.formats import count, duration, json_text
from traces.inspection.reading import Reading, integer, is_counted, listed, text
from traces.inspection.row_bars import first_token_in
from traces.records import SpanRecord


def answer_facts(reading: Reading, span: SpanRecord) -> tuple[FactView, ...]:
    """First token, speed, tokens, finish reason and the provider's own names of an answer."""
    finish = ", ".join(str(reason) for reason in listed(span, "gen_ai.response.finish_reasons"))
    rows = [
        (_("first token"), _first_token(reading, span), False),
        (_("speed"), _speed(reading, span), False),
        (_("tokens in"), _input(span), False),
        (_("tokens out"), _output(span), False),
        (_("finish reason"), finish, True),
        (_("model that answered"), text(span, "gen_ai.response.model"), True),
        (_("id of the answer"), text(span, "gen_ai.response.id"), True),
    ]
    return tuple(
        FactView(name=name, text=value, is_code=is_code) for name, value, is_code in rows if value
    )


def option_facts(span: SpanRecord) -> tuple[FactView, ...]:
    """Provider, model and the further fields of the request's body."""
    options = span.attributes.get("toolloop.options")
    rows = {
        _("provider"): text(span, "gen_ai.provider.name"),
        _("model"): text(span, "gen_ai.request.model"),
        **{
            str(name): value if isinstance(value, str) else json_text(value, indent=None)
            for name, value in (options if isinstance(options, dict) else {}).items()
        },
    }
    return tuple(FactView(name=name, text=value, is_code=True) for name, value in rows.items())


def _first_token(reading: Reading, span: SpanRecord) -> str:
    first = first_token_in(reading, span)
    return "" if first is None else duration(first - span.start_ns)


def _speed(reading: Reading, span: SpanRecord) -> str:
    """Output tokens per second from the first chunk to the end."""
    first, made = first_token_in(reading, span), integer(span, "gen_ai.usage.output_tokens")
    if first is None or span.end_ns is None or span.end_ns <= first or not made:
        return ""
    return _("%(n)s tokens/s") % {"n": count(round(made / ((span.end_ns - first) / 1e9)))}


def _input(span: SpanRecord) -> str:
    if "gen_ai.usage.input_tokens" not in span.attributes:
        return ""
    if not is_counted(span):
        return _("without a count from the provider")
    words = _("%(n)s, %(part)s of them cached")
    cached = integer(span, "gen_ai.usage.cache_read.input_tokens")
    return _with_part(span, integer(span, "gen_ai.usage.input_tokens"), cached, words)


def _output(span: SpanRecord) -> str:
    if "gen_ai.usage.output_tokens" not in span.attributes:
        return ""
    if not is_counted(span) and not integer(span, "gen_ai.usage.output_tokens"):
        return _("without a count from the provider")
    words = _("%(n)s, %(part)s of them reasoning")
    reasoning = integer(span, "gen_ai.usage.reasoning.output_tokens")
    return _with_part(span, integer(span, "gen_ai.usage.output_tokens"), reasoning, words)


def _with_part(span: SpanRecord, whole: int, part: int, words: str) -> str:
    """Tokens with a part of them; a part that is larger than the whole is told as what it is."""
    said = words % {"n": count(whole), "part": count(part)} if part else count(whole)
    if part > whole:
        said = _("%(told)s, as the provider says, which cannot be") % {"told": said}
    return _with_estimate(span, said)


def _with_estimate(span: SpanRecord, words: str) -> str:
    if span.attributes.get("toolloop.usage.is_estimated"):
        return _("%(n)s (estimated)") % {"n": words}
    return words
