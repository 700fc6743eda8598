"""What the buttons Test and Refresh do, and what a person is told of it.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Provider
from agents.runs.plans import provider_facts
from agents.runs.provider_checks import ProviderCheck, check_provider
from agents.runs.server_checks import ServerCheck

SHOWN_MODELS = 8


def probe_provider(provider: Provider) -> tuple[bool, str]:
    """Whether a provider answers, and one line about it."""
    facts = provider_facts(provider)
    assert facts is not None
    check = check_provider(facts)
    return check.is_ok, provider_line(check)


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
