"""What the buttons Test and Refresh do, and what a person is told of it.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

import json

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.models import Provider
from agents.runs.model_choices import provider_facts
from agents.runs.provider_checks import ProviderCheck, check_provider
from agents.runs.provider_health import note_success
from agents.runs.provider_quirks import Examination
from agents.runs.provider_tests import run_provider_test
from agents.runs.server_checks import ServerCheck

SHOWN_MODELS = 8


def probe_provider(provider: Provider) -> tuple[bool, str]:
    """Whether a provider answers, and one line about it."""
    facts = provider_facts(provider)
    assert facts is not None
    check = check_provider(facts)
    if check.is_ok:
        note_success(provider.provider_id)
    return check.is_ok, provider_line(check)


def examine_provider(provider: Provider) -> tuple[bool, str, dict[str, object]]:
    """Whether a provider answers, one line about it, and what was found of it: ``base_url``,
    ``models``, ``quirks`` by setting, ``told`` (sentences), ``sends_usage``, JSON ready."""
    facts = provider_facts(provider)
    assert facts is not None
    check, seen = run_provider_test(facts)
    if check.is_ok:
        note_success(provider.provider_id)
    found: dict[str, object] = {
        "base_url": provider.base_url,
        "models": list(check.models or ()),
    }
    if seen is not None:
        found |= {"quirks": seen.quirks, "told": _told(seen), "model": check.model}
        found["sends_usage"] = seen.sends_usage
    return check.is_ok, provider_line(check), found


def _told(seen: Examination) -> list[str]:
    """What was found out about tools, in sentences."""
    told = []
    if seen.calls_tools is not None:
        told.append(
            _("It called the tool that it was offered.")
            if seen.calls_tools
            else _("It did not call the tool that it was offered: it answered in text.")
        )
    if seen.reads_results is not None:
        told.append(_told_of_results(seen))
    if seen.sends_usage is False:
        told.append(_("It counts no tokens: they are estimated."))
    told += [_("It refused a question: “%(words)s”") % {"words": text} for text in seen.refusals]
    if seen.refusals and seen.calls_tools is None:
        told.append(_("Choose a model that takes tools, and test again."))
    if seen.stopped:
        told.append(_("Not everything could be asked: %(reason)s") % {"reason": seen.stopped})
    if seen.is_cut:
        told.append(
            _("Not everything could be asked within a minute. Test again when it is quicker.")
        )
    return told


def _told_of_results(seen: Examination) -> str:
    if not seen.reads_results:
        return _("It refuses the result of a call, under ids of every kind.")
    answer = seen.answer or _("(no text)")
    if seen.uses_result:
        return _("It takes the result of a call and answered with it: “%(answer)s”") % {
            "answer": answer
        }
    return _("It takes the result of a call, but did not answer with it: “%(answer)s”") % {
        "answer": answer
    }


QUIRK_WORDS = {
    "system_first_only": gettext_lazy("It refuses system messages behind others."),
    "tool_call_id_pattern": gettext_lazy("It wants ids of calls in one form: %(value)s"),
    "no_stream_options": gettext_lazy("It refuses stream_options."),
    "no_parallel_calls": gettext_lazy("It refuses several calls in one answer."),
    "call_fields": gettext_lazy("It refuses calls of other models without these fields: %(value)s"),
    "plain_schemas": gettext_lazy("It refuses keywords in the schemas of tools."),
}

NO_USAGE = gettext_lazy("It does not heed stream_options: no usage comes in the stream.")


def found_words(provider: Provider, found: object) -> list[tuple[str, str, bool]]:
    """Of what a test found, each quirk: its setting, a sentence, and whether it is set."""
    quirks = found.get("quirks") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(quirks, dict):
        return []
    words = dict(QUIRK_WORDS)
    if found.get("sends_usage") is False:
        words["no_stream_options"] = NO_USAGE
    return [
        (name, str(words[name]) % {"value": _shown_value(value)}, getattr(provider, name) == value)
        for name, value in quirks.items()
        if name in QUIRK_WORDS
    ]


def _shown_value(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def provider_line(check: ProviderCheck) -> str:
    """One line for a person: what came, or what is wrong and what to do."""
    if not check.is_ok:
        return f"{check.provider}: {check.error} {check.hint}".strip()
    text = _("%(provider)s: %(model)s answered in %(seconds)s s: “%(answer)s”.") % {
        "provider": check.provider,
        "model": check.model,
        "seconds": f"{check.seconds:.1f}",
        "answer": check.answer or _("(no text)"),
    }
    if check.models is None:
        return f"{text} {_('It does not list its models.')}"
    count = len(check.models)
    names = ", ".join(check.models[:SHOWN_MODELS]) + (" …" if count > SHOWN_MODELS else "")
    listed = ngettext("It has %(n)d model: %(names)s", "It has %(n)d models: %(names)s", count)
    return f"{text} {listed % {'n': count, 'names': names}}"


def server_line(check: ServerCheck) -> str:
    """One line for a person on a server that was asked."""
    name = check.server.server_id
    if check.listing is None:
        return f"{name}: {check.error}"
    count = len(check.listing.tools)
    text = ngettext(
        "%(server)s: connected (%(protocol)s), %(n)d tool, in %(seconds)s s.",
        "%(server)s: connected (%(protocol)s), %(n)d tools, in %(seconds)s s.",
        count,
    )
    return text % {
        "server": name,
        "protocol": check.listing.protocol,
        "n": count,
        "seconds": f"{check.seconds:.1f}",
    }
